//go:build unix

package docling

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Opening a pipe that nobody writes to would never return.
func TestConvert_NoRegularFile_S2_CONV_11(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.pdf"), 0o600))
	s := newTestService(t, Options{InputRoots: []string{dir}})
	refused(t, s, "convert_pdf", args{"file_path": "pipe.pdf"}, codeInvalid, "not_a_file")
}
