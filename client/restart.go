package client

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Restart sets how the client restarts a program that exits. Servers that are not
// programs ignore it. The zero Restart restarts programs with the defaults below.
type Restart struct {
	// Off disables restarts: when the program exits, the client emits [Disconnected]
	// and every later call fails.
	Off bool
	// StartTimeout bounds starting the program and opening the conversation with it,
	// even if IdleTimeout is shorter. The default is 60 s. If a program writes nothing
	// in that time while Connect probes it, Connect starts it once more and sends
	// initialize first: the probe may have blocked it, or a package may be downloading.
	// The second start may take StartTimeout too, 5 minutes by default, and never longer
	// than the context of Connect. If the era is pinned or remembered, there is no probe:
	// the program is started once and has the time of the second start.
	StartTimeout time.Duration
	// CallWait bounds how long a call waits for a program that is being restarted,
	// within the deadline of the call. The default is 60 s. A call that waits longer
	// fails: it was not sent, and is safe to retry.
	CallWait time.Duration
	// MinPause and MaxPause bound the pause before a restart. The pause is random;
	// its upper bound is MinPause at first, doubles with each exit and never exceeds
	// MaxPause. The defaults are 250 ms and 30 s.
	//
	// # Experimental
	MinPause, MaxPause time.Duration
	// Healthy is how long a program must run before its earlier exits are forgotten.
	// The default is 60 s.
	//
	// # Experimental
	Healthy time.Duration
	// Crashes exits within the time Within are a crash loop. The defaults are 5 exits
	// and 60 s.
	//
	// # Experimental
	Crashes int
	// Within is the time in which Crashes exits are a crash loop.
	//
	// # Experimental
	Within time.Duration
	// Hold is how long the client waits before it restarts a program in a crash loop.
	// It doubles with each further exit, up to MaxHold. Calls fail at once meanwhile.
	// The defaults are 60 s and 5 minutes.
	//
	// # Experimental
	Hold, MaxHold time.Duration
	// Hung is how long a program that answers no probe of its circuit may send
	// nothing before the client kills and restarts it. The default is the client's
	// IdleTimeout (60 s if unset): by then every call without a longer timeout has
	// failed. A negative value disables it.
	//
	// # Experimental
	Hung time.Duration
}

// Defaults of [Restart]. Those of its schedule are in internal/resilience.
const (
	defaultStartTimeout = time.Minute
	defaultCallWait     = time.Minute
	defaultHung         = time.Minute
)

func (r Restart) check() error {
	if r.Crashes < 0 || min(r.StartTimeout, r.CallWait, r.MinPause, r.MaxPause, r.Healthy, r.Within, r.Hold, r.MaxHold) < 0 {
		return errors.New("resilience: times and numbers of restarts must not be negative; 0 is the default")
	}
	return nil
}

// schedule returns when a program is restarted.
func (r Restart) schedule() *resilience.Restart {
	return resilience.NewRestart(resilience.RestartSettings{
		Backoff: resilience.Backoff{Base: r.MinPause, Cap: r.MaxPause},
		Healthy: r.Healthy, Crashes: r.Crashes, Within: r.Within, Hold: r.Hold, MaxHold: r.MaxHold,
	})
}

// streamRestart sets when the stream of HTTP+SSE is opened again. Some proxies end
// streams every few seconds, which is not a failure of the server.
var streamRestart = Restart{Healthy: 5 * time.Second, Hold: 5 * time.Second, MaxHold: 30 * time.Second} //nolint:gochecknoglobals // a constant
