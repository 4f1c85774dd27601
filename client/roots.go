package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithRoots tells servers where they may look: absolute file URIs without "..".
// None at all declares that there is a list, which [Client.SetRoots] may fill.
// Share what the user agreed to, nothing else.
func WithRoots(roots ...mcp.Root) Option {
	return optionFunc(func(c *config) { c.roots = append([]mcp.Root{}, roots...) })
}

// SetRoots replaces what [WithRoots] gave, and tells the server that it changed
// where the revision has a message for that; in the stateless era the
// server sees the new list when it asks next. It fails for a client without
// WithRoots, which told the server that there are no roots.
func (c *Client) SetRoots(ctx context.Context, roots ...mcp.Root) error {
	switch err := checkRoots(roots); {
	case err != nil:
		return badOption(err)
	case c.cfg.roots == nil:
		return c.local(mcperrors.New(mcperrors.E205, mcperrors.KindUnsupported, mcperrors.NotSent,
			"the server was not told of roots; connect with WithRoots", nil), mcp.MethodRootsListChanged)
	case c.isClosed():
		return c.local(errClosed(), mcp.MethodRootsListChanged)
	}
	list := slices.Clone(roots)
	c.roots.Store(&list)
	version := c.live.Agreed().Version
	declared := c.capabilities(version).Roots
	if !mcp.MethodIn(mcp.MethodRootsListChanged, version) || declared == nil || !declared.ListChanged {
		return nil
	}
	return c.Notify(ctx, mcp.MethodRootsListChanged, nil)
}

// listRoots answers roots/list.
func (c *Client) listRoots(context.Context) (json.RawMessage, *refusal) {
	res := mcp.ListRootsResult{Roots: []mcp.Root{}}
	if list := c.roots.Load(); list != nil {
		res.Roots = *list
	}
	raw, err := mcp.Marshal(&res)
	if err != nil {
		return nil, handlerFailed(err)
	}
	return raw, nil
}

func checkRoots(roots []mcp.Root) error {
	for _, r := range roots {
		if err := checkRoot(r.URI); err != nil {
			return fmt.Errorf("root %q: %w", jsonrpc.Printable(r.URI, 200), err)
		}
	}
	return nil
}

// checkRoot holds a root to ROOT-03: what is checked here is what a server
// would take for a path, escapes undone.
func checkRoot(uri string) error {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return errors.New("it is not a URI")
	case u.Scheme != "file" || u.Opaque != "" || !strings.HasPrefix(u.Path, "/"):
		return errors.New("it must be file:// and an absolute path")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("it must have a path and nothing behind it")
	case strings.ContainsRune(u.Path, 0):
		return errors.New("it must not hold a NUL")
	}
	for part := range strings.FieldsFuncSeq(u.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == ".." {
			return errors.New(`it must not hold ".."`)
		}
	}
	return nil
}
