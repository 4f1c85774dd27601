package office

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// named packs files of those names.
func named(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte("some content"))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func requireReason(t *testing.T, err error, reason Reason, text string) {
	t.Helper()
	var failed *Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, reason, failed.Reason)
	require.ErrorContains(t, err, text)
}

// Parts that are each within the limits are together over them, by what the
// archive says of them and by what is read.
func TestPartsTogether_S2_CONV_10(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 5 {
		names = append(names, fmt.Sprint(i))
	}
	data := named(t, names...)
	const central = "PK\x01\x02"
	for i := bytes.Index(data, []byte(central)); i < len(data) && bytes.HasPrefix(data[i:], []byte(central)); i += 46 + 1 {
		binary.LittleEndian.PutUint32(data[i+20:], 1<<20)
		binary.LittleEndian.PutUint32(data[i+24:], 60<<20)
	}
	_, err := open(t.Context(), data)
	requireReason(t, err, TooLarge, "bytes unpacked")

	p, err := open(t.Context(), named(t, "a", "b"))
	require.NoError(t, err)
	p.read = maxUnpacked - 20
	_, err = p.part("a")
	require.NoError(t, err)
	_, err = p.part("b")
	requireReason(t, err, TooLarge, "over 8 bytes unpacked")
}
