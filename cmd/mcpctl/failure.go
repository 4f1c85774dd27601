package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/doc"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/schema"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/suggest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// failure is how a run that did not end well is told: the cause first, then
// evidence, then what to do. It has two faces, for people and for programs.
type failure struct {
	kind    kind
	message string
	// evidence are the lines below the message, each with a short label.
	evidence []fact
	// findings are what is wrong with arguments, under the signature.
	findings  []schema.Finding
	signature string
	// try are commands that may help, note a last remark.
	try  []string
	note string
	// from is the error of the client, nil for what we found ourselves.
	from *mcperrors.Error
	// silent is set when the command has shown its outcome already.
	silent bool
}

// fact is one line of evidence.
type fact struct{ label, text string }

func (f *failure) Error() string { return f.message }

func usage(format string, args ...any) *failure {
	return &failure{kind: kindUsage, message: fmt.Sprintf(format, args...)}
}

func (f *failure) add(label, format string, args ...any) {
	f.evidence = append(f.evidence, fact{label, fmt.Sprintf(format, args...)})
}

// failed is an error of the client with the server it is about.
type failed struct {
	err    error
	server target
	// connecting marks the error of a handshake.
	connecting bool
}

func (f *failed) Error() string { return f.err.Error() }
func (f *failed) Unwrap() error { return f.err }

// failureOf makes a failure of any error a command returns.
func (a *app) failureOf(ctx context.Context, err error) *failure {
	var (
		own   *failure
		from  *mcperrors.Error
		where *failed
	)
	switch {
	case errors.As(err, &own):
	case errors.Is(err, operand.ErrForm):
		own = operandFailure(err)
	case errors.As(err, &from):
		if !errors.As(err, &where) {
			where = &failed{}
		}
		own = a.clientFailure(from, where.connecting)
		if where.connecting {
			a.explainConnecting(own, from, where.server)
		}
		if from.Kind == mcperrors.KindTimeout {
			a.explainTimeout(own, from, where)
		}
	case strings.HasPrefix(err.Error(), "unknown command"):
		own = a.unknownCommand(err)
	default:
		own = &failure{kind: kindBug, message: err.Error(), note: "this is a mistake of mcpctl; please report it with the command you typed"}
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errInterrupted):
		own.kind, own.message, own.try = kindInterrupted, "interrupted", nil
	case errors.Is(cause, errTerminated):
		own.kind, own.message, own.try = kindTerminated, "told to stop", nil
	case errors.Is(cause, errHangup):
		own.kind, own.message, own.try = kindHangup, "the terminal was closed", nil
	}
	return own
}

func operandFailure(err error) *failure {
	f := usage("%s", err)
	var syntax *doc.SyntaxError
	if errors.As(err, &syntax) && syntax.Text != "" {
		f.add("", "%s", syntax.Text)
		f.add("", "%s", syntax.Caret)
	} else if strings.Contains(err.Error(), "is not name=value") {
		f.try = append(f.try, "mcpctl help syntax")
	}
	f.note = "nothing was sent"
	return f
}

// unknownCommand adds the commands that may have been meant.
func (a *app) unknownCommand(err error) *failure {
	f := usage("%s", strings.TrimSpace(firstLine(err.Error())))
	var names []string
	for _, c := range a.root.Commands() {
		names = append(names, c.Name())
	}
	if _, word, found := strings.Cut(f.message, `"`); found {
		word, _, _ = strings.Cut(word, `"`)
		if near := suggest.Nearest(word, names); len(near) > 0 {
			f.message += "; did you mean " + near[0] + "?"
			return f
		}
	}
	f.try = []string{"mcpctl help"}
	return f
}

// clientFailure tells an error of the client with its evidence.
func (a *app) clientFailure(e *mcperrors.Error, during bool) *failure {
	e = a.safeError(e)
	f := &failure{kind: kindOf(e, during), message: e.Message, from: e}
	if e.RPC != nil {
		f.message = e.RPC.Message
		f.add("code", "%s", rpcCode(e.RPC.Code))
		if e.RPC.Data != nil && string(e.RPC.Data) != "null" {
			f.add("data", "%s", e.RPC.Data)
		}
	}
	if e.Tool != "" {
		f.add("tool", "%s", e.Tool)
	} else if e.Method != "" && e.RPC != nil {
		f.add("method", "%s", e.Method)
	}
	var era *client.EraError
	if errors.As(e, &era) {
		f.message = strings.TrimSuffix(f.message, "; "+era.Error())
		for _, tried := range era.Tried {
			f.add("tried", "%s", a.safe(attempt(tried)))
		}
	}
	var broken *jsonrpc.DecodeError
	if errors.As(e, &broken) {
		f.message = "what the server sent is not a JSON-RPC message: " + a.safe(broken.Reason)
		if len(broken.Head) > 0 && e.HTTP == nil {
			f.add("received", "%s", short(a.safe(string(broken.Head)), 100))
		}
	}
	if e.HTTP != nil && e.RPC == nil {
		f.httpEvidence(e.HTTP)
	}
	if e.Process != nil {
		a.processEvidence(f, e.Process)
	}
	switch f.kind {
	case kindUnknownOutcome:
		f.note = "it was sent and may have run: look before repeating it"
	case kindAuth:
		f.try = append(f.try, "-H 'Authorization: Bearer ${TOKEN}'")
	default:
	}
	if e.RetryAfter > 0 {
		if f.note != "" {
			f.note += "; "
		}
		f.note += "wait " + e.RetryAfter.String()
	}
	return f
}

func rpcCode(code int64) string {
	names := map[int64]string{
		-32700: "parse error", -32600: "invalid request", -32601: "method not found", -32602: "invalid params", -32603: "internal error",
	}
	if name := names[code]; name != "" {
		return fmt.Sprintf("%d (%s)", code, name)
	}
	return fmt.Sprintf("%d", code)
}

func (f *failure) httpEvidence(h *mcperrors.HTTPEvidence) {
	f.add("url", "%s", h.URL)
	if h.ContentType != "" {
		f.add("status", "%d, %s", h.Status, h.ContentType)
	} else {
		f.add("status", "%d", h.Status)
	}
	if first := firstLine(h.Body); first != "" {
		f.add("body", "%s", first)
	}
	if isPage(h) {
		f.message = "the server answered with a web page, not with MCP"
		f.try = append(f.try, "check the address: is this a login page, or the root of the site?")
	}
}

func isPage(h *mcperrors.HTTPEvidence) bool {
	return strings.Contains(strings.ToLower(h.ContentType), "html") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Body)), "<!doctype html")
}

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return short(line, 100)
		}
	}
	return ""
}

func short(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return s
}

// shownStderr is how many lines of a program's stderr a person sees at once; -v
// shows all that were kept.
const shownStderr = 4

func (a *app) processEvidence(f *failure, p *mcperrors.ProcessEvidence) {
	f.add("program", "%s", short(strings.Join(p.Command, " "), 100))
	switch {
	case p.Exited && p.Signal != "":
		f.add("ended", "by %s, after %s", p.Signal, age(p.Age))
	case p.Exited:
		f.add("exited", "status %d, after %s", p.Exit, age(p.Age))
	}
	if p.Noise != "" {
		f.add("stdout", "%s", short(p.Noise, 100))
	}
	lines := p.Stderr
	if a.flags.verbose == 0 {
		lines = lines[max(0, len(lines)-shownStderr):]
	}
	if a.flags.serverStderr == "show" || a.flags.serverStderr == "hide" {
		lines = nil
	}
	for _, line := range lines {
		f.add("stderr", "%s", short(line, 200))
	}
}
