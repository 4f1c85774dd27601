package connect

import (
	"bytes"
	"context"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Connection is a client and what mcpctl reports about it.
type Connection struct {
	*client.Client
	Target target.Target
	// Took is how long the handshake took, with the start of the program.
	Took  time.Duration
	close func()
	stage stage

	toolChanges atomic.Uint64
	rootsAsked  atomic.Bool
}

// Failed is an error of the client, with the server it is about.
type Failed struct {
	Err    error
	Target target.Target
	// Connecting marks an error of the handshake, after which Version is the revision.
	Connecting bool
	Version    mcp.Version
}

func (f *Failed) Error() string { return f.Err.Error() }
func (f *Failed) Unwrap() error { return f.Err }

// May reports whether the server may be asked for what a capability covers: it
// declared the capability, or its declaration is unknown.
func (c *Connection) May(capability string) bool {
	return c.InitializeResult() == nil || c.HasCapability(capability)
}

// ToolChanges returns how often the server has said that its tools have changed. If it is
// larger after a walk than before, that list was outdated on its way.
func (c *Connection) ToolChanges() uint64 { return c.toolChanges.Load() }

// received takes a message in the order of arrival, before an answer that follows it.
func (c *Connection) received(frame []byte) {
	if !bytes.Contains(frame, []byte("list_changed")) && !bytes.Contains(frame, []byte("roots")) {
		return
	}
	message, err := doc.Parse(frame)
	if err != nil {
		return // the client reports it
	}
	for _, m := range append(message.Items(), message) { // a batch has several
		switch m.Get("method").Str() {
		case mcp.MethodToolsListChanged:
			c.toolChanges.Add(1)
		case mcp.MethodRootsList:
			c.rootsAsked.Store(true)
		}
	}
}

// How long a server has to ask for roots after the handshake, and to take them in.
const (
	rootsAsk  = 300 * time.Millisecond
	rootsTake = 100 * time.Millisecond
)

// shareRoots gives a server that asks for roots right after the handshake time to take them in. Nothing
// in the protocol says when it has: server-filesystem refuses a call that comes at once.
func (c *Connection) shareRoots(ctx context.Context) {
	if c.ProtocolVersion().Era() == mcp.EraStateless { // calls carry them
		return
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(rootsAsk); !c.rootsAsked.Load() && time.Now().Before(end) && ctx.Err() == nil; {
		<-tick.C
	}
	if c.rootsAsked.Load() {
		tick.Reset(rootsTake)
		<-tick.C
	}
}

// ServerName is the name and version of the server.
func (c *Connection) ServerName() string {
	info := c.ServerInfo()
	if info.Version == "" {
		return info.Name
	}
	return info.Name + " " + info.Version
}

// Broken returns the failure of a server that breaks the protocol in a way that
// the client does not check. It arises from an answer.
func (c *Connection) Broken(format string, args ...any) *failure.Failure {
	f := failure.New(failure.KindProtocol, mcperrors.Answered, format, args...)
	if name := c.ServerName(); name != "" {
		f.Add("server", "%s", name)
	}
	return f
}

// PingMethod is the cheapest request of the era, in which there may be no ping.
func (c *Connection) PingMethod() string {
	if c.ProtocolVersion().Era() == mcp.EraStateless {
		return mcp.MethodDiscover
	}
	return mcp.MethodPing
}
