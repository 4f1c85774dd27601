package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/conformance/server/front"
	"github.com/mainstay-mcp/mainstay/conformance/server/guard"
	"github.com/mainstay-mcp/mainstay/conformance/server/scratch"
	"github.com/mainstay-mcp/mainstay/conformance/server/tasks"
)

// The server's name and version in serverInfo.
const (
	Name    = "mainstay-refserver"
	Version = "0.1.0"
)

// temporaryPrefix begins the names of temporary data folders. Those of servers
// that were killed are removed by the next one.
const temporaryPrefix = "mainstay-refserver-"

// Options configures a [Server]. The zero value is a server with the two families of
// this module on a fresh temporary folder that [Server.Close] removes.
type Options struct {
	// Makers make the families that the server can serve besides its own two,
	// fixtures and skills.
	Makers []Maker
	// Extra are families that the caller has made. They are always served.
	Extra []*family.Family
	// Families are the names of the families to serve. The default is every family
	// that is not [Maker].HTTPOnly.
	Families []string
	// DataDir holds what the tools store, in a folder per family. The default is a
	// fresh temporary folder.
	DataDir string
	// Outside means that a tool reaches more than the data folder. A server whose
	// tools reach only a temporary one permits a conformance run to call them all.
	Outside bool
	// SkillsDir contains the skills that the family skills serves; empty is its samples.
	SkillsDir string
	// Logger gets the JSON lines of [NewLogger]; nil drops them.
	Logger *slog.Logger
	// AllowedHosts are accepted in Host and Origin besides loopback names.
	AllowedHosts []string
	// Token, when not empty, is asked of every HTTP request as a bearer token.
	Token string
	// OAuth makes the server a protected resource instead.
	OAuth OAuthOptions
	// Public are handlers that are served over HTTP besides, without a token, by their
	// pattern of [http.ServeMux]. They are for the authorization server that OAuth names.
	Public map[string]http.Handler
	// SSE serves the HTTP+SSE transport of revision 2024-11-05 at [SSEPath], too.
	SSE bool
	// MaxSessions bounds the HTTP sessions of all endpoints; 0 is 4096. When the
	// bound is reached, a new session ends the one that has been unused for longest.
	MaxSessions int
	// MaxSessionsPerAddress bounds the sessions of one address (one /64 network of
	// IPv6), but not of this machine; 0 is a quarter of MaxSessions.
	MaxSessionsPerAddress int
	// SessionIdle is how long an HTTP session may be unused, without a request or an
	// open stream, before it ends; 0 is 30 minutes. A session whose handshake is not
	// complete ends after a minute.
	SessionIdle time.Duration
	// MaxMessageBytes bounds a line and a body; 0 is 16 MiB.
	MaxMessageBytes int
	// ShutdownGrace bounds the wait for running calls; 0 is 10 s.
	ShutdownGrace time.Duration
}

// OAuthOptions say which access tokens the server accepts over HTTP. The zero value
// is a server that asks for none.
type OAuthOptions struct {
	// Issuer is the authorization server. Its tokens are JWTs (RFC 9068).
	Issuer string
	// Resource is the URL of the server as clients know it, and the audience of
	// their tokens; empty is [Path] where the server listens.
	Resource string
	// Scopes are needed for every request, ToolScopes for calls of single tools.
	Scopes     []string
	ToolScopes map[string][]string
}

// Server is the reference server. It serves any number of sessions at once,
// over stdio and HTTP; all methods are safe for concurrent use.
type Server struct {
	opts      Options
	log       *slog.Logger
	families  []*family.Family
	root      *endpoint            // all families: stdio and Path
	mounts    map[string]*endpoint // by path
	sse       *front.SSE           // nil unless asked for
	gate      *front.Gate
	limit     *sessionLimit          // of all endpoints
	guard     *guard.Guard           // nil unless asked for
	own       string                 // the token of agents that the server starts, with a guard
	routes    front.Turnstile        // requests to the families' routes being served
	events    *eventStore            // of all endpoints
	base      atomic.Pointer[string] // where HTTP is served, once it is
	tasks     *tasks.Store           // nil where no family runs calls as tasks
	closers   []closer               // of what the families use, in the order it was started
	dataDir   string
	temporary *scratch.Folder // dataDir, if it is removed at the end
	sandbox   bool            // nothing a tool stores outlives the server

	// life is the context of every call; abort ends it. go-sdk lets calls run
	// on when their session is closed, and waits for them.
	life  context.Context
	abort context.CancelFunc

	once  sync.Once
	close error
}

// closer ends something a family uses.
type closer struct {
	name  string
	close func(context.Context) error
}

// New returns a server. An unknown family or a data folder that cannot be made
// is an error. The caller closes the server.
func New(opts Options) (*Server, error) {
	makers := slices.Concat(opts.Makers, Makers())
	if opts.Families == nil {
		opts.Families = Names(makers, false)
	}
	if err := CheckFamilies(makers, opts.Families); err != nil {
		return nil, err
	}
	if opts.ShutdownGrace == 0 {
		opts.ShutdownGrace = 10 * time.Second
	}
	if opts.MaxSessions == 0 {
		opts.MaxSessions = 4096
	}
	if opts.MaxSessionsPerAddress == 0 {
		opts.MaxSessionsPerAddress = max(1, opts.MaxSessions/4)
	}
	if opts.SessionIdle == 0 {
		opts.SessionIdle = defaultSessionIdle
	}
	if opts.Token != "" && opts.OAuth.Issuer != "" {
		return nil, errors.New("a server takes either one fixed token or those of an authorization server")
	}
	s := &Server{opts: opts, log: opts.Logger, dataDir: opts.DataDir}
	s.life, s.abort = context.WithCancel(context.Background()) //nolint:forbidigo // it lives as long as the server
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if opts.OAuth.Issuer != "" {
		if err := s.protect(); err != nil {
			return nil, err
		}
	}
	if s.dataDir == "" {
		if n := scratch.Sweep("", temporaryPrefix); n > 0 {
			s.log.Info("temporary_folders_removed", "count", n, "reason", "their servers were killed")
		}
		dir, err := scratch.Make("", temporaryPrefix)
		if err != nil {
			return nil, fmt.Errorf("data folder: %w", err)
		}
		s.dataDir, s.temporary = dir.Path(), dir
	}
	s.sandbox = s.temporary != nil && !opts.Outside
	for _, m := range makers {
		if !slices.Contains(opts.Families, m.Name) {
			continue
		}
		f, err := m.Make(&Setup{srv: s})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("family %s: %w", m.Name, err), s.Close())
		}
		s.families = append(s.families, f)
	}
	s.families = append(s.families, opts.Extra...)
	if err := s.build(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// build makes the endpoints and their middleware.
func (s *Server) build() (err error) {
	s.events = newEventStore(maxEventBytes)
	s.limit = newSessionLimit(s.opts.MaxSessions, s.opts.MaxSessionsPerAddress, s.opts.SessionIdle)
	if s.root, err = newEndpoint(s, s.families); err != nil {
		return err
	}
	s.mounts = map[string]*endpoint{Path: s.root}
	for _, f := range s.families {
		if s.mounts[Path+"/"+f.Name], err = newEndpoint(s, []*family.Family{f}); err != nil {
			return err
		}
	}
	if s.opts.SSE {
		s.sse = front.NewSSE(front.SSEOptions{
			Backend: s.root, Session: s.root.serveSession, MaxBytes: s.opts.MaxMessageBytes,
			Grace: s.opts.ShutdownGrace,
		})
	}
	opts := front.GateOptions{AllowedHosts: s.opts.AllowedHosts, Token: s.opts.Token, MaxBytes: s.opts.MaxMessageBytes}
	if s.guard != nil {
		opts.Authenticate = func(next http.Handler) http.Handler { return s.public(s.guard.Authenticate(next)) }
	}
	s.gate = front.NewGate(opts)
	return nil
}

// protect makes the guard of a protected resource.
func (s *Server) protect() (err error) {
	s.own = rand.Text()
	s.guard, err = guard.New(guard.Options{
		Issuer: s.opts.OAuth.Issuer, Resource: s.resource, Scopes: s.opts.OAuth.Scopes, ToolScopes: s.opts.OAuth.ToolScopes,
		Own: s.own, MaxBytes: s.maxBytes(), Logger: s.log,
	})
	return err
}

// lives returns a context that ends with ctx or with the server.
func (s *Server) lives(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// DataDir returns the folder the server keeps its data in, and whether all that
// its tools store is temporary: gone after [Server.Close].
func (s *Server) DataDir() (dir string, temporary bool) {
	return s.dataDir, s.sandbox
}

// runs reports whether the HTTP session with an id is open at any endpoint.
func (s *Server) runs(session string) bool {
	for _, e := range s.mounts {
		if _, ok := e.sessions.find(session); ok {
			return true
		}
	}
	return false
}

// ServeStdio serves a pair of streams, until in ends or ctx is done; both are a
// clean end, with a nil error. Calls that run at that moment are answered first,
// for up to ShutdownGrace. If in is an io.Closer it is closed at the end; out
// never is.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	t := &front.Stdio{
		In: in, Out: out, Backend: s.root, Session: s.root.serveSession,
		MaxBytes: s.opts.MaxMessageBytes, Stop: ctx.Done(), Grace: s.opts.ShutdownGrace,
	}
	return t.Serve(context.WithoutCancel(ctx)) // its sessions outlive ctx, to drain
}

// Close ends every session, lets the families finish what calls left to be
// done, and removes the data folder if it is a temporary one. Calls still
// running are cancelled after ShutdownGrace; their answers are lost (ServeStdio
// and Serve wait for them before they return).
func (s *Server) Close() error {
	s.once.Do(func() {
		s.closeSessions()
		for _, e := range s.mounts {
			e.sessions.wait()
		}
		s.abort()
		var errs []error
		if s.tasks != nil { // they use the families
			errs = append(errs, s.finish("tasks", s.tasks.Close))
		}
		for _, f := range slices.Backward(s.families) {
			if f.Close != nil {
				errs = append(errs, s.finish("family "+f.Name, f.Close))
			}
		}
		for _, c := range slices.Backward(s.closers) {
			errs = append(errs, s.finish(c.name, c.close))
		}
		if s.temporary != nil {
			errs = append(errs, s.temporary.Close())
		}
		s.close = errors.Join(errs...)
	})
	return s.close
}

// finish runs one of the steps of Close, for up to ShutdownGrace. One that does
// not heed its context is left behind.
func (s *Server) finish(name string, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.ShutdownGrace) //nolint:forbidigo // the end of the server has no other bound
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- step(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select { // it may have heeded ctx
		case err = <-done:
		case <-time.After(time.Second):
			err = ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("closing %s: %w", name, err)
	}
	return nil
}

// closeSessions ends every session, waiting up to ShutdownGrace for the calls
// that run and then cancelling them.
func (s *Server) closeSessions() {
	defer time.AfterFunc(s.opts.ShutdownGrace, s.abort).Stop()
	for _, e := range s.mounts {
		for session := range e.mcp.Sessions() {
			if err := session.Close(); err != nil && !errors.Is(err, io.EOF) {
				s.log.Warn("session_close_failed", "error", err.Error())
			}
		}
	}
}
