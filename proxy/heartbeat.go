package proxy

import (
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// beatEvery is how often a host hears of a request that waits.
const beatEvery = 10 * time.Second

// heartbeat reports to a host that gave a progress token what its request waits for, until the
// server reports progress of its own. Many hosts then start their time-out again.
type heartbeat struct {
	request *request
	waits   func() string // names what it waits for
	began   time.Time
	telling chan struct{} // held while the members below are used, or one is sent
	timer   *time.Timer
	beats   int
	stopped bool
}

// beginHeartbeat begins the heartbeat of a request. stop returns when nothing more is sent.
func (r *request) beginHeartbeat(waits func() string) (stop func()) {
	if r.token.IsZero() || r.Method == mcp.MethodSubscriptionsListen { // which waits for its end
		return func() {}
	}
	b := &heartbeat{request: r, waits: waits, began: time.Now(), telling: make(chan struct{}, 1)}
	b.telling <- struct{}{}
	defer b.done()
	r.heartbeat = b
	b.timer = time.AfterFunc(beatEvery, b.beat)
	return b.stop
}

func (b *heartbeat) done() { <-b.telling }

// stop ends a heartbeat, also one that never began.
func (b *heartbeat) stop() {
	if b == nil {
		return
	}
	b.telling <- struct{}{}
	defer b.done()
	b.stopped = true
	b.timer.Stop()
}

func (b *heartbeat) beat() {
	b.telling <- struct{}{}
	defer b.done()
	if b.stopped {
		return
	}
	b.beats++
	raw, err := mcp.Marshal(&mcp.ProgressParams{
		ProgressToken: b.request.token, Progress: beatValue(b.beats),
		Message: fmt.Sprintf("%s, %d s", b.waits(), int(time.Since(b.began).Seconds())),
	})
	if err == nil {
		b.request.host.tell(b.request.line, jsonrpc.Notification{Method: mcp.MethodProgress, Params: raw})
	}
	b.timer.Reset(beatEvery)
}

// beatValue returns the progress of the nth heartbeat. It must grow, and the server's first value,
// which is often 0, must be greater still (basic/utilities/progress): it rises towards 0 from
// below. Hosts that show it round it to 0.
func beatValue(n int) float64 { return -0.001 / float64(n) }

// waitsFor implements [backend].
func (up *upstream) waitsFor() string {
	switch {
	case up.away.Load() > 0 || up.isAway():
		return "the server cannot be reached; waiting for it"
	case !up.isConnected():
		return "waiting for the server to start"
	case up.client.State() != client.StateReady:
		return "waiting for the server to start again"
	}
	return "waiting for the server to answer"
}
