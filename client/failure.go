package client

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os/exec"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// failed makes the error of a call from what its transport said. It is the
// one place where transport failures become errors of the client. wait is what
// an attempt was waited for.
func (c *Client) failed(s subject, wait jsonrpc.Wait, err error) *mcperrors.Error {
	f := failureOf(err)
	e := fromFailure(f)
	if f.Reason == transport.ReasonTimeout {
		var after time.Duration // not known for what was not a call
		if s.attempts > 0 {
			after = wait.Idle
			if errors.Is(f.Err, jsonrpc.ErrMaxWait) {
				after = wait.Max
			}
		}
		e = mcperrors.Timeout(e.Delivery, "no answer", after, f.Err)
	}
	if c.hasEnded(s.method, f) {
		ended(e)
	}
	return c.about(s, evidence(e, f))
}

// failureOf returns the failure in err. Transports of others may return plain
// errors: about those nothing is known, so the request may have arrived.
func failureOf(err error) *transport.Failure {
	var f *transport.Failure
	if errors.As(err, &f) {
		return f
	}
	return &transport.Failure{Reason: transport.ReasonLost, Err: err}
}

// evidence adds to an error what the transport has seen.
func evidence(e *mcperrors.Error, f *transport.Failure) *mcperrors.Error {
	e.Process = f.Process
	if e.HTTP == nil {
		e.HTTP = f.HTTP
	}
	return e
}

func fromFailure(f *transport.Failure) *mcperrors.Error {
	delivery := mcperrors.Unknown
	switch {
	case f.NotSent:
		delivery = mcperrors.NotSent
	case f.Rejected:
		delivery = mcperrors.Rejected
	case f.Answered:
		delivery = mcperrors.Answered
	}
	switch f.Reason {
	case transport.ReasonCanceled:
		if errors.Is(f.Err, context.DeadlineExceeded) {
			return mcperrors.Timeout(delivery, "no answer", 0, f.Err)
		}
		return mcperrors.Canceled(delivery, f.Err)
	case transport.ReasonUnavailable:
		return unavailable(f, delivery)
	case transport.ReasonUnprocessed:
		return mcperrors.New(mcperrors.E201, mcperrors.KindTransport, delivery, "the server did not take the request: "+f.Err.Error(), f)
	case transport.ReasonLost:
		return mcperrors.New(mcperrors.E201, mcperrors.KindTransport, delivery, lostText(f), f)
	case transport.ReasonClosed:
		return mcperrors.New(mcperrors.E201, mcperrors.KindClosed, delivery, "the client was closed", f)
	case transport.ReasonStatus:
		e := mcperrors.FromHTTP(*f.HTTP, f.RetryAfter)
		e.Delivery, e.Cause = delivery, f
		return e
	case transport.ReasonSession:
		return mcperrors.New(mcperrors.E501, mcperrors.KindSessionLost, delivery, f.Err.Error(), f)
	case transport.ReasonConfig:
		e := mcperrors.New(mcperrors.E201, mcperrors.KindTransport, delivery, f.Err.Error(), f)
		e.Retryable = false // the same would happen again
		e.SuggestedAction = "Contact support"
		return e
	case transport.ReasonCallback:
		return failedHere(f.Err, delivery)
	case transport.ReasonOption:
		return mcperrors.New(mcperrors.E203, mcperrors.KindInvalidArguments, delivery, f.Err.Error(), f)
	case transport.ReasonNoRoom:
		e := mcperrors.New(mcperrors.E209, mcperrors.KindOverloaded, delivery, f.Err.Error(), f)
		e.UserMessage, e.SuggestedAction = "Too many large answers at once", "Make fewer such calls at once, or raise WithMemoryLimit"
		return e
	case transport.ReasonTooLarge:
		return mcperrors.TooLarge(delivery, f.Err.Error(), f)
	case transport.ReasonTimeout, transport.ReasonProtocol, transport.ReasonNotMCP:
	}
	return mcperrors.New(mcperrors.E203, mcperrors.KindProtocol, delivery, f.Err.Error(), f)
}

// unavailable is the error of a server that was not reached. A program that is
// not there will not be there the next time either.
func unavailable(f *transport.Failure, delivery mcperrors.Delivery) *mcperrors.Error {
	if f.Process == nil {
		return mcperrors.New(mcperrors.E201, mcperrors.KindTransport, delivery, "the server cannot be reached: "+f.Err.Error(), f)
	}
	e := mcperrors.New(mcperrors.E201, mcperrors.KindTransport, delivery, "the program cannot be started: "+f.Err.Error(), f)
	for _, lasting := range []error{exec.ErrNotFound, fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(f.Err, lasting) {
			e.Message += "; check the command"
			e.Retryable = false
			e.SuggestedAction = "Contact support"
		}
	}
	return e
}

func lostText(f *transport.Failure) string {
	if f.Process != nil && f.Process.Exited {
		return "the server stopped before it answered"
	}
	if f.NotSent {
		return "the connection is lost: " + f.Err.Error()
	}
	return "the connection was lost before the answer: " + f.Err.Error()
}

// refusedBy makes the error of a call that the server answered with an error.
func (c *Client) refusedBy(cl *call, answer transport.Answer) *mcperrors.Error {
	version := cl.link.Agreed.Version
	e := c.mapped(cl.subject(), answer.Error, cl.name, version, c.refusalHolds(cl.link, answer))
	if h := answer.HTTP; h != nil && statusDecides(h.Status) && (ownCode(answer.Error, version) || !definedCode(answer.Error.Code)) {
		// A body beats the status where its code has a meaning; 401 with some
		// code of the server's own is about who is asking all the same.
		byStatus := mcperrors.FromHTTP(*h, answer.RetryAfter)
		byStatus.Message, byStatus.RPC, byStatus.OriginalMCPCode = e.Message, e.RPC, e.OriginalMCPCode
		byStatus.Delivery = e.Delivery // who answers by its id has read it
		e = byStatus
	}
	e.HTTP = answer.HTTP
	return c.about(cl.subject(), c.doubted(cl.subject(), e))
}

// mapped makes the error of a JSON-RPC error that a server of a revision answered
// with. refused says that it refuses the request for what -32020 to -32022 name.
func (c *Client) mapped(s subject, rpc *jsonrpc.Error, resource string, version mcp.Version, refused bool) *mcperrors.Error {
	return mcperrors.Map(rpc, mcperrors.MapOptions{
		Method: s.method, Tool: s.tool, Resource: resource, Profile: c.cfg.profile,
		Refused: refused, NoElicitationCode: ownCode(rpc, version),
	})
}

// ownCode reports whether -32042 is an error of the server's own: it asks for
// elicitation in one revision only.
func ownCode(rpc *jsonrpc.Error, version mcp.Version) bool {
	return rpc.Code == mcp.CodeURLElicitationRequired && version != mcp.Version2025_11_25
}

// statusDecides reports the statuses that say more than a code without meaning.
func statusDecides(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// definedCode reports the codes that JSON-RPC or MCP give a meaning.
func definedCode(code int64) bool {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams,
		jsonrpc.CodeInternalError, -32002, -32020, -32021, -32022, -32042:
		return true
	}
	return false
}

// doubtInterval is how far apart answers that smell of an old list of tools
// have an effect (decisions 28): models make up names all the time.
const doubtInterval = 10 * time.Second

// doubted makes the list of tools stale when an error says that a tool on it does
// not exist. It returns the error.
func (c *Client) doubted(s subject, e *mcperrors.Error) *mcperrors.Error {
	if e.Kind == mcperrors.KindNotFound && s.method == mcp.MethodToolsCall {
		c.doubtTools()
	}
	return e
}

// doubtTools makes the list of tools stale, since the server does not know a
// tool that is on it.
func (c *Client) doubtTools() {
	doubted := &c.parts.get().doubted
	now, last := time.Now(), doubted.Load()
	if (last == nil || now.Sub(*last) >= doubtInterval) && doubted.CompareAndSwap(last, &now) {
		c.InvalidateTools()
	}
}

// about fills in which call an error is about.
func (c *Client) about(s subject, e *mcperrors.Error) *mcperrors.Error {
	e.Server, e.Method, e.Tool, e.Attempts = c.server, s.method, s.tool, s.attempts
	if !s.id.IsZero() {
		e.RequestID = s.id.String()
	}
	return c.hideOurs(e)
}

// local makes the error of a call that ended before, or without, a request.
func (c *Client) local(err error, method string) error {
	e := mcperrors.From(err, mcperrors.NotSent)
	e.Server, e.Method = c.server, method
	return c.hideOurs(e)
}

// undecodable is the error of a result that is not what the protocol asks for.
func (c *Client) undecodable(s subject, err error) error {
	return c.about(s, mcperrors.New(mcperrors.E203, mcperrors.KindProtocol, mcperrors.Answered,
		"the result of "+s.method+" is not what the protocol asks for: "+jsonrpc.Printable(err.Error(), 300), err))
}
