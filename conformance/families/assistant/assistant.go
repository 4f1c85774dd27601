// Package assistant is the S4 family: agents that answer chats save the files
// they generate with save_artifact, over this server (tools.md part 6).
package assistant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/agent"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/mcpconfig"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/registry"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/backend"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Name is the family's name, and that of its error profile.
const Name = "assistant"

// DefaultBaseURL is where S4's server listens.
const DefaultBaseURL = "http://127.0.0.1:8000"

// pinnedThread is the thread of [Options.SessionToken].
const pinnedThread = "conformance"

// Options configures the family.
type Options struct {
	// Store keeps the artifacts; the caller closes it. Nil is an SQLite file in
	// DataDir, closed by the family.
	Store store.ArtifactStore
	// DataDir is the data folder; it is not used when there is a Store.
	DataDir string
	// BaseURL returns where this server is reached, without a path; it is asked
	// when an agent runs, since a server learns its port when it listens. Nil
	// and empty are DefaultBaseURL.
	BaseURL func() string
	// Bearer is the token this server asks of HTTP requests. Agents get it by
	// the environment, never by an argument.
	Bearer string
	// Program is the command-line program of an agent; empty is the scripted
	// agent, which needs nothing. Model is the model the program uses.
	Program, Model string
	// SessionToken is a session token that is always valid, for tests of a
	// server from outside: what it saves belongs to thread "conformance".
	// Empty, the default, is none.
	SessionToken string
	// Registry holds the tokens; nil is a fresh one. Over stdio there is no
	// chat, and a program around the server registers tokens here.
	Registry *registry.Registry
	// Logger gets what happens in chats; nil drops it.
	Logger *slog.Logger

	// runner replaces the agent in tests.
	runner agent.Runner
}

// New returns the family. The caller closes it.
func New(opts Options) (*family.Family, error) {
	s, err := newService(opts)
	if err != nil {
		return nil, err
	}
	return s.family(), nil
}

func (s *service) family() *family.Family {
	return &family.Family{
		Name: Name, Profile: Name,
		Tools: []family.Tool{s.saveTool()},
		Routes: map[string]http.Handler{
			"POST /api/threads/{thread_id}/chat": http.HandlerFunc(s.chat),
			"GET /api/artifacts/{id}":            http.HandlerFunc(s.artifact),
		},
		Close: s.close,
	}
}

// service is what the tool and the routes share.
type service struct {
	store  store.ArtifactStore
	tokens *registry.Registry
	runner agent.Runner
	log    *slog.Logger
	shut   func() error // closes the store, when it is ours

	// maxContent is the constant, but in tests.
	maxContent int

	// life ends the chats when the family is closed.
	life  context.Context
	abort context.CancelFunc
	mu    sync.Mutex
	ended bool
	chats sync.WaitGroup
}

func newService(opts Options) (*service, error) {
	s := &service{store: opts.Store, tokens: opts.Registry, runner: opts.runner, log: opts.Logger, shut: func() error { return nil }, maxContent: maxContent}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.tokens == nil {
		s.tokens = registry.New()
	}
	if opts.SessionToken != "" {
		if err := s.tokens.Pin(opts.SessionToken, pinnedThread); err != nil {
			return nil, fmt.Errorf("session token: %w", err)
		}
	}
	if s.runner == nil {
		s.runner = newRunner(opts)
	}
	s.life, s.abort = context.WithCancel(context.Background()) //nolint:forbidigo // it lives as long as the family, regardless of who makes it
	if s.store == nil {
		if err := s.open(opts.DataDir); err != nil {
			s.abort()
			return nil, err
		}
	}
	return s, nil
}

// open opens a store of the family's own.
func (s *service) open(dir string) error {
	if dir == "" {
		return errors.New("assistant: neither a store nor a data folder is given")
	}
	ctx, cancel := context.WithTimeout(s.life, 30*time.Second)
	defer cancel()
	st, err := backend.Open(ctx, backend.Options{Dir: dir})
	if err != nil {
		return fmt.Errorf("assistant: %w", err)
	}
	s.store, s.shut = st, st.Close
	return nil
}

func newRunner(opts Options) agent.Runner {
	config := func() string { return Config(opts.BaseURL, opts.Bearer != "").String() }
	if opts.Program == "" {
		return &agent.Scripted{Config: config, Getenv: func(name string) string {
			if name == agent.Variable {
				return opts.Bearer
			}
			return ""
		}}
	}
	var env []string
	if opts.Bearer != "" {
		env = append(os.Environ(), agent.Variable+"="+opts.Bearer)
	}
	return &agent.Program{Path: opts.Program, Model: opts.Model, Config: config, Env: env}
}

// Config returns the mcp-config of agents: this server, at exactly /mcp, the
// same for every request (pitfalls 1 and 7).
func Config(baseURL func() string, bearer bool) mcpconfig.Config {
	base := DefaultBaseURL
	if baseURL != nil {
		if u := baseURL(); u != "" {
			base = u
		}
	}
	server := mcpconfig.Server{Type: mcpconfig.HTTP, URL: strings.TrimRight(base, "/") + "/mcp"}
	if bearer {
		server.Headers = map[string]string{"Authorization": "Bearer ${" + agent.Variable + "}"}
	}
	return mcpconfig.Config{Servers: map[string]mcpconfig.Server{"assistant": server}}
}

// enter counts a chat, unless the family is closed.
func (s *service) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.chats.Add(1)
	return true
}

// close ends the chats, waits for them, and closes the store if it is ours.
func (s *service) close(ctx context.Context) error {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.abort()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.chats.Wait()
	}()
	select {
	case <-done:
		return s.shut()
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), s.shut())
	}
}
