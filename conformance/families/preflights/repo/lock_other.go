//go:build !unix || solaris || aix

package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// tryLock opens a file named after the repository in the folder for temporary
// files, for itself alone.
func tryLock(root string) (release func(), busy bool, err error) {
	sum := sha256.Sum256([]byte(root))
	return openAlone(filepath.Join(os.TempDir(), "mainstay-preflights-"+hex.EncodeToString(sum[:8])+".lock"))
}
