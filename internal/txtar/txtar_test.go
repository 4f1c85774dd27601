package txtar

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestParse(t *testing.T) {
	t.Parallel()
	const text = "about\n\n-- a --\n1\n-- no marker\n -- b --\n--  --\n-- b/c d --\n-- e --\n2"
	want := &Archive{Comment: []byte("about\n\n"), Files: []File{
		{"a", []byte("1\n-- no marker\n -- b --\n--  --\n")}, {"b/c d", nil}, {"e", []byte("2\n")},
	}}
	require.Equal(t, want, Parse([]byte(text)))
	require.Equal(t, text+"\n", string(Format(want)))
	require.Equal(t, want, Parse(Format(want)))
	require.Equal(t, &Archive{}, Parse(nil))
	require.Equal(t, "a", Parse([]byte("-- a --\r\n1\r\n")).Files[0].Name)

	file := filepath.Join(t.TempDir(), "x.txtar")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	got, err := ParseFile(file)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = ParseFile(file + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
}
