package clients

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// The key that is counted may be cut in two anywhere.
func TestCountTools(t *testing.T) {
	list := `{"result":{"tools":[` + strings.Repeat(`{"name":"x","description":"{\"name\""},`, 300) + `]}}`
	for _, size := range []int{16, 17, 100, 64 << 10} {
		n, err := countTools(iotest.OneByteReader(strings.NewReader(list+"\n")), make([]byte, size), true)
		require.NoError(t, err)
		require.Equal(t, 300, n)
		n, err = countTools(strings.NewReader(list), make([]byte, size), false)
		require.NoError(t, err)
		require.Equal(t, 300, n)
	}
	_, err := countTools(iotest.ErrReader(iotest.ErrTimeout), make([]byte, 16), true)
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

func TestReadAnswer(t *testing.T) {
	n, err := textLength([]byte(`{"id":12,"result":{"content":[{"type":"text","text":"abc"}]}}`))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	for _, bad := range []string{`{"id":1}`, `{"text":"abc`} {
		_, err := textLength([]byte(bad))
		require.Error(t, err)
	}
	require.Equal(t, 12, idOf([]byte(`{"jsonrpc":"2.0","id":12,"result":{}}`)))
	require.Equal(t, -1, idOf([]byte(`{"method":"notifications/x"}`)))
}

func TestDialUnknown(t *testing.T) {
	_, err := Dial(t.Context(), "nobody", Options{})
	require.Error(t, err)
}
