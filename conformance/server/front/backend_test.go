package front

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// backend is a server that has the direct methods `direct` (answers what it was
// called with), `refused` (fails) and `hang` (until cancelled), and a limit of
// three calls of the tools `limited` and `direct`.
type backend struct {
	sessions map[string]string
	full     bool

	mu       sync.Mutex
	admitted []string // agent and tool of each call, in the order of arrival
	asked    int
}

func (*backend) Versions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
}

func (*backend) Serves(era Era, m string) bool {
	if era == EraStateless {
		return m == "server/discover" || m == listenMethod || strings.HasPrefix(m, "tools/") || m == "notifications/cancelled"
	}
	return m == "initialize" || m == "ping" || strings.HasPrefix(m, "tools/") || m == "notifications/initialized" ||
		m == "notifications/progress" || m == "notifications/cancelled"
}

func (b *backend) Session(id string) (string, bool) {
	v, ok := b.sessions[id]
	return v, ok
}

func (b *backend) Forget(id string) { delete(b.sessions, id) }

func (b *backend) Open(string) (string, func(), bool) { return "slot", func() {}, !b.full }
func (*backend) Enter(string) func()                  { return func() {} }

func (*backend) IsDirect(m string) bool { return m == "direct" || m == "refused" || m == "hang" }

func (*backend) Direct(ctx context.Context, c *Call) (json.RawMessage, *jsonrpc.Error) {
	switch c.Tool {
	case "refused":
		return nil, &jsonrpc.Error{Code: 404, Message: "Not Found"}
	case "hang":
		<-ctx.Done()
		return nil, &jsonrpc.Error{Code: -32603, Message: "cancelled"}
	}
	b, err := json.Marshal(map[string]any{
		"arguments": c.Arguments, "agent": c.Origin.Agent, "transport": c.Origin.Transport,
		"refused": c.Quota != nil && c.Quota.Refused,
	})
	if err != nil {
		return nil, &jsonrpc.Error{Code: -32603, Message: err.Error()}
	}
	return b, nil
}

func (b *backend) Admit(_ context.Context, c *Call) *family.Quota {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.admitted = append(b.admitted, c.Origin.Agent+" "+c.Tool)
	if c.Tool != "limited" && c.Tool != "direct" {
		return nil
	}
	b.asked++
	q := &family.Quota{Limit: 3, Remaining: max(0, 3-b.asked), Reset: time.Unix(1_800_000_000, 0)}
	if b.asked > 3 {
		q.Refused, q.RetryAfter, q.Scope = true, 1500*time.Millisecond, "agent"
	}
	return q
}
