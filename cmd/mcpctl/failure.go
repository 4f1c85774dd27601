package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// failure is the error of a run: the cause first, then evidence, then what to
// do. It has two forms, for people and for programs. Only [fail] makes one.
type failure struct {
	kind kind
	// delivery is what became of the request that the run is for.
	delivery mcperrors.Delivery
	message  string
	// method and tool name the request, where one was sent.
	method, tool string
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

// fail makes a failure. delivery is what became of the request that the run is
// for; only the place where the failure arises knows it.
func fail(k kind, delivery mcperrors.Delivery, format string, args ...any) *failure {
	return &failure{kind: k, delivery: delivery, message: fmt.Sprintf(format, args...)}
}

// usage is the failure of a command line that cannot work. It is found before
// the request is sent.
func usage(format string, args ...any) *failure {
	return fail(kindUsage, mcperrors.NotSent, format, args...)
}

// shown ends a run whose outcome the command has printed already.
func shown(k kind) *failure {
	f := fail(k, mcperrors.Answered, "%s", k)
	f.silent = true
	return f
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

// notCalled is the error of what call does before it calls the tool.
type notCalled struct{ err error }

func (n *notCalled) Error() string { return n.err.Error() }
func (n *notCalled) Unwrap() error { return n.err }

// Notes on what became of the request.
const (
	noteNotCalled = "the tool was not called"
	noteMayRun    = "it was sent and may have run: check whether it ran before repeating it"
	noteRan       = "the tool was called and answered: check what it did before calling it again"
	noteRepeat    = "the tool was called and answered: do not call it again for its output"
)

// failureOf makes a failure of any error a command returns.
func (a *app) failureOf(ctx context.Context, err error) *failure {
	var (
		own   *failure
		from  *mcperrors.Error
		where *failed
		early *notCalled
	)
	called := !errors.As(err, &early)
	switch {
	case errors.As(err, &own):
	case errors.Is(err, operand.ErrForm):
		own = operandFailure(err)
	case errors.As(err, &from):
		if !errors.As(err, &where) {
			where = &failed{}
		}
		own = a.clientFailure(from, where.connecting || !called)
		if where.connecting {
			a.explainConnecting(own, from, where.server)
		}
		if from.Kind == mcperrors.KindTimeout {
			a.explainTimeout(own, from, where)
		}
	case strings.HasPrefix(err.Error(), "unknown command"):
		own = a.unknownCommand(err)
	default:
		own = fail(kindBug, a.sent.delivery, "%s", err)
		own.note = "this is a mistake of mcpctl; please report it with the command you typed"
	}
	if !called && own.delivery != mcperrors.NotSent {
		own.delivery = mcperrors.NotSent
		own.noteAlso(noteNotCalled)
	}
	if own.from == nil && own.delivery != mcperrors.NotSent {
		own.method, own.tool = a.sent.method, a.sent.tool
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
	f := fail(kindOf(e, during), e.Delivery, "%s", e.Message)
	f.from = e
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
	switch {
	case e.Kind == mcperrors.KindTooLarge:
		message, limit, _ := strings.Cut(f.message, "; raise Limits.")
		f.message = message
		if limit == "MessageBytes" {
			larger := min(4*a.flags.maxMessage, largestCount)
			f.try = append(f.try, "--max-message "+larger.String())
		}
	case errors.As(e, &broken):
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
	if f.kind == kindAuth {
		f.try = append(f.try, "-H 'Authorization: Bearer ${TOKEN}'")
	}
	switch {
	case during:
	case e.Delivery == mcperrors.Unknown:
		f.noteAlso(noteMayRun)
	case e.Delivery == mcperrors.Answered && e.Method == mcp.MethodToolsCall && e.RPC == nil:
		f.noteAlso(noteRan)
	}
	if e.RetryAfter > 0 {
		f.noteAlso("wait " + e.RetryAfter.String())
	}
	return f
}

// noteAlso adds a remark.
func (f *failure) noteAlso(note string) {
	if f.note != "" {
		f.note += "; "
	}
	f.note += note
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
		lines = p.Reason(shownStderr)
	}
	if a.flags.serverStderr == "show" || a.flags.serverStderr == "hide" {
		lines = nil
	}
	for _, line := range lines {
		f.add("stderr", "%s", short(line, 200))
	}
}
