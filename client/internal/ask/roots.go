package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// SetRoots replaces the list of roots. Call [CheckRoots] first.
func (d *Dispatcher) SetRoots(roots []mcp.Root) {
	list := slices.Clone(roots)
	d.roots.Store(&list)
}

// listRoots answers roots/list.
func (d *Dispatcher) listRoots(context.Context) (json.RawMessage, *Refusal) {
	res := mcp.ListRootsResult{Roots: []mcp.Root{}}
	if list := *d.roots.Load(); list != nil {
		res.Roots = list
	}
	raw, err := mcp.Marshal(&res)
	if err != nil {
		return nil, handlerFailed(err)
	}
	return raw, nil
}

// CheckRoots checks that roots are absolute file URIs without "..".
func CheckRoots(roots []mcp.Root) error {
	for _, r := range roots {
		if err := checkRoot(r.URI); err != nil {
			return fmt.Errorf("root %q: %w", jsonrpc.Printable(r.URI, 200), err)
		}
	}
	return nil
}

// checkRoot checks one root as a server would read it: as a path with its escapes decoded.
func checkRoot(uri string) error {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return errors.New("it is not a URI")
	case u.Scheme != "file" || u.Opaque != "" || !strings.HasPrefix(u.Path, "/"):
		return errors.New("it must be file:// and an absolute path")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("it must have a path, and no query or fragment")
	case strings.ContainsRune(u.Path, 0):
		return errors.New("it must not contain a NUL")
	}
	for part := range strings.FieldsFuncSeq(u.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == ".." {
			return errors.New(`it must not contain ".."`)
		}
	}
	return nil
}
