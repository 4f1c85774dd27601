package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Limits of a gentle run, which is for servers in production.
const (
	// gentlePace is the distance of two messages. It is longer than half a second, so that also a
	// server that gets them a little closer together counts no more than two in a second.
	gentlePace = 550 * time.Millisecond
	// gentleBytes bounds what the run sends. No scenario begins with less than gentleReserve.
	gentleBytes   = 200_000
	gentleReserve = 8_000
	// gentlePages bounds how many pages of a list are read.
	gentlePages = 20
	// gentlePatience is how many times longer a scenario may take.
	gentlePatience = 10
)

// The reasons why a gentle run skips a check.
const (
	gentleRude     = "--gentle sends only what a careful client sends"
	gentleUsedUp   = "--gentle has sent 200 KB"
	gentleReadOnly = "--gentle calls only tools with readOnlyHint"
	gentleSilent   = "--gentle gives the server too little occasion"
)

// gentle is what keeps all connections of a run gentle: one message at a time, few bytes, and
// nothing that a careful client would not send. Scenarios that send other things are not marked
// as gentle; should one of those marked do it all the same, the message is not sent. Nil is a run
// that is not gentle. Safe for concurrent use.
type gentle struct {
	// base sends the requests to servers without a transport of their own.
	base *http.Transport
	// mayCall reports whether a tool may be called in the current revision.
	mayCall func(tool string) bool

	mu      sync.Mutex
	next    time.Time // when the next message may be sent
	sent    int       // bytes
	refused string    // why a message of the running scenario was not sent

	// stop ends the run, and denied reports that it did: a server that does not take the
	// credentials any more gets no other request without a login.
	stop   context.CancelFunc
	denied bool
}

// errGentle reports a message that was not sent.
var errGentle = errors.New("not sent in a gentle run")

func newGentle() *gentle {
	return &gentle{base: wire.NewTransport(), mayCall: func(string) bool { return false }}
}

// checkGentle returns why options contradict a gentle run.
func checkGentle(o *conformance.Options) error {
	switch {
	case !o.Gentle:
		return nil
	case o.SideEffects == conformance.SideEffectsAll, len(o.AllowTools) > 0, len(o.Calls.Tools)+len(o.Calls.Prompts)+len(o.Calls.Templates) > 0:
		return errors.New("a gentle run calls only tools with readOnlyHint: no other side effects, allowed tools or calls can be given")
	case o.Parallel > 1:
		return errors.New("a gentle run plays one scenario at a time: it cannot be parallel")
	case o.SideEffects == "":
		o.SideEffects = conformance.SideEffectsReadOnly
	}
	return nil
}

// wait returns when the next message may be sent, or ctx ends. It comes before the wait for an
// answer, so that the time of the server does not include it.
func (g *gentle) wait(ctx context.Context) {
	for {
		g.mu.Lock()
		left := time.Until(g.next)
		g.mu.Unlock()
		if left <= 0 || wire.Pause(ctx, left) != nil {
			return
		}
	}
}

// admit waits until a message of a number of bytes may be sent. It returns an error if it may not:
// there is no permission to call a tool, too many bytes were sent, or it is malformed.
func (g *gentle) admit(ctx context.Context, message []byte, size int) error {
	reason := g.fault(message)
	for {
		g.mu.Lock()
		if reason == "" && message != nil && g.sent+size > gentleBytes-gentleReserve/2 {
			reason = gentleUsedUp
		}
		if g.refused == "" {
			g.refused = reason
		}
		if g.refused != "" && message != nil { // a request without a body ends a session
			g.mu.Unlock()
			return fmt.Errorf("%w: %s", errGentle, g.refused)
		}
		now := time.Now()
		left := g.next.Sub(now)
		if left <= 0 {
			g.next = now.Add(gentlePace)
			g.sent += size
			g.mu.Unlock()
			return nil
		}
		g.mu.Unlock()
		if err := wire.Pause(ctx, left); err != nil {
			return err
		}
	}
}

// fault returns why a careful client would not send a message, "" if it would.
func (g *gentle) fault(message []byte) string {
	in := wire.Received(message, nil)
	switch {
	case message == nil, in.IsResponse() && in.ID() != "":
		return ""
	case in.Members == nil || !slices.ContainsFunc(mcp.Versions(), func(v mcp.Version) bool {
		info, known := mcp.LookupMethod(in.Method(), v)
		return known && info.Sender&mcp.FromClient != 0
	}):
		return gentleRude
	case in.Method() == mcp.MethodToolsCall && !g.mayCall(rawjson.Text(wire.Param(in, "name"))):
		return gentleReadOnly
	}
	return ""
}

// RoundTripper sends the requests of base gently; nil means the transport of the run.
func (g *gentle) RoundTripper(base http.RoundTripper) http.RoundTripper {
	if g == nil {
		return base
	}
	if base == nil {
		base = g.base
	}
	return gentleTripper{g, base}
}

type gentleTripper struct {
	*gentle
	base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t gentleTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	var message []byte
	if req.Method == http.MethodPost {
		message = make([]byte, max(0, req.ContentLength))
		if req.GetBody != nil { // else it is a body in pieces, which is none here
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			if _, err = io.ReadFull(body, message); err != nil {
				return nil, err
			}
		}
	}
	if err := t.admit(req.Context(), message, sizeOf(req)); err != nil {
		return nil, err
	}
	resp, err := t.base.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		t.deny()
	}
	return resp, err
}

// deniedError reports that the server refuses credentials that it took at first.
type deniedError struct{}

func (deniedError) Error() string { return "the credentials are refused" }

// CredentialsEnded marks the error for [conformance.UnreachableError].
func (deniedError) CredentialsEnded() {}

// endWith makes stop end the run once the server refuses its credentials.
func (g *gentle) endWith(stop context.CancelFunc) {
	if g != nil {
		g.mu.Lock()
		g.stop = stop
		g.mu.Unlock()
	}
}

// deny ends the run. Before it has begun, the first answer decides what the server wants.
func (g *gentle) deny() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stop != nil {
		g.denied = true
		g.stop()
	}
}

// denial returns why the run ended early, nil if it did not.
func (g *gentle) denial(target conformance.Target) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.denied {
		return nil
	}
	return &conformance.UnreachableError{Target: target, Exit: -1, Status: http.StatusUnauthorized, Err: deniedError{}}
}

// sizeOf is about how many bytes a request takes.
func sizeOf(req *http.Request) int {
	const others = 150 // the first line, and the headers that the transport adds
	size := others + len(req.URL.RequestURI()) + len(req.URL.Host) + int(req.ContentLength)
	for name, values := range req.Header {
		for _, value := range values {
			size += len(name) + len(value) + len(": \r\n")
		}
	}
	return size
}

// lines makes a connection of lines gentle.
func (g *gentle) lines(w wire.Conn) {
	if c, ok := w.(*wire.StdioConn); ok && g != nil {
		c.Admit = func(ctx context.Context, data []byte) error { return g.admit(ctx, data, len(data)) }
	}
}

// session makes a session wait for its turn before it begins to wait for an answer.
func (g *gentle) session(s *wire.Session) {
	if g != nil {
		s.Turn, s.MaxPages = g.wait, gentlePages
	}
}

// begin forgets what was refused in the scenario before.
func (g *gentle) begin() {
	if g != nil {
		g.mu.Lock()
		g.refused = ""
		g.mu.Unlock()
	}
}

// refusal returns why a message of the scenario was not sent, "" if all were.
func (g *gentle) refusal() string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}

// gate returns why a scenario does not run gently.
func (g *gentle) gate(sc *Scenario) *gate {
	switch {
	case g == nil:
		return nil
	case !sc.Gentle:
		return &gate{reason: conformance.SkipGentle, detail: gentleRude}
	case g.usedUp() && !sc.Last:
		return &gate{reason: conformance.SkipGentle, detail: gentleUsedUp}
	}
	return nil
}

func (g *gentle) usedUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sent > gentleBytes-gentleReserve
}

// close ends the idle connections.
func (g *gentle) close() {
	if g != nil {
		g.base.CloseIdleConnections()
	}
}

// mayCallGently reports whether a gentle run may call a tool: of two with the same name both have to
// be marked.
func (l *RevisionRun) mayCallGently(name string) bool {
	marked := false
	for _, t := range l.Tools {
		if t.Name == name && !t.Annotations.ReadOnlyHint {
			return false
		}
		marked = marked || t.Name == name
	}
	return marked && l.grant == conformance.SideEffectsReadOnly
}

// forbidden returns why a tool may not be called.
func (l *RevisionRun) forbidden(tool string) (reason conformance.SkipReason, detail string) {
	if l.Gentle() {
		return conformance.SkipGentle, gentleReadOnly
	}
	return conformance.SkipSideEffects, "no permission to call " + tool
}

// Gentle reports whether the run is gentle.
func (l *RevisionRun) Gentle() bool { return l.gentle != nil }

// MayProvoke reports whether a scenario may send what a careful client would not send, such as a
// name that does not exist. In a gentle run it may not: the checks with these ids, or all that are
// not decided, are skipped.
func (t *Trial) MayProvoke(ids ...string) bool {
	if !t.Rev.Gentle() {
		return true
	}
	if len(ids) == 0 {
		t.SkipRest(conformance.SkipGentle, gentleRude)
	}
	for _, id := range ids {
		t.Skip(id, conformance.SkipGentle, gentleRude)
	}
	return false
}

// SkipUnseen skips a check of a gentle run for which nothing gave an occasion, and reports whether
// it did: where nothing is provoked, silence says nothing.
func (t *Trial) SkipUnseen(id string) bool {
	if t.Rev.Gentle() {
		t.Skip(id, conformance.SkipGentle, gentleSilent)
	}
	return t.Rev.Gentle()
}

// unconfirmed makes the checks inconclusive that failed because the server was lost: a gentle run
// does not send again what may have ended it.
func (t *Trial) unconfirmed() {
	t.explain()
	for i := range t.results {
		r := &t.results[i]
		if slices.ContainsFunc(t.losses, func(l loss) bool { return l.check == r.ID }) {
			r.Status, r.Detail = conformance.Inconclusive, "the server was lost, and --gentle does not try it again: "+r.Actual
			r.Expected, r.Actual = "", ""
		}
	}
}
