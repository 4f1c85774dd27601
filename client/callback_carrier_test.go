package client_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A transport of the application that panics fails its request.
func TestCallbackTransport(t *testing.T) {
	t.Parallel()
	s := newScriptedServer("2025-11-25")
	c := s.dial(t)
	for how, fail := range failingHooks() {
		var err error
		var work sync.WaitGroup
		s.answer = func(context.Context, int, transport.Request) (transport.Answer, error) {
			fail()
			return transport.Answer{}, nil
		}
		work.Go(func() { _, err = c.CallTool(t.Context(), "echo", nil) })
		work.Wait()
		if how == "panic" {
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, mcperrors.KindApp, e.Kind)
			require.Equal(t, mcperrors.Unknown, e.Delivery)
			require.False(t, e.Retryable)
			require.ErrorContains(t, err, "Transport panicked: a bug of the application")
		}
		s.answer = func(_ context.Context, _ int, req transport.Request) (transport.Answer, error) {
			return resultOf(req, `{"content":[]}`)
		}
		_, err = c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Zero(t, c.Health().InFlight)
	}
}

// hookStream is a stream that fails where its hook does.
type hookStream struct {
	net.Conn
	read, write *hook
}

func (s hookStream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.read.run()
	return n, err
}

func (s hookStream) Write(p []byte) (int, error) {
	s.write.run()
	return s.Conn.Write(p)
}

// A stream of the application that fails ends its connection: calls fail at once.
func TestCallbackStream(t *testing.T) {
	t.Parallel()
	for how, fail := range failingHooks() {
		for _, what := range []string{"read", "write"} {
			t.Run(how+" in "+what, func(t *testing.T) {
				t.Parallel()
				tr, _ := newFake(t)
				h, well := newHook(fail), newHook(nil)
				stream := hookStream{tr.In.(net.Conn), h, well}
				if what == "write" {
					stream.read, stream.write = well, h
				}
				c, err := client.Connect(t.Context(), &transport.Stream{In: stream, Out: stream}, sessionEra)
				require.NoError(t, err)
				h.bad.Store(true)
				_, err = c.CallTool(t.Context(), "echo", hello)
				require.Error(t, err)
				_, err = c.CallTool(t.Context(), "echo", hello)
				require.Error(t, err)
				_ = c.Close()
			})
		}
	}
}

// What a program writes beside its messages is read on.
func TestCallbackProgram(t *testing.T) {
	t.Parallel()
	for how, fail := range failingHooks() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			noise, stderr, copied := newHook(fail), newHook(fail), newHook(fail)
			for _, h := range []*hook{noise, stderr, copied} {
				h.bad.Store(true)
			}
			var exited atomic.Bool
			told := make(chan string, 100)
			command := transport.Command{Argv: programArgv("chatty"), Env: []string{"GORACE=atexit_sleep_ms=0"}, Stderr: hookWriter{copied}}
			c, err := client.Connect(t.Context(), &command, sessionEra,
				client.WithTrace(transport.Trace{
					Noise: func([]byte) { noise.run() }, Stderr: func(string) { stderr.run() },
					Exited: func() {
						exited.Store(true)
						fail()
					},
				}),
				client.OnEvent(func(_ context.Context, e client.Event) {
					if failed, ok := e.(client.CallbackFailed); ok {
						told <- failed.Callback
					}
				}))
			require.NoError(t, err)
			seen := map[string]bool{}
			for len(seen) < 3 {
				seen[<-told] = true
			}
			require.Equal(t, map[string]bool{"Trace.Noise": true, "Trace.Stderr": true, "Command.Stderr": true}, seen)
			for _, h := range []*hook{noise, stderr, copied} {
				h.bad.Store(false)
			}
			_, err = c.CallTool(t.Context(), "echo", hello) // it chatters again
			require.NoError(t, err)
			for _, h := range []*hook{noise, stderr, copied} {
				<-h.ran
			}
			require.NoError(t, c.Close())
			require.True(t, exited.Load())
		})
	}
}

type hookWriter struct{ h *hook }

func (w hookWriter) Write(p []byte) (int, error) {
	w.h.run()
	return len(p), nil
}
