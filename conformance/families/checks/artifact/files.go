package artifact

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// names returns the files below dir as slash paths, for a look at what a
// server left behind.
func names(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			found = append(found, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		return nil, engine.SuiteError(fmt.Errorf("look into the artifacts folder: %w", err))
	}
	return found, nil
}
