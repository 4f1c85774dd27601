package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Options are what both services need.
type Options struct {
	// Name is the service, as the log names it.
	Name string
	// APIKey, when set, is the bearer token every endpoint but /health wants.
	APIKey string
	// Hosts are the names and IP addresses, without a port, the service is
	// called by besides those of loopback. Under any other it answers nobody.
	Hosts []string
	// Ping asks the database, for /health.
	Ping func(ctx context.Context) error
	// Timeout bounds a request. 0 is 10 s.
	Timeout time.Duration
	Logger  *slog.Logger
}

// A Route is an endpoint. Handle returns the body of a success and its status.
type Route struct {
	Method string
	// Path is a pattern of [http.ServeMux], without a method.
	Path   string
	Handle func(ctx context.Context, req *Request) (status int, body any, err error)
}

const (
	defaultTimeout = 10 * time.Second
	// healthTimeout keeps /health below its 100 ms (tools.md §2.9).
	healthTimeout = 80 * time.Millisecond
)

// Handler returns the handler of a service with the given routes.
func Handler(o Options, routes ...Route) http.Handler {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &service{Options: o, log: o.Logger.With(slog.String("service", o.Name))}
	byPath := map[string][]Route{}
	for _, r := range routes {
		byPath[r.Path] = append(byPath[r.Path], r)
	}
	// Methods are distinguished here, not by the mux: that would let HEAD into
	// GET, and GET /ids/next takes a number.
	mux := http.NewServeMux()
	for pattern, routes := range byPath {
		mux.Handle(pattern, s.dispatch(routes))
	}
	mux.Handle("/", s.endpoint(func(_ context.Context, req *Request) (int, any, error) {
		return 0, nil, NotFound("Not found: %s", clip(req.HTTP.URL.Path))
	}))
	open := http.NewServeMux()
	open.Handle("/health", http.HandlerFunc(s.health))
	open.Handle("/", s.authorized(mux))
	return s.guard(open)
}

type service struct {
	Options
	log *slog.Logger
}

// guard stands before everything: a panic becomes an answer, nothing is
// cached, and pages of other sites do not get in.
func (s *service) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				s.log.LogAttrs(r.Context(), slog.LevelError, "panic", slog.String("path", clip(r.URL.Path)),
					slog.String("error", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))
				_ = refuse(w, &Error{Status: http.StatusInternalServerError, Detail: "Internal server error"})
			}
		}()
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case s.foreign(r):
			_ = refuse(w, &Error{Status: http.StatusForbidden, Detail: "Requests of other sites are refused"})
		case path.Clean(r.URL.Path) != r.URL.Path: // the mux would redirect
			_ = refuse(w, NotFound("Not found: %s", clip(r.URL.Path)))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (s *service) authorized(next http.Handler) http.Handler {
	if s.APIKey == "" {
		return next
	}
	want := digest(s.APIKey)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || !sameDigest(digest(token), want) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.endpoint(func(context.Context, *Request) (int, any, error) {
				return 0, nil, &Error{Status: http.StatusUnauthorized, Detail: "Missing or wrong API key"}
			}).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *service) health(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		_ = refuse(w, notAllowed(r))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	body := map[string]any{"success": true, "status": "healthy", "service": s.Name, "database": "ok"}
	status := http.StatusOK
	if err := s.Ping(ctx); err != nil {
		s.log.LogAttrs(r.Context(), slog.LevelWarn, "unhealthy", slog.String("cause", err.Error()))
		status = http.StatusServiceUnavailable
		body = map[string]any{
			"success": false, "status": "unhealthy", "service": s.Name, "database": "unavailable",
			"error": "Database is unavailable", "detail": "Database is unavailable", "status_code": status,
		}
	}
	_ = write(w, status, body)
}

// dispatch chooses among the routes of one path.
func (s *service) dispatch(routes []Route) http.Handler {
	byMethod := map[string]http.Handler{}
	var methods []string
	for _, r := range routes {
		byMethod[r.Method] = s.endpoint(r.Handle)
		methods = append(methods, r.Method)
	}
	slices.Sort(methods)
	allow := strings.Join(methods, ", ")
	refused := s.endpoint(func(_ context.Context, req *Request) (int, any, error) { return 0, nil, notAllowed(req.HTTP) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := byMethod[r.Method]
		if h == nil {
			w.Header().Set("Allow", allow)
			h = refused
		}
		h.ServeHTTP(w, r)
	})
}

func notAllowed(r *http.Request) *Error {
	return &Error{Status: http.StatusMethodNotAllowed, Detail: fmt.Sprintf("Method not allowed: %s", clip(r.Method))}
}

// endpoint runs handle and writes the line of the request.
func (s *service) endpoint(handle func(ctx context.Context, req *Request) (int, any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
		defer cancel()
		req := newRequest(w, r, s.log)
		status, body, err := handle(ctx, req)
		level, outcome := slog.LevelInfo, []slog.Attr(nil)
		if err != nil {
			e := failure(ctx, err)
			status, outcome = e.Status, e.attrs()
			if level = slog.LevelWarn; status >= http.StatusInternalServerError {
				level = slog.LevelError
			}
			err = refuse(w, e)
		} else {
			err = write(w, status, body)
		}
		if err != nil {
			outcome = append(outcome, slog.String("write_error", err.Error()))
		}
		req.log.LogAttrs(ctx, level, "request", append([]slog.Attr{
			slog.String("method", clip(r.Method)), slog.String("path", clip(r.URL.Path)),
			slog.Int("status", status), slog.Bool("success", status < http.StatusBadRequest), req.Took(),
		}, outcome...)...)
	})
}
