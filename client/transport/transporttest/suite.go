// Package transporttest has a test suite for implementations of [transport.Transport], and the
// scripted server that it uses:
//
//	transporttest.Run(t, transporttest.Subject{
//		New: func(t testing.TB, limits transport.Limits) transport.Transport {
//			peer := &transporttest.Peer{}
//			… serve peer somewhere, end it with t.Cleanup
//			return &MyTransport{…}
//		},
//	})
//
// A transport with its own protocol serves [Peer] over it; one for lines or HTTP uses
// [Peer.ServeLines] or [Peer.Handler].
package transporttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Subject is a transport under test.
type Subject struct {
	// New returns the transport with these limits, connected to a running [Peer]. It is called
	// once for each test, and cleans up with t.
	New func(t testing.TB, limits transport.Limits) transport.Transport
	// Virtual is set if nothing waits for other processes or the network, so that tests can run
	// in the virtual time of testing/synctest.
	Virtual bool
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := func(t *testing.T) {
				h := &harness{T: t, pause: 100 * time.Millisecond, limits: tt.limits}
				if s.Virtual {
					h.pause = 30 * time.Second
				}
				h.open(s)
				tt.run(h)
			}
			if s.Virtual {
				synctest.Test(t, run)
			} else {
				run(t)
			}
		})
	}
}

var tests = []struct {
	name   string
	limits transport.Limits
	run    func(*harness)
}{
	{name: "answers", run: testAnswers},
	{name: "many at once", run: testMany},
	{name: "answers out of order", run: testOutOfOrder},
	{name: "notifications of the server", run: testNotifications},
	{name: "requests of the server", run: testServerRequests},
	{name: "notifications of the client", run: testNotify},
	{name: "large messages", run: testLarge},
	{name: "line breaks in params", run: testLineBreaks},
	{name: "over the length limit", limits: transport.Limits{MessageBytes: 64 << 10}, run: testTooLong},
	{name: "over the depth limit", limits: transport.Limits{Depth: 20}, run: testTooDeep},
	{name: "trace", run: testTrace},
	{name: "cancel", run: testCancel},
	{name: "cancelled before", run: testCancelledBefore},
	{name: "idle timeout", run: testIdle},
	{name: "maximum time", run: testMax},
	{name: "close with calls in flight", run: testClose},
	{name: "close while calls begin", run: testCloseRace},
	{name: "after close", run: testAfterClose},
}

// harness is one test's open connection.
type harness struct {
	*testing.T
	conn   transport.Conn
	name   string
	limits transport.Limits
	// pause is a duration that is short for people and long for machines.
	pause time.Duration

	mu            sync.Mutex
	last          int64
	notes         []string
	sent, arrived []string
}

func (h *harness) open(s Subject) {
	h.Helper()
	tr := s.New(h.T, h.limits)
	h.name = tr.String()
	conn, err := tr.Connect(h.Context(), transport.Handler{
		OnRequest: func(ctx context.Context, req jsonrpc.Request, _ *transport.Caller) {
			// Over HTTP, Respond is an exchange, so it must not run on the goroutine that reads.
			go func() {
				_ = h.conn.Respond(ctx, jsonrpc.Response{ID: req.ID, Result: req.Params})
			}()
		},
		OnNotification: func(_ context.Context, n jsonrpc.Notification, _ jsonrpc.ID) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.notes = append(h.notes, n.Method+" "+string(n.Params))
		},
		Trace: transport.Trace{
			Sent:     func(frame []byte) { h.note(&h.sent, frame) },
			Received: func(frame []byte) { h.note(&h.arrived, frame) },
		},
	})
	h.check(err)
	h.conn = conn
	h.Cleanup(func() {
		if err := conn.Close(); err != nil {
			h.Errorf("Close: %v", err)
		}
	})
}

func (h *harness) note(list *[]string, frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(frame) < 1000 { // large frames are not checked
		*list = append(*list, string(frame))
	}
}

// request returns a request with a new id.
func (h *harness) request(method, params string) transport.Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	req := transport.Request{Request: jsonrpc.Request{ID: jsonrpc.IntID(h.last), Method: method}}
	if params != "" {
		req.Params = json.RawMessage(params)
	}
	return req
}

// call makes a call and checks that its answer is a result.
func (h *harness) call(method, params string) json.RawMessage {
	h.Helper()
	answer, err := h.conn.Call(h.Context(), h.request(method, params))
	h.check(err)
	if answer.Error != nil {
		h.Fatalf("%s: %v", method, answer.Error)
	}
	return answer.Result
}

// outcome is the end of a call.
type outcome struct {
	answer transport.Answer
	err    error
}

// start starts a call and returns once it has reached the server.
func (h *harness) start(ctx context.Context, req transport.Request) <-chan outcome {
	h.Helper()
	before := h.seen(req.Method)
	done := make(chan outcome, 1)
	go func() {
		answer, err := h.conn.Call(ctx, req)
		done <- outcome{answer, err}
	}()
	for h.seen(req.Method) == before {
		select {
		case o := <-done:
			h.Fatalf("%s ended before it arrived: %+v", req.Method, o)
		default:
		}
	}
	return done
}

// seen returns how often the server has received a method.
func (h *harness) seen(method string) int {
	h.Helper()
	var got struct{ Methods []string }
	h.check(json.Unmarshal(h.call(MethodSeen, ""), &got))
	count := 0
	for _, m := range got.Methods {
		if m == method {
			count++
		}
	}
	return count
}

// wait waits for the end of a call, for a limited time.
func (h *harness) wait(done <-chan outcome) outcome {
	h.Helper()
	select {
	case o := <-done:
		return o
	case <-time.After(h.pause + 20*time.Second):
		h.Fatal("the call does not end")
		return outcome{}
	}
}

// failed checks how a call failed.
func (h *harness) failed(err error, reason transport.Reason, notSent bool) *transport.Failure {
	h.Helper()
	var f *transport.Failure
	if !errors.As(err, &f) {
		h.Fatalf("got %v, want a *transport.Failure", err)
	}
	if f.Reason != reason || f.NotSent != notSent {
		h.Fatalf("got reason %d, not sent %t (%v), want %d, %t", f.Reason, f.NotSent, err, reason, notSent)
	}
	return f
}

func (h *harness) check(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) equal(got, want any) {
	h.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		h.Fatalf("got %.500s, want %.500s", g, w)
	}
}

// works checks that the connection still works.
func (h *harness) works() {
	h.Helper()
	h.equal(string(h.call(MethodEcho, `{"still":"here"}`)), `{"still":"here"}`)
}
