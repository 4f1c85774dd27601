package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Option configures a client. Connect fails if an option is invalid; no option panics. An
// option that takes a struct changes only the parts that the struct sets, so that options
// add to each other.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// config holds what the options set. newConfig adds the defaults.
type config struct {
	logger     *slog.Logger
	resilience *Resilience
	cache      *cache.Cache // nil: one of the client's own
	noPreload  bool
	validation Validation
	nameless   bool // no clientInfo on requests
	*connecting
	*uncommon
}

// connecting holds the options for opening a connection. A client that cannot reconnect
// drops it after Connect.
type connecting struct {
	name       string // of the server, "" for the name of its transport
	version    string
	versionBy  string // the option or variable that set it
	era        eraOptions
	trace      transport.Trace
	authorizer transport.Authorizer
}

// uncommon holds the options that most clients do not set. Those clients share [theUsual],
// which must not be changed.
type uncommon struct {
	info       mcp.Implementation
	offer      ask.Offer
	nextID     func() jsonrpc.ID // nil for run.NextID
	limits     ServerLimits
	required   []string
	caching    CacheConfig // except NoPreload and Shared
	profile    mcperrors.Profile
	middleware []Middleware
	chain      Next // of the middleware, nil for none
	meter      Meter
	keyPrefix  string // of idempotency keys
	keysSet    bool

	handlers inbound.Handlers
}

// theUsual is shared by the clients that set no uncommon option.
var theUsual = func() *uncommon {
	u := &uncommon{}
	_ = u.complete() // the defaults are valid
	return u
}()

// complete sets the defaults.
func (u *uncommon) complete() error {
	if u.info.Name == "" && u.info.Version == "" {
		u.info.Name, u.info.Version = "mainstay", Version
	}
	if u.required == nil {
		u.required = []string{"tools"}
	}
	if u.limits.MemoryBytes == 0 {
		u.limits.MemoryBytes = defaultMemoryLimit
	}
	u.offer.Limits = ask.Limits{Concurrent: u.limits.Handlers, PerMinute: u.limits.QuestionsPerMinute, Rounds: u.limits.Rounds}
	return u.offer.Complete()
}

// WithLogger makes the client log connections, version mismatches, breaker
// transitions and faults of the server. By default it logs nothing.
//
// The handler runs on its own goroutine: a slow one delays neither calls nor
// the reading of messages. The client limits each kind of line to a burst of
// 10 and then one a second; "count" on a line is the number of lines dropped.
// Close waits for the handler for at most one second.
func WithLogger(l *slog.Logger) Option { return optionFunc(func(c *config) { c.logger = l }) }

// maxName is the most characters of a name.
const maxName = 100

// WithName sets what the client calls its server: in errors, events, log lines, requests
// for input ([Requester]), health, the name of its circuit, spans and metrics. Choose names
// that tell the servers of a program apart, such as the keys of its configuration. A name
// has at most 100 characters, none of them a control or format character, and not only
// spaces; with any other name Connect fails with E203. "" is the default:
// the URL without its query, or the path of the program. Package pool gives each server its
// name in the pool.
//
// The name is not sent to the server, and caches do not use it.
func WithName(name string) Option { return optionFunc(func(c *config) { c.name = name }) }

// WithClientInfo sets the name and version that the client reports to servers.
// The default is "mainstay" and [Version]. The zero Implementation omits both from the
// requests of the stateless era; in the session era, initialize then carries the default.
func WithClientInfo(info mcp.Implementation) Option {
	return optionFunc(func(c *config) {
		if c.nameless = info.Name == "" && info.Version == ""; !c.nameless {
			c.info = info
		}
	})
}

// WithRequiredCapabilities replaces the capabilities that a server must
// declare, in the form of [mcp.ServerCapabilities.Has]. Without them Connect
// fails with E205. The default is "tools"; with no names the client requires
// nothing.
func WithRequiredCapabilities(names ...string) Option {
	return optionFunc(func(c *config) { c.required = append([]string{}, names...) })
}

// AutoVersion makes the client negotiate the revision; see
// [WithProtocolVersion].
const AutoVersion = "auto"

// WithProtocolVersion pins the revision, and with it the era. The client
// offers a pinned revision of the session era in initialize, without a probe.
// It speaks a pinned revision of the stateless era at once, without a
// fallback. If the server answers that it speaks only the other era, Connect fails, and
// the error names the pinned revision, what the server answered and the option to change.
// A server without server/discover does not answer that: the client uses it in the pinned
// era and logs a warning, and errors of its calls name the pinned revision.
//
// The default is [AutoVersion]. The option overrides the environment variable
// MCP_PROTOCOL_VERSION. [Negotiated] reports the outcome.
func WithProtocolVersion(version string) Option {
	return optionFunc(func(c *config) { c.version = version })
}

// defaultMemoryLimit is the default of [ServerLimits].MemoryBytes.
const defaultMemoryLimit = 64 << 20

// WithIDs replaces the generator of request ids. The default is UUID v4
// strings. next is called once for each request, on its own goroutine, concurrently
// with other requests, and must never repeat an id. If it panics, the request gets a UUID.
//
// # Experimental
//
// WithIDs may change or go.
func WithIDs(next func() jsonrpc.ID) Option { return optionFunc(func(c *config) { c.nextID = next }) }

// WithResilience sets deadlines, circuit breakers, retries, restarts and
// limits. Fields that r leaves zero have their defaults; see [Resilience].
//
//	r := client.Resilience{MaxTime: time.Minute}
//	c, err := client.Dial(ctx, url, client.WithResilience(r))
func WithResilience(r Resilience) Option {
	return optionFunc(func(c *config) {
		if c.resilience == nil {
			c.resilience = &Resilience{}
		}
		overlay(c.resilience, r)
	})
}

// WithErrorProfile sets what the server's own error codes mean. The default is
// [mcperrors.Plain]: only the codes of JSON-RPC and MCP have a meaning. The client
// ignores profiles that the server or a tool names.
//
// A profile may promise that the server did nothing. The client then retries calls that it
// would not retry otherwise; see [mcperrors.Meaning].
func WithErrorProfile(p mcperrors.Profile) Option {
	if p == mcperrors.Plain {
		p = nil // skips reading the results of tools
	}
	return optionFunc(func(c *config) { c.profile = p })
}

// WithAuthorizer sets what gives HTTP requests their credentials and logs in when the
// server asks for it, for example WithAuthorizer(auth.Login()). It replaces the Authorizer
// of a [transport.HTTP] or [transport.SSE]. Other transports have none, and Connect fails
// with E203.
//
// Package auth makes Authorizers: auth.Login and the other flows of OAuth obtain tokens,
// and auth.Bearer sends tokens that the application has. For keys in other headers use
// HeaderFunc of [transport.HTTP], whose docs say how often both are called.
func WithAuthorizer(a transport.Authorizer) Option {
	return optionFunc(func(c *config) { c.authorizer = a })
}

// WithTrace passes all traffic to t. Sending and reading wait for its
// functions, so they must not block; see [transport.Trace].
func WithTrace(t transport.Trace) Option { return optionFunc(func(c *config) { c.trace = t }) }

// OnNotification registers a handler for every notification from the server
// except progress.
//
// Handlers run one after the other, in order of arrival, and never on the
// goroutine that reads. ctx ends with the client. If the notification came on the
// stream of a call (streamable HTTP), ctx has the values of the context of that
// call. While a handler runs,
// further notifications are queued; beyond 1,024 the oldest are dropped and
// logged. If a handler panics or ends its goroutine, only its own notification
// is lost; see [CallbackFailed].
func OnNotification(f func(ctx context.Context, n jsonrpc.Notification)) Option {
	return optionFunc(func(c *config) { c.handlers.Notification = f })
}

// OnLog registers a handler for the server's log messages; see
// [OnNotification].
func OnLog(f func(ctx context.Context, m mcp.LoggingMessageParams)) Option {
	return optionFunc(func(c *config) { c.handlers.Log = f })
}

// OnListChanged registers a handler for list changes; method is that of the
// notification. The client has invalidated its schema cache before the call.
// See [OnNotification].
func OnListChanged(f func(ctx context.Context, method string)) Option {
	return optionFunc(func(c *config) { c.handlers.ListChanged = f })
}

// overlay copies the fields of set that are not zero to onto, and so in nested structs.
func overlay[T any](onto *T, set T) {
	overlayValue(reflect.ValueOf(onto).Elem(), reflect.ValueOf(set))
}

func overlayValue(onto, set reflect.Value) {
	for i := range set.NumField() {
		switch f := set.Field(i); {
		case f.IsZero():
		case f.Kind() == reflect.Struct:
			overlayValue(onto.Field(i), f)
		default:
			onto.Field(i).Set(f)
		}
	}
}

// newConfig applies options and the environment, and checks the result.
func newConfig(opts []Option) (*config, error) {
	c := &config{connecting: &connecting{}, uncommon: &uncommon{}}
	c.era.store = processEraStore()
	for _, o := range opts {
		if o != nil {
			o.apply(c)
		}
	}
	if c.logger == nil {
		c.logger = silence
	}
	var bounds error
	if c.resilience == nil {
		c.resilience = &theUsualBounds
	} else {
		bounds = c.resilience.check()
		settled := c.resilience.settled()
		c.resilience = &settled
	}
	var linked error
	c.chain, linked = chainOf(c.middleware)
	var incomplete error
	if reflect.ValueOf(*c.uncommon).IsZero() {
		c.uncommon = theUsual // complete, and shared: other clients read it
	} else {
		incomplete = c.complete()
	}
	return c, errors.Join(linked, incomplete, bounds, c.check(), c.checkKeys(), c.checkPins(), c.completeVersion(), c.checkCache())
}

// silence is the logger of clients without one.
var silence = slog.New(slog.DiscardHandler)

func (c *config) check() error {
	switch {
	case jsonrpc.Printable(c.name, maxName) != c.name || c.name != "" && strings.TrimSpace(c.name) == "":
		return fmt.Errorf("WithName: a name has at most %d characters, none of them a control or format character, and not only spaces; %q is not one", maxName, jsonrpc.Printable(c.name, maxName))
	case c.era.probe.Timeout < 0:
		return errors.New("WithProbe: a timeout must not be negative; 0 is the default")
	case c.info.Name == "" || c.info.Version == "":
		return errors.New("WithClientInfo: a name and a version are required, or neither")
	case max(c.validation.Arguments, c.validation.Results) > ValidateOff:
		return fmt.Errorf("unknown validation mode %d", max(c.validation.Arguments, c.validation.Results))
	}
	return nil
}

func (c *config) completeVersion() error {
	c.versionBy = "WithProtocolVersion"
	if c.version == "" {
		c.versionBy = "MCP_PROTOCOL_VERSION"
		c.version = os.Getenv(c.versionBy)
	}
	if c.version == AutoVersion {
		c.version = ""
	}
	if v := mcp.Version(c.version); v != "" && !v.Known() {
		return fmt.Errorf("%s: revision %q is not known; known are %v, or %q", c.versionBy, c.version, mcp.Versions(), AutoVersion)
	}
	return nil
}

// guardHooks protects the client from panics of the application's functions.
func (c *config) guardHooks(failed func(*callback.Error)) {
	c.logger = callback.Logger(c.logger, failed)
	if next := c.nextID; next != nil {
		c.nextID = func() (id jsonrpc.ID) {
			if !callback.Aside("WithIDs", failed, func() { id = next() }) {
				id = run.NextID()
			}
			return id
		}
	}
	if c.meter != nil {
		c.meter = guardedMeter{failed, c.meter}
	}
	if p := c.profile; p != nil {
		c.profile = mcperrors.ProfileFunc(func(r mcperrors.Report) (m mcperrors.Meaning) {
			callback.Run("WithErrorProfile", failed, func() { m = p.Meaning(r) })
			return m
		})
	}
}
