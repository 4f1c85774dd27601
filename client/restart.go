package client

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Restart is how a program that ends by itself is started again. It is for servers that are programs, as [DialCommand] starts them; to
// others it makes no difference. The zero Restart has the defaults.
type Restart struct {
	// Off leaves a program that has ended alone: [Disconnected] tells, and every
	// later call fails.
	Off bool
	// StartTimeout bounds starting the program and opening the conversation with
	// it; 0 means 60 s, which allows for a package that is downloaded first. The
	// first start has as long for an answer to the first message, also where
	// IdleTimeout is shorter, and Connect's context for the rest.
	StartTimeout time.Duration
	// CallWait is how long a call that finds no program waits for the next, within
	// its own deadline; 0 means 60 s. A call that has waited so long fails: it was
	// not sent, and may be made again.
	CallWait time.Duration
	// FirstPause and MaxPause bound the wait before a program is started again: it
	// is random, and its bound doubles with each end; 0 means 250 ms and 30 s.
	FirstPause, MaxPause time.Duration
	// Healthy is how long a program has to run for what was before it to be
	// forgotten; 0 means 60 s.
	Healthy time.Duration
	// Crashes ends of the program in Within are a crash loop; 0 means 5 in 60 s.
	Crashes int
	Within  time.Duration
	// Hold is how long it is left alone then, twice as long each time, up to
	// MaxHold: calls are refused at once meanwhile. 0 means 60 s and 5 min.
	Hold, MaxHold time.Duration
	// Hung is how long nothing may have come from a program that does not answer
	// the probes of its open circuit either, before it is ended and started again
	// (fault E8). 0 means the client's IdleTimeout, 60 s without one: by then no call
	// waits for it that has no longer bound of its own. Negative means never.
	Hung time.Duration
}

// WithRestart sets how a program that ends by itself is started again. The
// default is the zero [Restart]: it is.
func WithRestart(r Restart) Option { return optionFunc(func(c *config) { c.restart = r }) }

// Defaults of [Restart] (decisions 26).
const (
	defaultStartTimeout = time.Minute
	defaultCallWait     = time.Minute
	firstRestartPause   = 250 * time.Millisecond
	maxRestartPause     = 30 * time.Second
	defaultHung         = time.Minute
)

func (r Restart) check() error {
	if r.Crashes < 0 || min(r.StartTimeout, r.CallWait, r.FirstPause, r.MaxPause, r.Healthy, r.Within, r.Hold, r.MaxHold) < 0 {
		return errors.New("WithRestart: times and numbers must not be negative; 0 is the default")
	}
	return nil
}

// schedule is when a program is started again.
func (r Restart) schedule() *resilience.Restart {
	first := orElse(r.FirstPause, firstRestartPause)
	return resilience.NewRestart(resilience.RestartSettings{
		Backoff: resilience.Backoff{Base: first, Cap: max(first, orElse(r.MaxPause, maxRestartPause))},
		Healthy: r.Healthy, Crashes: r.Crashes, Within: r.Within, Hold: r.Hold, MaxHold: r.MaxHold,
	})
}

// streamRestart is when the stream of HTTP+SSE is opened again. Some proxies end
// streams every few seconds, which is no failure of the server.
var streamRestart = Restart{Healthy: 5 * time.Second, Hold: 5 * time.Second, MaxHold: 30 * time.Second} //nolint:gochecknoglobals // a constant

func orElse(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
