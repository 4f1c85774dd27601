package explain

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// timeout names the flag of the time that passed, and the server that did not
// answer.
func (x *Explainer) timeout(f *failure.Failure, e *mcperrors.Error, where *connect.Failed) {
	f.Message, _, _ = strings.Cut(f.Message, "; raise ") // the options of the client: the hint names the flag
	name, was := "timeout", x.Flags.Idle
	var dial *net.OpError
	switch {
	case errors.As(e, &dial) && dial.Op == "dial":
		name, was = "connect-timeout", x.Flags.ConnectTimeout
	case where.Connecting && where.Target.Argv != nil && x.Flags.StartTimeout < x.Flags.MaxTime &&
		(errors.Is(e.Cause, jsonrpc.ErrIdle) || errors.Is(e.Cause, jsonrpc.ErrMaxWait)):
		name, was = "start-timeout", x.Flags.StartTimeout
	case errors.Is(e.Cause, jsonrpc.ErrMaxWait), errors.Is(e.Cause, context.DeadlineExceeded):
		name, was = "max-time", x.Flags.MaxTime
		if !where.Connecting {
			f.Message = "no answer within " + console.Typed(was) + ", the limit for the whole run"
		}
	}
	if where.Target.URL != "" && !f.Has("url") {
		f.Add("url", "%s", target.Shown(where.Target.URL))
	}
	f.Try = append(f.Try, "--"+name+" "+console.Typed(max(5*time.Minute, 2*was))+" to wait longer")
}
