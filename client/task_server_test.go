package client_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	core      = "2025-11-25"
	extension = "2026-07-28"
)

const done = `{"content":[{"type":"text","text":"done"}]}`

// taskTools has a tool for every kind of task support.
const taskTools = `{"tools":[
	{"name":"required","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
	{"name":"optional","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},
	{"name":"forbidden","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}},
	{"name":"silent","inputSchema":{"type":"object"}}]}`

// tasked is a server that makes a task of every call it may and goes through states,
// the answers to tasks/get, the last of which stays. at has the times of the polls,
// from the call on, and frames what the client sent.
type tasked struct {
	*clienttest.Server
	version string

	mu     sync.Mutex
	states []string
	began  time.Time
	at     []time.Duration
	frames []string
}

// sent takes a message of the client.
func (s *tasked) sent(frame []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, string(frame))
}

// received returns all messages so far, unchanged.
func (s *tasked) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.frames)
}

// traffic is how many messages came.
func (s *tasked) traffic() int { return len(s.received()) }

// last returns the last request of a method, unchanged.
func (s *tasked) last(method string) string {
	text := ""
	for _, frame := range s.received() {
		if strings.Contains(frame, fmt.Sprintf(`"method":%q`, method)) {
			text = frame
		}
	}
	return text
}

// task is a state's members in the words of the server's revision.
func (s *tasked) task(status, more string) string {
	ttl, poll := "ttl", "pollInterval"
	if s.version == extension {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	text := fmt.Sprintf(`{"taskId":"t-1","status":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z",%q:3600000,%q:5000`, status, ttl, poll)
	if more != "" {
		text += "," + more
	}
	return text + "}"
}

func (s *tasked) script(states ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = states
}

func (s *tasked) polls() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// completed is the last state of a task that ends well.
func (s *tasked) completed() string {
	if s.version == extension {
		return s.task("completed", `"resultType":"complete","result":`+done)
	}
	return s.task("completed", "")
}

func withTasks(t *testing.T, version string, opts ...client.Option) (*client.Client, *tasked) {
	t.Helper()
	s, w := &tasked{Server: clienttest.NewServer(t), version: version}, newWire(t)
	s.On("tools/list", result(taskTools))
	s.On("initialize", result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"fake","version":"1"}}`))
	s.On("server/discover", result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`))
	s.On("tools/call", func(call *clienttest.Call) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.began = time.Now()
		asks := strings.Contains(string(call.Params), `"task":{`)
		switch {
		case version == extension && strings.Contains(string(call.Params), mcp.ExtensionTasks):
			return json.RawMessage(s.task("working", `"resultType":"task"`)), nil
		case version == core && asks:
			return json.RawMessage(`{"task":` + s.task("working", "") + `}`), nil
		}
		return json.RawMessage(done), nil
	})
	s.On("tasks/get", func(*clienttest.Call) (any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.at = append(s.at, time.Since(s.began))
		state := s.states[0]
		if len(s.states) > 1 {
			s.states = s.states[1:]
		}
		if strings.HasPrefix(state, "-") { // an error's code
			var code int64
			_, _ = fmt.Sscan(state, &code)
			return nil, jsonrpc.NewError(code, "no", nil)
		}
		return json.RawMessage(state), nil
	})
	s.On("tasks/result", result(done))
	s.On("tasks/cancel", result(s.task("cancelled", "")))
	s.On("tasks/update", result(`{"resultType":"complete"}`))
	if version == extension {
		s.On("tasks/cancel", result(`{"resultType":"complete"}`))
	}
	s.script(s.task("working", ""), s.completed())
	trace := transport.Trace{Received: w.received, Sent: func(frame []byte) {
		w.sent(frame)
		s.sent(frame)
	}}
	opts = append([]client.Option{client.WithProtocolVersion(version), client.WithTasks(), client.WithTrace(trace)}, opts...)
	c, err := client.Connect(t.Context(), s.Stream(), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
	return c, s
}

// bothEras runs f for the tasks of either era, in virtual time.
func bothEras(t *testing.T, f func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range []string{core, extension} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { f(t, version) })
		})
	}
}
