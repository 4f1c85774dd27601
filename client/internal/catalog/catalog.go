// Package catalog has the definitions of a server's tools and what they mean for calls:
// which arguments and results fit their schemas, what is wrong with others, which
// arguments HTTP headers repeat, and which definitions have changed.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/lists"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Check says what happens to values that do not fit a tool's schema.
type Check uint8

// What a check does: an error, a report, or nothing.
const (
	Strict Check = iota + 1
	Warn
	Off
)

// Config is what a [Catalog] is made of. It does not change.
type Config struct {
	*core.Core
	// Lists keeps the list of tools.
	Lists *lists.Cache
	// Arguments and Results are the checks of calls and their results.
	Arguments, Results Check
	// DropNulls leaves out arguments that are null if they fit without.
	DropNulls bool
	// Eager asks for the list before a tool is called that is not in it, and renews an
	// expired list in the background.
	Eager bool
	// Pins are the fingerprints that tools must have, by name. Block refuses calls of
	// tools with others.
	Pins  map[string]string
	Block bool

	// Page asks for a page of the list for all callers with the partition of who.
	Page Page
	// Drift emits an event for each changed definition.
	Drift bool
}

// Catalog is what is known of the tools of one server: their definitions as they were
// listed last, and what these mean for calls. Its methods may be called from many
// goroutines at once.
type Catalog struct {
	Config
	fetch              cache.Fetch // of the view for nobody in particular; bound once, as binding allocates
	arguments, results Schemas
	headers            Mirrors
	definitions        Definitions
	doubted            atomic.Pointer[time.Time] // when the list last was; nil for never
}

// New returns a catalog.
func New(c Config) *Catalog {
	catalog := &Catalog{Config: c}
	nobody := catalog.For(nil)
	catalog.fetch = nobody.fetchList
	return catalog
}

// View is a catalog as one caller sees it. It is for one call: what it asks the server
// carries what the application answered at the start of that call.
type View struct {
	*Catalog
	who *transport.Caller
	// latest is who the list was fetched for, nil before it was.
	latest *atomic.Pointer[transport.Caller]
}

// For returns the view of a caller, whom [lists.Cache.Ask] returned.
func (c *Catalog) For(who *transport.Caller) View { return View{Catalog: c, who: who} }

// Ask returns the view of the caller that ctx belongs to. It runs a function of the
// application, as [lists.Cache.Ask] does. own is the maximum time of the call.
func (c *Catalog) Ask(ctx context.Context, own time.Duration) View {
	return c.For(c.Lists.Ask(ctx, own))
}

// fetcher walks the list for all callers of the partition.
func (c *View) fetcher() cache.Fetch {
	if c.who == nil {
		return c.fetch
	}
	own := c.fetching()
	return own.fetchList
}

// fetching returns a copy of the view for a fetch, which may outlive the call.
func (c *View) fetching() *View {
	c.latest = new(atomic.Pointer[transport.Caller])
	own := *c
	return &own
}

// Caller returns whom the rest of the call is for: the caller of the view, with other
// credentials if the server refused the first ones when the list was fetched.
func (c *View) Caller() *transport.Caller {
	if c.latest != nil {
		if now := c.latest.Load(); now.Renews(c.who) {
			return now
		}
	}
	return c.who
}

// errorOf makes the client's error of one of the cache, for a tool.
func (c *Catalog) errorOf(err error, tool string) error {
	var refused *cache.RefusedToolError
	if own := lists.CopyOf(err); own != nil {
		return own
	}
	switch {
	case errors.As(err, &refused):
		return c.aboutTool(tool, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.NotSent,
			fmt.Sprintf("tool %s cannot be used: its schemas have %d bytes, and %d is the limit",
				jsonrpc.Printable(tool, 100), refused.Bytes, refused.Limit), err))
	case errors.Is(err, cache.ErrUnknownTool):
		return c.aboutTool(tool, mcperrors.New(mcperrors.CodeToolNotFound, mcperrors.KindNotFound, mcperrors.NotSent, err.Error(), err))
	}
	return c.Local(err, mcp.MethodToolsList)
}

// aboutTool adds to an error that it is about a call of a tool.
func (c *Catalog) aboutTool(tool string, e *mcperrors.Error) *mcperrors.Error {
	return c.About(outcome.Subject{Method: mcp.MethodToolsCall, Tool: tool}, e)
}

// closed returns the error of a closed client, nil while it is open.
func (c *Catalog) closed() error {
	if c.Life.Closed() {
		return c.Local(life.ErrClosed(), mcp.MethodToolsList)
	}
	return nil
}
