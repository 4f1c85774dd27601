package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Option configures a proxy.
type Option func(*settings)

type settings struct {
	log            *slog.Logger
	token          string
	hosts          []string
	maxSessions    int
	sessionTimeout time.Duration
	idleStop       time.Duration
	hostTimeout    time.Duration                 // 0 for none
	cache          toolcache.Store               // nil for none
	identity       string                        // of the server and its credentials in the cache
	observer       func(context.Context, Record) // nil for none
	stats          *Stats
	share          bool     // one server for all hosts
	checkArguments bool     // by the client
	forward        []string // names of headers
}

func newSettings(opts []Option) settings {
	set := settings{log: slog.New(slog.DiscardHandler), maxSessions: 256, sessionTimeout: 10 * time.Minute, idleStop: defaultIdleStop, stats: new(Stats)}
	for _, opt := range opts {
		opt(&set)
	}
	return set
}

// WithLogger sets where the proxy and its clients log. By default they do not log. The
// output must not be the stream to the host.
func WithLogger(l *slog.Logger) Option { return func(s *settings) { s.log = l } }

// WithToken makes a [Handler] refuse requests without this token, which hosts send as
// "Authorization: Bearer TOKEN". It never reaches the server. By default there is none:
// every program that can connect can use the server.
func WithToken(token string) Option { return func(s *settings) { s.token = token } }

// WithAllowedHosts sets the names, without ports, under which a [Handler] may be reached besides
// localhost and loopback addresses. Requests with another Host or Origin are refused, because a
// web page could reach the proxy under a name of its own.
func WithAllowedHosts(names ...string) Option {
	return func(s *settings) {
		for _, name := range names {
			s.hosts = append(s.hosts, strings.ToLower(strings.Trim(name, "[]")))
		}
	}
}

// WithSessionLimit sets how many sessions a [Handler] has at once, 256 by default, each with a
// server of its own. A new one ends the one that was unused for the longest time; if all are
// used, it is refused with 503. One address that is not loopback gets a quarter of them.
func WithSessionLimit(n int) Option { return func(s *settings) { s.maxSessions = max(1, n) } }

// WithSessionTimeout sets after what time without requests and streams a session of a [Handler]
// ends, 10 minutes by default. The host then opens another.
func WithSessionTimeout(d time.Duration) Option { return func(s *settings) { s.sessionTimeout = d } }

// WithArgumentCheck makes the proxy check the arguments of a tool against the tool's schema, as
// [client.Client.CallTool] does. Arguments that do not match are not sent: the host gets a result
// with isError that names each place. By default the server judges them.
func WithArgumentCheck() Option { return func(s *settings) { s.checkArguments = true } }

// WithForwardedHeaders makes a [Handler] pass these headers of its hosts on to a server behind a
// URL: with a call those of the request that made it, and with all else that a session host's own
// server gets, those of initialize. What belongs to no host has none of them. By default no header
// crosses.
//
// It fails for headers that must not cross: those of credentials, cookies, the connection and the
// protocol. [URL] adds the headers. A [Target] of your own does it with [ForwardedHeaders].
func WithForwardedHeaders(names ...string) (Option, error) {
	var all []string
	for _, name := range names {
		canonical := http.CanonicalHeaderKey(name)
		if err := checkForwarded(canonical); err != nil {
			return nil, err
		}
		all = append(all, canonical)
	}
	return func(s *settings) { s.forward = append(s.forward, all...) }, nil
}

// WithHostTimeout sets how long hosts wait for an answer, if that is known. A request that the
// server has not answered shortly before (a tenth of d, at most 2 s) is cancelled at the server,
// and the host gets the truth: whether the request may have run. By default, and for 0, requests
// have no time-out of the proxy.
//
// Set it for hosts that do not start their time-out again when they hear of progress.
func WithHostTimeout(d time.Duration) Option {
	return func(s *settings) { s.hostTimeout = max(0, d-min(d/10, 2*time.Second)) }
}

var errHostTimeout = errors.New("the host does not wait longer")

// untilTimeout bounds a request by the time-out of the host.
func (s settings) untilTimeout(ctx context.Context, method string) (context.Context, context.CancelFunc) {
	if s.hostTimeout == 0 || method == mcp.MethodSubscriptionsListen { // which lasts
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.hostTimeout, errHostTimeout)
}

// timedOut returns the error of a request, which tells of the time-out if that has ended it.
func (s settings) timedOut(ctx context.Context, err error) error {
	if !errors.Is(context.Cause(ctx), errHostTimeout) {
		return err
	}
	delivery := mcperrors.Unknown
	var own *mcperrors.Error
	if errors.As(err, &own) {
		delivery = own.Delivery
	}
	text := "the server was still not ready"
	switch delivery {
	case mcperrors.Answered: // just in time
		return err
	case mcperrors.Unknown:
		text = "the server was still running it, and got its cancellation,"
	case mcperrors.NotSent, mcperrors.Rejected:
	}
	late := mcperrors.New(mcperrors.CodeTimeout, mcperrors.KindTimeout, delivery, fmt.Sprintf("%s after %v; the host does not wait longer", text, s.hostTimeout), err)
	late.Retryable = delivery != mcperrors.Unknown
	return late
}
