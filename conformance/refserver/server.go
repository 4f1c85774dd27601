package refserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/front"
)

// The server's name and version in serverInfo.
const (
	Name    = "mainstay-refserver"
	Version = "0.1.0"
)

// Options configures a [Server]. The zero value is a server with every family
// on a fresh temporary folder that [Server.Close] removes.
type Options struct {
	// Families are the families to serve; nil is [Families].
	Families []string
	// DataDir holds what the tools store, in a folder per family. Empty is a
	// fresh temporary folder.
	DataDir string
	// ArtifactsDir is ARTIFACTS_BASE_DIR: where store_artifact writes, instead
	// of DataDir/artifacts.
	ArtifactsDir string
	// ChecklistDir is VALIDATION_RESOURCES_DIR: where validate_artifact reads
	// its checklists, instead of the ones built in.
	ChecklistDir string
	// Logger gets the JSON lines of [NewLogger]; nil drops them.
	Logger *slog.Logger
	// AllowedHosts are accepted in Host and Origin besides loopback names.
	AllowedHosts []string
	// MaxMessageBytes bounds a line and a body; 0 is 16 MiB.
	MaxMessageBytes int
	// ShutdownGrace bounds the wait for running calls; 0 is 10 s.
	ShutdownGrace time.Duration

	// extra are families of the tests.
	extra []*family.Family
}

// Server is the reference server. It serves any number of sessions at once,
// over stdio and HTTP; all methods are safe for concurrent use.
type Server struct {
	opts      Options
	log       *slog.Logger
	mcp       *mcp.Server
	front     *front.HTTP
	families  []*family.Family
	dataDir   string
	temporary bool // dataDir is removed at the end
	sandbox   bool // nothing a tool stores outlives the server

	// life is the context of every call; abort ends it. go-sdk lets calls run
	// on when their session is closed, and waits for them.
	life  context.Context
	abort context.CancelFunc

	ready readySet
	once  sync.Once
	close error
}

// New returns a server. An unknown family or a data folder that cannot be made
// is an error. The caller closes the server.
func New(opts Options) (*Server, error) {
	if opts.Families == nil {
		opts.Families = Families()
	}
	if err := CheckFamilies(opts.Families); err != nil {
		return nil, err
	}
	if opts.ShutdownGrace == 0 {
		opts.ShutdownGrace = 10 * time.Second
	}
	s := &Server{opts: opts, log: opts.Logger, dataDir: opts.DataDir}
	s.life, s.abort = context.WithCancel(context.Background()) //nolint:forbidigo // it lives as long as the server, whoever makes it
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.dataDir == "" {
		dir, err := os.MkdirTemp("", "mainstay-refserver-")
		if err != nil {
			return nil, fmt.Errorf("data folder: %w", err)
		}
		s.dataDir, s.temporary = dir, true
	}
	s.sandbox = s.temporary && opts.ArtifactsDir == ""
	for _, m := range makers {
		if !slices.Contains(opts.Families, m.name) {
			continue
		}
		f, err := m.make(setup{Options: &s.opts, log: s.log, data: s.dataDir})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("family %s: %w", m.name, err), s.Close())
		}
		s.families = append(s.families, f)
	}
	s.families = append(s.families, opts.extra...)
	s.build()
	return s, nil
}

// build makes the go-sdk server and the HTTP handler before it.
func (s *Server) build() {
	opts := &mcp.ServerOptions{
		Capabilities:              s.capabilities(),
		InitializedHandler:        s.initialized,
		SupportedProtocolVersions: sessionVersions(),
		Logger:                    slog.New(slog.DiscardHandler), // go-sdk's own log is not in our form
	}
	for _, f := range s.families {
		if f.Configure != nil {
			f.Configure(opts)
		}
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: Name, Title: "Mainstay reference server", Version: Version}, opts)
	for _, f := range s.families {
		for i := range f.Tools {
			s.addTool(f, &f.Tools[i])
		}
		for i := range f.Resources {
			s.addResource(f, &f.Resources[i])
		}
	}
	s.mcp.AddReceivingMiddleware(s.guard)
	session := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s.mcp },
		&mcp.StreamableHTTPOptions{
			EventStore:                 mcp.NewMemoryEventStore(nil), // without it no priming event is sent
			MaxRequestBodyBytes:        -1,                           // the front has read and bounded the body
			DisableLocalhostProtection: true,                         // the front checks Host, with AllowedHosts
			SessionTimeout:             time.Hour,
		})
	s.front = front.NewHTTP(session, front.HTTPOptions{
		Methods:      served,
		HasSession:   s.hasSession,
		MaxBytes:     s.opts.MaxMessageBytes,
		AllowedHosts: s.opts.AllowedHosts,
	})
}

// capabilities announces the error profile of each tool (tools.md §1.2) and,
// when the data are temporary, that a conformance run may call every tool
// (decisions 31).
func (s *Server) capabilities() *mcp.ServerCapabilities {
	profiles := map[string]any{}
	for _, f := range s.families {
		for i := range f.Tools {
			profiles[f.Tools[i].Name] = f.Profile
		}
	}
	experimental := map[string]any{"errorProfiles": profiles}
	if s.sandbox {
		experimental["conformance"] = map[string]any{"sideEffects": "all"}
	}
	return &mcp.ServerCapabilities{
		Experimental: experimental,
		Tools:        &mcp.ToolCapabilities{},
		Resources:    &mcp.ResourceCapabilities{},
	}
}

// DataDir returns the folder the server keeps its data in, and whether all that
// its tools store is temporary: gone after [Server.Close].
func (s *Server) DataDir() (dir string, temporary bool) {
	return s.dataDir, s.sandbox
}

// ServeStdio serves one session over a pair of streams, until in ends or ctx
// is done; both are a clean end, with a nil error. Calls that run at that
// moment are answered first, for up to ShutdownGrace. If in is an io.Closer it
// is closed at the end; out never is.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	t := &front.Stdio{
		In: in, Out: out, Methods: served,
		MaxBytes: s.opts.MaxMessageBytes, Stop: ctx.Done(), Grace: s.opts.ShutdownGrace,
	}
	// The session must outlive ctx: its end is the front's, which drains.
	session, err := s.mcp.Connect(context.WithoutCancel(ctx), t, nil)
	if err != nil {
		return err
	}
	return session.Wait()
}

// Close ends every session and removes the data folder if it is a temporary
// one. Calls still running are cancelled after ShutdownGrace; their answers
// are lost (ServeStdio and Serve wait for them before they return).
func (s *Server) Close() error {
	s.once.Do(func() {
		s.closeSessions()
		s.ready.wait()
		s.abort()
		if s.temporary {
			s.close = os.RemoveAll(s.dataDir)
		}
	})
	return s.close
}

// closeSessions ends every session, waiting up to ShutdownGrace for the calls
// that run and then cancelling them.
func (s *Server) closeSessions() {
	defer time.AfterFunc(s.opts.ShutdownGrace, s.abort).Stop()
	for session := range s.mcp.Sessions() {
		if err := session.Close(); err != nil && !errors.Is(err, io.EOF) {
			s.log.Warn("session_close_failed", "error", err.Error())
		}
	}
}

func (s *Server) hasSession(id string) bool {
	for session := range s.mcp.Sessions() {
		if session.ID() == id {
			return true
		}
	}
	return false
}
