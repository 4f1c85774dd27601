package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/notify"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Option sets up a client. Wrong options fail in Connect, none panics.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// config is everything options set. Its zero value is made usable by newConfig.
type config struct {
	logger     *slog.Logger
	nextID     func() jsonrpc.ID
	resilience *Resilience
	cache      *toolcache.Cache // nil: one of the client's own
	preload    bool
	noTokens   bool
	validation Validation // of arguments
	outputs    Validation
	strict     bool // results must say their type
	nameless   bool // no clientInfo on requests
	nulls      bool // arguments that are null may be left out
	// ownBreaker says that the client makes its breaker itself.
	ownBreaker bool
	*connecting
	*uncommon
}

// connecting is what is not needed any more once Connect has returned; config
// has none then.
type connecting struct {
	version string
	era     eraOptions
	trace   transport.Trace
	http    *transport.HTTP
	headers func(context.Context) (http.Header, error)
	command *transport.Command
}

// uncommon is what most clients leave alone: those share [theUsual], which
// nobody writes to.
type uncommon struct {
	info       mcp.Implementation
	offer      ask.Offer
	memory     int64 // bytes
	required   []string
	ttl        *time.Duration
	cacheSet   *toolcache.Settings
	partition  *string
	pins       map[string]string
	pinPolicy  PinPolicy
	profile    mcperrors.Profile
	keepAlive  time.Duration
	restart    Restart
	middleware []Middleware
	chain      Next // of the middleware, nil for none
	meter      Meter
	lanes      *lanes // nil when calls wait for nothing
	trusted    bool
	keyPrefix  string // of idempotency keys
	keysSet    bool

	handlers notify.Handlers
	onEvent  []func(context.Context, Event)
}

// theUsual is what a client has that sets nothing uncommon.
var theUsual = func() *uncommon {
	u := &uncommon{}
	_ = u.complete() // nothing is wrong with defaults
	return u
}()

// complete puts defaults where nothing is set.
func (u *uncommon) complete() error {
	if u.info.Name == "" && u.info.Version == "" {
		u.info.Name, u.info.Version = "mainstay", Version
	}
	if u.required == nil {
		u.required = []string{"tools"}
	}
	if u.memory == 0 {
		u.memory = DefaultMemoryLimit
	}
	return u.offer.Complete()
}

// WithLogger makes the client log: connections, version mismatches, breaker
// transitions, faults of the server. The default is silence.
//
// The handler runs on a goroutine of its own, so that a slow one delays neither
// calls nor the reading of messages. Of one kind of line the client logs 10 at
// once and one a second after that; a line with "count" says how many were
// dropped. Close waits for the handler, for a second at most.
func WithLogger(l *slog.Logger) Option { return optionFunc(func(c *config) { c.logger = l }) }

// WithClientInfo sets what the client calls itself; the default is mainstay
// and its version.
func WithClientInfo(info mcp.Implementation) Option {
	return optionFunc(func(c *config) { c.info = info })
}

// WithRequiredCapabilities replaces the capabilities a server must have, as
// [mcp.ServerCapabilities.Has] takes them. The default is "tools"; no names
// require nothing.
func WithRequiredCapabilities(names ...string) Option {
	return optionFunc(func(c *config) { c.required = append([]string{}, names...) })
}

// AutoVersion lets the client find out which revision to speak; see
// [WithProtocolVersion].
const AutoVersion = "auto"

// WithProtocolVersion pins the revision, and with it the era: a revision of the
// session era is offered in initialize, without a probe before it; one of the
// stateless era is spoken at once, without falling back. [AutoVersion]
// finds out, which is the default. It wins over the environment variable
// MCP_PROTOCOL_VERSION. See [Negotiated] for what was found out.
func WithProtocolVersion(version string) Option {
	return optionFunc(func(c *config) { c.version = version })
}

// WithPreload says whether Connect ends with a walk of tools/list; the default
// is true. Without it schemas are fetched when [Client.GetToolSchema] asks, and
// arguments are checked once they are known.
func WithPreload(on bool) Option { return optionFunc(func(c *config) { c.preload = on }) }

// WithToolCache shares a cache between clients. Those of one server share what it
// says to them when they are in the same partition; see [WithCachePartition].
func WithToolCache(cache *toolcache.Cache) Option {
	return optionFunc(func(c *config) { c.cache = cache })
}

// WithCachePartition says who asks, in a cache that is shared or durable: what a
// server says to one partition is not for another. Name the credentials, not
// their secret; "" is for servers that say the same to everybody.
//
// The default is a digest of the headers that [transport.HTTP] or [transport.SSE]
// is given, so that new credentials are a new partition. Name one where
// credentials are renewed and the caller stays the same, and where a RoundTripper
// or a transport of your own adds them: nobody else can know, and all such
// clients are in one partition. A durable cache refuses a RoundTripper without.
func WithCachePartition(name string) Option {
	return optionFunc(func(c *config) { c.partition = &name })
}

// WithToolCacheSettings sets up the cache of the client's own: stale answers, a
// durable store, which [WithCachePartition] keeps callers apart in, and which
// needs it where there is a RoundTripper. A TTL that it does not set is that of [WithToolCacheTTL]; where
// it has no StaleIf, old lists stand in only while the server cannot be reached,
// something before it answers with 429 or 5xx, or the circuit is open; its logger is the client's unless it has one.
func WithToolCacheSettings(s toolcache.Settings) Option {
	return optionFunc(func(c *config) { c.cacheSet = &s })
}

// WithToolCacheTTL sets how long tool schemas are fresh, 0 to ask the server
// each time. It wins over the environment variable MCP_TOOL_CACHE_TTL (a number
// of milliseconds or a Go duration); without both it is 5 minutes.
func WithToolCacheTTL(ttl time.Duration) Option {
	return optionFunc(func(c *config) { c.ttl = &ttl })
}

// DefaultMemoryLimit is the default of [WithMemoryLimit].
const DefaultMemoryLimit = 64 << 20

// WithMemoryLimit bounds the bytes that the server can make this client hold at
// the same time: answers of more than 16 KiB that are not complete, questions and
// notifications that wait for handlers, and lists while they are fetched. The
// default, also of 0, is 64 MiB; less than 0 is no bound.
//
// Answers over it wait, which holds the server back, until there is room or their
// calls end; see [transport.Budget]. The rest cannot wait and is refused, the newest
// first: a question with a JSON-RPC error, a notification is dropped and counted in
// the log, and a list fails. A call that fails for want of room has an error of kind
// overloaded, and its Delivery says whether it may have run. A higher MessageBytes of
// [transport.Limits] raises the limit, so that one message always fits.
//
// What is held can be more than the limit by one message, since one answer at a time
// may go on without room. Reading a message takes up to twice its size for a moment. A
// message that is read from a pipe is not counted. Over HTTP/2 up to 256 KiB of each
// answer that waits are not counted either, or what a RoundTripper of yours allows. What a
// call returned is the caller's and does not count.
func WithMemoryLimit(bytes int64) Option { return optionFunc(func(c *config) { c.memory = bytes }) }

// WithIDs replaces the generator of request ids, UUID v4 strings. It is called
// from many goroutines and must never repeat an id. Where it panics the request
// gets a UUID.
func WithIDs(next func() jsonrpc.ID) Option { return optionFunc(func(c *config) { c.nextID = next }) }

// WithResilience replaces [DefaultResilience] as a whole: begin with that and
// change what is to differ, for what r leaves out is off, the breaker included.
func WithResilience(r Resilience) Option {
	return optionFunc(func(c *config) { c.resilience = &r })
}

// WithValidation sets what happens to arguments that do not fit the tool's
// schema; the default is [ValidateStrict].
func WithValidation(v Validation) Option { return optionFunc(func(c *config) { c.validation = v }) }

// WithStrictResults refuses results of the stateless era that do not say their
// type, which the protocol asks for. The default takes them for complete, and
// logs the first: servers that forget it are many.
func WithStrictResults() Option { return optionFunc(func(c *config) { c.strict = true }) }

// WithoutClientInfo leaves what the client calls itself out of the requests of
// the stateless era. In the session era initialize always says it.
func WithoutClientInfo() Option { return optionFunc(func(c *config) { c.nameless = true }) }

// WithErrorProfile sets what the server's error codes mean. The default is
// [mcperrors.Plain]: the codes of JSON-RPC and MCP only, but for the tools of the
// document server, whose errors have its codes and texts. What a server or a tool
// says of its own profile is never obeyed. By [mcperrors.COE] the codes DB_LOCKED
// and RATE_LIMIT promise that nothing was done, and such calls are made again: set
// it for servers that keep that promise.
func WithErrorProfile(p mcperrors.Profile) Option {
	return optionFunc(func(c *config) { c.profile = p })
}

// WithTrace shows all traffic to t. Who sends or reads waits for its functions.
func WithTrace(t transport.Trace) Option { return optionFunc(func(c *config) { c.trace = t }) }

// WithHTTP sets how [Dial] reaches its server: headers, round tripper, limits.
// Its URL is set by Dial. Credentials go into its Header, such as Authorization.
func WithHTTP(h transport.HTTP) Option { return optionFunc(func(c *config) { c.http = &h }) }

// WithCommand sets how [DialCommand] runs its program: environment, folder,
// times, limits. Its Argv is set by DialCommand.
func WithCommand(cmd transport.Command) Option {
	return optionFunc(func(c *config) { c.command = &cmd })
}

// OnNotification is called for every notification of the server but progress.
// Handlers are called one after the other, in the order things came, never on
// the goroutine that reads; ctx ends with the client. While a handler runs,
// what comes is queued; beyond 1,024 the oldest are dropped and logged. A handler
// that panics or ends its goroutine costs nothing but its own notification; see
// [CallbackFailed].
func OnNotification(f func(ctx context.Context, n jsonrpc.Notification)) Option {
	return optionFunc(func(c *config) { c.handlers.Notification = f })
}

// OnLog is called for log messages of the server; see [OnNotification].
func OnLog(f func(ctx context.Context, m mcp.LoggingMessageParams)) Option {
	return optionFunc(func(c *config) { c.handlers.Log = f })
}

// OnListChanged is called when the server says that a list has changed; method
// is the notification's. The schema cache has been invalidated by then. See
// [OnNotification].
func OnListChanged(f func(ctx context.Context, method string)) Option {
	return optionFunc(func(c *config) { c.handlers.ListChanged = f })
}

// newConfig applies options and the environment and checks the outcome.
func newConfig(opts []Option) (*config, error) {
	c := blankConfig()
	c.preload, c.validation, c.outputs = true, ValidateStrict, ValidateStrict
	c.era.store = processEraStore()
	for _, o := range opts {
		if o != nil {
			o.apply(c)
		}
	}
	if c.logger == nil {
		c.logger = silence
	}
	if c.resilience == nil {
		c.resilience, c.ownBreaker = &defaultBounds, true
	}
	var linked error
	c.chain, linked = chainOf(c.middleware)
	c.lanes = c.resilience.lanes()
	if reflect.ValueOf(*c.uncommon).IsZero() {
		c.uncommon = theUsual
	}
	return c, errors.Join(linked, c.complete(), c.resilience.check(), c.check(), c.checkKeys(), c.era.check(), c.restart.check(), c.checkPins(), c.completeVersion(), c.completeCache())
}

// blankConfig is one that options can be applied to.
func blankConfig() *config { return &config{connecting: &connecting{}, uncommon: &uncommon{}} }

// silence is the logger of clients without one.
var silence = slog.New(slog.DiscardHandler)

func (c *config) check() error {
	switch {
	case c.keepAlive < 0:
		return errors.New("WithKeepAlive: the interval must not be negative; 0 switches it off")
	case c.info.Name == "" || c.info.Version == "":
		return errors.New("client info needs a name and a version")
	case c.validation > ValidateStrict || c.outputs > ValidateStrict:
		return fmt.Errorf("unknown validation mode %d", max(c.validation, c.outputs))
	case c.profile != "" && !c.profile.Known():
		return fmt.Errorf("unknown error profile %q", c.profile)
	}
	return nil
}

func (c *config) completeVersion() error {
	source := "WithProtocolVersion"
	if c.version == "" {
		source = "MCP_PROTOCOL_VERSION"
		c.version = os.Getenv(source)
	}
	if c.version == AutoVersion {
		c.version = ""
	}
	if v := mcp.Version(c.version); v != "" && !v.Known() {
		return fmt.Errorf("%s: revision %q is not known; known are %v, or %q", source, c.version, mcp.Versions(), AutoVersion)
	}
	return nil
}

func (c *config) completeCache() error {
	if c.cache != nil {
		if c.ttl != nil {
			return errors.New("WithToolCacheTTL has no effect on a cache given with WithToolCache; set the TTL there")
		}
		if c.cacheSet != nil {
			return errors.New("WithToolCacheSettings has no effect on a cache given with WithToolCache; give one of the two")
		}
		return nil
	}
	if c.ttl == nil {
		if ttl, set, err := toolcache.TTLFromEnv(os.LookupEnv); err != nil {
			return err
		} else if set {
			if c.uncommon == theUsual {
				own := *theUsual
				c.uncommon = &own
			}
			c.ttl = &ttl
		}
	}
	return c.cacheSettings().Validate()
}

// cacheSettings are those of a cache of the client's own.
func (c *config) cacheSettings() toolcache.Settings {
	var s toolcache.Settings
	if c.cacheSet != nil {
		s = *c.cacheSet
	}
	if c.ttl != nil && s.TTL == 0 && !s.TTLSet {
		s.TTL, s.TTLSet = *c.ttl, true
	}
	if s.StaleIf == nil {
		s.StaleIf = unreachable
	}
	if s.Logger == nil {
		s.Logger = c.logger
	}
	return s
}
