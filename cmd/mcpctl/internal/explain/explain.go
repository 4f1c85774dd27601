// Package explain turns any error of a run into a failure: what happened, in
// words for the user, the evidence, and what to try next.
package explain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/skills"
)

// Explainer explains the errors of a run.
type Explainer struct {
	*connect.Dialer
	// Commands are the names of the commands, to suggest one.
	Commands []string
	// LoginFlags are the flags of the `mcpctl auth login` that runs, each with its value.
	// They are nil in other commands.
	LoginFlags [][]string
	// ProfileFlag is what chooses a login in the command that runs, "" for --auth.
	ProfileFlag string
}

// NotCalled is an error of preparing a call, before the tool was called.
type NotCalled struct{ Err error }

func (n *NotCalled) Error() string { return n.Err.Error() }
func (n *NotCalled) Unwrap() error { return n.Err }

// Failure returns the failure of any error that a command returned.
func (x *Explainer) Failure(ctx context.Context, err error) *failure.Failure {
	var (
		own   *failure.Failure
		from  *mcperrors.Error
		where *connect.Failed
		early *NotCalled
		wrong *skills.Error
	)
	called := !errors.As(err, &early)
	switch {
	case errors.As(err, &own):
	case errors.Is(err, operand.ErrForm):
		own = operandFailure(err)
	case errors.As(err, &wrong):
		own = skill(wrong)
	case errors.As(err, &from):
		if !errors.As(err, &where) {
			where = &connect.Failed{}
		}
		refused := from.HTTP != nil && (from.HTTP.Status == http.StatusTooManyRequests || from.HTTP.Status >= 500)
		own = x.client(from, where.Connecting || !called || refused && !x.Sent.Acts)
		if where.Connecting && own.Delivery == mcperrors.Unknown {
			own.Delivery = mcperrors.NotSent // only the handshake may have run
		}
		if where.Connecting && own.Kind != failure.KindAuth {
			x.connecting(own, from, where.Target)
		}
		x.demanded(own, from)
		if own.Kind == failure.KindAuth && where.Target.URL != "" {
			x.Login(ctx, own, from, where.Target)
		}
		if from.Kind == mcperrors.KindTimeout {
			if !called && !where.Connecting {
				own.Kind = failure.KindUnavailable // the address is right: the server had answered
			}
			x.timeout(own, from, where)
		}
		if from.RPC == nil && from.Method != "" && where.Version.Era() == mcp.EraStateless &&
			mcp.MethodIn(from.Method, mcp.LatestSession) && !mcp.MethodIn(from.Method, where.Version) {
			own.Try = append(own.Try, "--era session: the stateless era has no "+visible.Line(from.Method))
		}
	case strings.HasPrefix(err.Error(), "unknown command"):
		own = x.unknownCommand(err)
	default:
		own = failure.New(failure.KindBug, x.Sent.Delivery, "%s", err)
		own.Note = "this is a bug in mcpctl; please report it with the command you typed"
	}
	if !called && own.Delivery != mcperrors.NotSent {
		own.Delivery = mcperrors.NotSent
		own.AddNote(failure.NoteNotCalled)
	}
	if own.From == nil && own.Delivery != mcperrors.NotSent {
		own.Method, own.Tool = x.Sent.Method, x.Sent.Tool
	}
	if ctx.Err() != nil && own.Kind == failure.KindBug {
		own.Note = "" // the run was ended
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, failure.ErrInterrupted):
		own.Kind, own.Message, own.Try = failure.KindInterrupted, "interrupted", nil
	case errors.Is(cause, failure.ErrTerminated):
		own.Kind, own.Message, own.Try = failure.KindTerminated, "terminated", nil
	case errors.Is(cause, failure.ErrHangup):
		own.Kind, own.Message, own.Try = failure.KindHangup, "the terminal was closed", nil
	}
	return own
}

func operandFailure(err error) *failure.Failure {
	f := failure.Usage("%s", err)
	var syntax *doc.SyntaxError
	if errors.As(err, &syntax) && syntax.Text != "" {
		f.Add("", "%s", syntax.Text)
		f.Add("", "%s", syntax.Caret)
	} else if strings.Contains(err.Error(), "is not name=value") {
		f.Try = append(f.Try, "mcpctl help syntax")
	}
	f.Note = failure.NoteNothingSent
	return f
}

// unknownCommand adds the commands that may have been meant.
func (x *Explainer) unknownCommand(err error) *failure.Failure {
	f := failure.Usage("%s", strings.TrimSpace(firstLine(err.Error())))
	if _, word, found := strings.Cut(f.Message, `"`); found {
		word, _, _ = strings.Cut(word, `"`)
		if word == "login" || word == "logout" {
			f.Message += "; did you mean mcpctl auth " + word + "?"
			return f
		}
		if near := suggest.Nearest(word, x.Commands); len(near) > 0 {
			f.Message += "; did you mean " + near[0] + "?"
			return f
		}
	}
	f.Try = []string{"mcpctl help"}
	return f
}

// client explains an error of the client. early is set when the request of the
// command was not sent yet.
func (x *Explainer) client(e *mcperrors.Error, early bool) *failure.Failure {
	e = x.Secrets.Error(e)
	f := failure.New(failure.Of(e, early), e.Delivery, "%s", e.Message)
	f.From = e
	if e.RPC != nil {
		f.Message = e.RPC.Message
		f.Add("code", "%s", RPCCode(e.RPC.Code))
		if e.RPC.Data != nil && string(e.RPC.Data) != "null" {
			f.Add("data", "%s", e.RPC.Data)
		}
	}
	if e.Tool != "" {
		f.Add("tool", "%s", e.Tool)
	} else if e.Method != "" && e.RPC != nil {
		f.Add("method", "%s", e.Method)
	}
	var era *client.EraError
	if errors.As(e, &era) {
		f.Message = strings.TrimSuffix(f.Message, "; "+era.Error())
		for _, tried := range era.Tried {
			f.Add("tried", "%s", x.Secrets.Safe(connect.ProbeStep(tried)))
		}
	}
	var broken *jsonrpc.DecodeError
	switch {
	case e.Kind == mcperrors.KindTooLarge:
		message, limit, _ := strings.Cut(f.Message, "; raise Limits.")
		f.Message = message
		if limit == "MessageBytes" {
			larger := min(4*x.Flags.MaxMessage, flags.LargestCount)
			f.Try = append(f.Try, "--max-message "+larger.String())
		}
	case errors.As(e, &broken):
		f.Message = "the server sent an invalid JSON-RPC message: " + x.Secrets.Safe(broken.Reason)
		if len(broken.Head) > 0 && e.HTTP == nil {
			f.Add("received", "%s", visible.Cut(x.Secrets.Safe(string(broken.Head)), 100))
		}
	}
	if e.HTTP != nil && e.RPC == nil {
		httpEvidence(f, e.HTTP)
	}
	if e.Process != nil {
		x.process(f, e.Process)
	}
	var task *client.TaskError
	if errors.As(e, &task) {
		f.Add("task", "%s", x.Secrets.Safe(task.ID))
		try := "mcpctl task wait SERVER " + x.Secrets.Safe(task.ID)
		if e.Kind == mcperrors.KindNotFound {
			try = "mcpctl task ls SERVER"
		}
		f.Try = append(f.Try, try)
	}
	var missing *client.MissingCapabilityError
	if errors.As(e, &missing) {
		f.AddNote("mcpctl cannot answer what the tool asks (" + visible.Line(strings.Join(missing.Names, ", ")) + "): call it from a program that can")
	}
	f.Reads = !early && x.Sent.Method != "" && !x.Sent.Acts
	switch {
	case early:
	case e.Delivery == mcperrors.Unknown && f.Reads:
		if e.Kind != mcperrors.KindNotFound {
			f.AddNote(failure.NoteReads)
		}
	case e.Delivery == mcperrors.Unknown:
		f.AddNote(failure.NoteMayRun)
	case e.Delivery == mcperrors.Answered && e.Method == mcp.MethodToolsCall && e.RPC == nil:
		f.AddNote(failure.NoteRan)
	}
	if e.RetryAfter > 0 {
		f.AddNote("wait " + console.Typed(e.RetryAfter) + " before the next call")
	}
	return f
}

// RPCCode is a code of JSON-RPC with its name.
func RPCCode(code int64) string {
	names := map[int64]string{
		-32700: "parse error", -32600: "invalid request", -32601: "method not found", -32602: "invalid params", -32603: "internal error",
	}
	if name := names[code]; name != "" {
		return fmt.Sprintf("%d (%s)", code, name)
	}
	return fmt.Sprintf("%d", code)
}

func httpEvidence(f *failure.Failure, h *mcperrors.HTTPEvidence) {
	f.Add("url", "%s", h.URL)
	if h.ContentType != "" {
		f.Add("status", "%d, %s", h.Status, h.ContentType)
	} else {
		f.Add("status", "%d", h.Status)
	}
	if first := firstLine(h.Body); first != "" {
		f.Add("body", "%s", first)
	}
	if isPage(h) {
		f.Message = "the server answered with a web page instead of MCP"
		f.Try = append(f.Try, "check the address: it may be a login page or the root of the site")
	}
}

func isPage(h *mcperrors.HTTPEvidence) bool {
	return strings.Contains(strings.ToLower(h.ContentType), "html") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Body)), "<!doctype html")
}

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return visible.Cut(line, 100)
		}
	}
	return ""
}

// ShownStderr is how many lines of a program's stderr people see without -v.
const ShownStderr = 4

func (x *Explainer) process(f *failure.Failure, p *mcperrors.ProcessEvidence) {
	f.Add("program", "%s", visible.Cut(strings.Join(p.Command, " "), 100))
	switch {
	case p.Exited && p.Signal != "":
		f.Add("ended", "by %s, after %s", p.Signal, console.Rounded(p.Age))
	case p.Exited:
		f.Add("exited", "status %d, after %s", p.Exit, console.Rounded(p.Age))
	}
	if p.Noise != "" {
		f.Add("stdout", "%s", visible.Cut(p.Noise, 100))
	}
	lines := p.Stderr
	if x.Console.Verbose == 0 {
		lines = p.Reason(ShownStderr)
	}
	if x.Flags.ServerStderr == "show" || x.Flags.ServerStderr == "hide" {
		lines = nil
	}
	for _, line := range lines {
		f.Add("stderr", "%s", visible.Cut(line, 200))
	}
}
