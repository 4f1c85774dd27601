// Package catalog has the definitions of a server's tools and applies them to calls: it validates
// arguments and results against schemas, explains errors, finds the arguments that HTTP headers
// repeat, and detects changed definitions.
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

// Check is what happens to values that do not match a tool's schema.
type Check uint8

// The checks: an error, a report, or nothing.
const (
	Strict Check = iota + 1
	Warn
	Off
)

// Config configures a [Catalog]. It is immutable.
type Config struct {
	// Lists caches the list of tools.
	Lists *lists.Cache
	// Arguments and Results are the checks of calls and their results.
	Arguments, Results Check
	// DropNulls removes null arguments if the arguments match the schema without them.
	DropNulls bool
	// Eager lists the tools before a call of an unknown tool, and renews an expired list in the
	// background.
	Eager bool
	// Pins are the required fingerprints of tools by name. Block refuses calls of tools that
	// differ.
	Pins  map[string]string
	Block bool

	// Page fetches a page of the list for all callers with the partition of who.
	Page Page
	// Drift emits an event for each changed definition.
	Drift bool
}

// Catalog has the known tools of one server: their definitions from the last list, and what
// follows for calls. Its methods may be called from many goroutines at once.
type Catalog struct {
	*core.Core
	Config
	fetch              cache.Fetch // for callers without a partition; bound once, since binding allocates
	arguments, results Schemas
	headers            Mirrors
	definitions        Definitions
	doubted            atomic.Pointer[time.Time] // when Doubt last had an effect; nil for never
}

// New returns a catalog.
func New(c *core.Core, set Config) *Catalog {
	catalog := &Catalog{Core: c, Config: set}
	nobody := catalog.For(nil)
	catalog.fetch = nobody.fetchList
	return catalog
}

// View is a catalog for one caller during one call: its requests carry the credentials from the
// start of that call.
type View struct {
	*Catalog
	who *transport.Caller
	// latest is the caller that fetched the list, nil before a fetch.
	latest *atomic.Pointer[transport.Caller]
}

// For returns the view of a caller that [lists.Cache.Ask] returned.
func (c *Catalog) For(who *transport.Caller) View { return View{Catalog: c, who: who} }

// Ask returns the view of the caller that ctx belongs to. It calls the application, as
// [lists.Cache.Ask] does. own is the maximum time of the call.
func (c *Catalog) Ask(ctx context.Context, own time.Duration) View {
	return c.For(c.Lists.Ask(ctx, own))
}

// fetcher returns the fetch of the list for all callers of the partition.
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

// Caller returns the caller for the rest of the call: the caller of the view, with other
// credentials if the server refused the first ones during a fetch.
func (c *View) Caller() *transport.Caller {
	if c.latest != nil {
		if now := c.latest.Load(); now.Renews(c.who) {
			return now
		}
	}
	return c.who
}

// errorOf returns the client's error for an error of the cache about a tool.
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

// aboutTool adds the call of a tool to an error.
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
