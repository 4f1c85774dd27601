package answer

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// rootOf returns the root of a folder.
func rootOf(folder string) (mcp.Root, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return mcp.Root{}, err
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	if err != nil {
		return mcp.Root{}, err
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // a drive of Windows
		slashed = "/" + slashed
	}
	return mcp.Root{URI: (&url.URL{Scheme: "file", Path: slashed}).String(), Name: filepath.Base(path)}, nil
}
