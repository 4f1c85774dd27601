package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/server/front"
)

// Path is where the HTTP endpoint of all families is mounted. Below it each
// family has one of its own: /mcp/artifact. All are served with and without a
// final slash.
const Path = "/mcp"

// SSEPath is where the HTTP+SSE transport of revision 2024-11-05 is mounted when
// [Options].SSE asks for it, with all families.
const SSEPath = "/sse"

// Handler returns all that the server serves over HTTP: the streamable HTTP
// endpoints and the routes of the families. Sessions live until the client
// deletes them, until they are unused for [Options].SessionIdle, or [Server.Close].
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, e := range s.mounts {
		mux.Handle(path, e.http)
		mux.Handle(path+"/{$}", e.http)
	}
	if s.sse != nil {
		mux.Handle(SSEPath, s.sse)
	}
	limit := int64(s.maxBytes())
	for _, f := range s.families {
		for pattern, route := range f.Routes {
			mux.Handle(pattern, s.route(http.MaxBytesHandler(route, limit)))
		}
	}
	gated := s.gate.Wrap(s.perTool(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" { // nothing is there, or not by this method
			w = front.Refusals(w)
		}
		mux.ServeHTTP(w, r)
	})))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && s.base.Load() == nil {
			s.reachable(addr)
		}
		gated.ServeHTTP(w, r)
	})
}

// public returns the handlers that need no token, and next for all other requests.
func (s *Server) public(next http.Handler) http.Handler {
	if len(s.opts.Public) == 0 {
		return next
	}
	mux := http.NewServeMux()
	mux.Handle("/", next)
	for pattern, handler := range s.opts.Public {
		mux.Handle(pattern, handler)
	}
	return mux
}

// perTool returns next behind the scopes of single tools, if there are any.
func (s *Server) perTool(next http.Handler) http.Handler {
	if s.guard == nil {
		return next
	}
	return s.guard.Tools(next)
}

// resource is the identifier of the server as an OAuth resource.
func (s *Server) resource() string {
	if s.opts.OAuth.Resource != "" {
		return s.opts.OAuth.Resource
	}
	if base := s.baseURL(); base != "" {
		return base + Path
	}
	return ""
}

// maxBytes bounds a body.
func (s *Server) maxBytes() int {
	if s.opts.MaxMessageBytes > 0 {
		return s.opts.MaxMessageBytes
	}
	return front.DefaultMaxBytes
}

// route serves an endpoint beside MCP. A panic in it is answered and logged like
// one in a tool; net/http would cut the connection and write to stderr what is
// no log line.
func (s *Server) route(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave := s.routes.Enter()
		if leave == nil {
			front.Draining(w)
			return
		}
		defer leave()
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			s.log.Error("panic", "route", r.Pattern, "error", fmt.Sprint(v), "stack", string(debug.Stack()))
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		}()
		ctx, cancel := s.lives(r.Context())
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// reachable notes where the server listens. A server on all addresses is
// reached by the loopback one.
func (s *Server) reachable(addr net.Addr) {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return // no network address
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	base := "http://" + net.JoinHostPort(host, port)
	s.base.CompareAndSwap(nil, &base)
}

// baseURL returns where the server is reached over HTTP, "" while it is not.
func (s *Server) baseURL() string {
	if base := s.base.Load(); base != nil {
		return *base
	}
	return ""
}

// drainRoutes waits for the routes first, for half of the grace: what runs
// there may be a chat whose agent still has to call the server.
func (s *Server) drainRoutes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.ShutdownGrace/2)
	defer cancel()
	s.routes.Drain(ctx)
}

// Serve serves HTTP on l until ctx is done, and then answers the calls
// that run, for up to ShutdownGrace, ends all sessions and closes l. After
// that the server takes no more HTTP messages. A clean end is a nil error.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	hs := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		// No WriteTimeout: a stream lives as long as its session.
	}
	s.reachable(l.Addr())
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.ShutdownGrace)
	defer cancel()
	s.drainRoutes(grace)
	s.gate.Drain(grace)
	if s.sse != nil {
		s.sse.Drain(grace) // the calls of these streams have been taken, and not answered yet
	}
	if grace.Err() != nil {
		s.abort() // what still runs has had its time
	}
	s.closeSessions() // ends the GET streams, for which Shutdown would wait
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := hs.Shutdown(shutdown)
	if errors.Is(err, context.DeadlineExceeded) {
		// Everybody has been answered. Who is left has not sent a request yet,
		// or not all of it.
		err = hs.Close()
	}
	if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
