package services_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/backend"
)

// TestOutage_S0_TASKAPI_14 takes PostgreSQL away from running services: 503
// with both key sets and no word of the driver's, an unhealthy /health, and
// everything as before when it is back.
func TestOutage_S0_TASKAPI_14(t *testing.T) {
	t.Parallel()
	line := newLine(t, postgresURL(t))
	st, err := backend.Open(t.Context(), backend.Options{URL: line.url})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	r := newRig(t, func(o *services.Options) { o.Store = st })
	require.Equal(t, 201, r.call("POST", "/tasks/batch", batch("p", "HLS-001")).status)
	require.Equal(t, "US-001", r.call("GET", "/ids/next?type=US&project=p", "").body["next_id"])

	line.cut()
	begin := time.Now()
	const detail = "Database is unavailable, try again later"
	requireError(t, r.call("GET", "/ids/next?type=US&project=p", ""), 503, detail)
	require.GreaterOrEqual(t, time.Since(begin), 300*time.Millisecond, "after three tries, 100 and 200 ms apart")
	requireError(t, r.call("POST", "/tasks/batch", batch("p", "HLS-002")), 503, detail)
	requireError(t, r.call("GET", "/tasks?project=p", ""), 503, detail)
	begin = time.Now()
	require.Equal(t, 503, r.call("GET", r.IDsURL+"/health", "").status)
	require.Less(t, time.Since(begin), time.Second, "it does not wait for tries")

	line.restore()
	require.Equal(t, "US-002", r.call("GET", "/ids/next?type=US&project=p", "").body["next_id"], "nothing was taken meanwhile")
	require.JSONEq(t, `{"success":true,"tasks_added":1,"task_ids":["TASK-002"]}`, r.call("POST", "/tasks/batch", batch("p", "HLS-002")).text)
	require.Equal(t, 200, r.call("GET", r.IDsURL+"/health", "").status)
}

// line is the way to a server, which can be cut.
type line struct {
	url, target string

	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func newLine(t *testing.T, direct string) *line {
	t.Helper()
	u, err := url.Parse(direct)
	require.NoError(t, err)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &line{target: u.Host}
	u.Host = listener.Addr().String()
	l.url = u.String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if server := l.connect(client); server != nil {
				running.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
				running.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
			}
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		l.cut()
		running.Wait()
	})
	return l
}

// connect returns the other end for a client, or refuses it.
func (l *line) connect(client net.Conn) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.down {
		server, err := net.DialTimeout("tcp", l.target, time.Second)
		if err == nil {
			l.conns = append(l.conns, client, server)
			return server
		}
	}
	_ = client.Close()
	return nil
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
}

func (l *line) restore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}
