// Package services runs the two REST services of S0, Task Tracking and ID
// Management, on listeners of their own: embedded in the reference server by
// default, so that nothing must be installed, and reached over HTTP like any
// others (tools.md §2.9, §2.10, decisions 7).
package services

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/api"
	"github.com/mainstay-mcp/mainstay/conformance/families/services/ids"
	"github.com/mainstay-mcp/mainstay/conformance/families/services/tasks"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// Where S0 has the services when they are not embedded.
const (
	DefaultTasksAddr = "127.0.0.1:8080"
	DefaultIDsAddr   = "127.0.0.1:8081"
)

// Options configure the services. Only Store is required.
type Options struct {
	// Store is what both services work on. It is the caller's to close, after
	// [Services.Close].
	Store store.Store
	// TasksAddr and IDsAddr are the addresses to listen on, host:port. Empty
	// is a free port of the loopback interface.
	TasksAddr, IDsAddr string
	// Hosts are the names and IP addresses, without a port, under which the
	// services are called besides loopback's and the one listened on. Who
	// listens on every interface is called from elsewhere under these alone.
	Hosts []string
	// APIKey, when set, is the bearer token the eight endpoints want.
	APIKey string
	// Reservation is how long a range of ids is held (RESERVATION_EXPIRATION_MINUTES).
	// 0 is 15 minutes.
	Reservation time.Duration
	// Cleanup is how often expired reservations and old keys are deleted. 0 is
	// 5 minutes; negative is never.
	Cleanup time.Duration
	// RequestTimeout bounds a request. 0 is 10 s.
	RequestTimeout time.Duration
	// Now is the clock expiries are measured by. Nil is [time.Now].
	Now func() time.Time
	// Logger takes a line for every request and every allocation. Nil is silence.
	Logger *slog.Logger
}

// Services are the two running services.
type Services struct {
	// TasksURL and IDsURL are the base URLs, without a slash at the end.
	TasksURL, IDsURL string

	servers []*http.Server
	stop    context.CancelFunc
	work    *work
	log     *slog.Logger
}

// Start starts both services and the cleanup. ctx bounds the start alone; the
// services run until [Services.Close].
func Start(ctx context.Context, o Options) (*Services, error) {
	if o.Store == nil {
		return nil, errors.New("services need a store")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Cleanup == 0 {
		o.Cleanup = defaultCleanup
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Services{stop: stop, work: newWork(), log: o.Logger}
	var err error
	s.TasksURL, err = s.serve(ctx, life, o, tasks.Name, o.TasksAddr, func(both api.Options) http.Handler {
		return tasks.Handler(tasks.Options{Options: both, Store: o.Store, Now: o.Now})
	})
	if err == nil {
		s.IDsURL, err = s.serve(ctx, life, o, ids.Name, o.IDsAddr, func(both api.Options) http.Handler {
			return ids.Handler(ids.Options{Options: both, Store: o.Store, Reservation: o.Reservation, Now: o.Now})
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	if o.Cleanup > 0 {
		c := cleaner{store: o.Store, every: o.Cleanup, now: o.Now, log: o.Logger.With(slog.String("service", ids.Name))}
		s.run(func() { c.run(life) })
	}
	return s, nil
}

// serve starts one service on addr and returns its base URL.
func (s *Services) serve(ctx, life context.Context, o Options, name, addr string, handler func(both api.Options) http.Handler) (string, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	tcp, ok := listener.Addr().(*net.TCPAddr)
	if ok && !tcp.IP.IsLoopback() && o.APIKey == "" {
		s.log.LogAttrs(ctx, slog.LevelWarn, "open_to_the_network", slog.String("service", name), slog.String("address", listener.Addr().String()))
	}
	hosts := slices.Clone(o.Hosts)
	if ok && !tcp.IP.IsUnspecified() {
		given, _, _ := net.SplitHostPort(addr) // Listen took it
		hosts = append(hosts, given, tcp.IP.String())
	}
	served := handler(api.Options{APIKey: o.APIKey, Hosts: hosts, Ping: o.Store.Ping, Timeout: o.RequestTimeout, Logger: o.Logger})
	server := &http.Server{
		Handler:           s.counted(served),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return life },
		ErrorLog:          slog.NewLogLogger(s.log.With(slog.String("service", name)).Handler(), slog.LevelWarn),
	}
	s.servers = append(s.servers, server)
	s.run(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.LogAttrs(life, slog.LevelError, "service_failed", slog.String("service", name), slog.String("error", err.Error()))
		}
	})
	return "http://" + reachable(listener.Addr()), nil
}

// reachable is an address a client can dial: a listener on every interface is
// reached over loopback.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
}

// run runs fn beside the caller, until [Services.Close].
func (s *Services) run(fn func()) {
	if !s.work.begin() {
		return
	}
	go func() {
		defer s.work.done()
		fn()
	}()
}

// counted lets Close know of the requests that run.
func (s *Services) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.work.begin() {
			panic(http.ErrAbortHandler) // its connection is closed already
		}
		defer s.work.done()
		next.ServeHTTP(w, r)
	})
}

// Close stops listening, lets the requests that run end, and stops the
// cleanup. When ctx ends first it cuts them off, and returns ctx's error. In
// both cases nothing uses the store afterwards; should a request not heed that
// it was cut off, the error reports it.
func (s *Services) Close(ctx context.Context) error {
	errs := make([]error, len(s.servers))
	var closing sync.WaitGroup
	for i, server := range s.servers {
		closing.Go(func() {
			if errs[i] = server.Shutdown(ctx); errs[i] != nil {
				errs[i] = errors.Join(errs[i], server.Close())
			}
		})
	}
	closing.Wait()
	s.stop()
	return errors.Join(errors.Join(errs...), s.work.end())
}
