package simulation

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// shape is the kind of a server and of its client.
type shape struct {
	program  bool // a program, which is restarted, otherwise HTTP
	sessions bool // it loses its sessions now and then
	rounds   bool // it asks a question before it runs a call
	limited  bool // its client has a rate limit, a bulkhead and hedging
	adaptive bool // and the bulkhead is adaptive
}

// The limits of a limited client.
const (
	perSecond = 40
	burst     = 5
	places    = 3
)

// shapeOf makes the first server of a world a plain one, the second one with a limited client,
// the third a program, and so on.
func shapeOf(n int, seed uint64, version mcp.Version) shape {
	s := shape{
		program: n%3 == 2, limited: n%3 == 1, adaptive: seed%2 == 1,
		rounds: version.Era() == mcp.EraStateless,
	}
	s.sessions = version.Era() == mcp.EraSession && !s.program
	return s
}

// options returns the options of its client.
func (s shape) options() []client.Option {
	opts := []client.Option{
		client.WithCache(client.CacheConfig{NoPreload: true}),
		client.OnElicitForm(repeat), client.WithServerLimits(client.ServerLimits{QuestionsPerMinute: 1_000_000}),
	}
	r := client.Resilience{Restart: client.Restart{Hold: restartHold, MaxHold: restartHold}}
	if s.limited {
		r.Rate = client.Rate{PerSecond: perSecond, Burst: burst}
		r.Bulkhead = client.Bulkhead{Limit: places, Queue: 1, Adaptive: s.adaptive}
		r.Hedge = client.Hedge{Share: 0.3, After: 15 * time.Millisecond}
	}
	return append(opts, client.WithResilience(r))
}

// repeat is a user who answers with the question.
func repeat(ctx context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
	rest(ctx, 20*time.Millisecond)
	content, err := json.Marshal(map[string]string{"said": r.Message})
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, err
}

// restartHold is the pause after a crash loop.
const restartHold = 15 * time.Second

// recovery is how long a client may take after its server has healed: the cooldown, the probe's
// time and a call. A program may also be in the pause of a crash loop. A client that loses
// sessions too often waits no longer than the cooldown before it opens the next one, and both
// waits run at the same time.
func (s shape) recovery() time.Duration {
	within := 30*time.Second + 5*time.Second + time.Second
	if s.program {
		within += restartHold
	}
	return within
}
