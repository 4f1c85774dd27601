package postgres

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/storetest"
)

// TestManySequences_Analyzed runs the suite's part again when the planner knows
// how small the registry is, and would rather read all of it.
func TestManySequences_Analyzed(t *testing.T) {
	t.Parallel()
	st := openAt(t, schemaURL(t))
	_, err := st.NextID(t.Context(), "p", "US", time.Now())
	require.NoError(t, err)
	_, err = st.db.pool.Exec(t.Context(), `ANALYZE id_registry`)
	require.NoError(t, err)
	storetest.ManySequences(t, func(testing.TB) store.Store { return st })
}

// TestTerminated has an administrator end the connection within a transaction:
// it is repeated on another one, once, and is there once.
func TestTerminated(t *testing.T) {
	t.Parallel()
	st := openAt(t, schemaURL(t, "pool_max_conns", "4"))
	ctx := t.Context()
	_, err := st.NextID(ctx, "p", "US", time.Now())
	require.NoError(t, err)
	tries := 0
	err = st.db.serializable(ctx, "k", func(tx *transaction) error {
		tries++
		if _, err := advance(ctx, tx, "p", "US", 1, time.Now()); err != nil {
			return err
		}
		if tries == 1 {
			tx.queue(`SELECT pg_terminate_backend(pg_backend_pid())`)
			return tx.send(ctx)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, tries)
	a, err := st.NextID(ctx, "p", "US", time.Now())
	require.NoError(t, err)
	require.Equal(t, "US-003", a.ID)
}

// TestGone has PostgreSQL go away in the middle of a transaction and stay away:
// three tries, a clear error, nothing written, and all is well when it is back.
func TestGone(t *testing.T) {
	t.Parallel()
	direct := schemaURL(t, "pool_max_conns", "4")
	proxy := newProxy(t, direct)
	st := openAt(t, proxy.url)
	ctx := t.Context()
	_, err := st.NextID(ctx, "p", "US", time.Now())
	require.NoError(t, err)

	tries := 0
	begin := time.Now()
	err = st.db.serializable(ctx, "k", func(tx *transaction) error {
		tries++
		if _, err := advance(ctx, tx, "p", "US", 5, time.Now()); err != nil {
			return err
		}
		proxy.cut()
		tx.queue(`SELECT 1`)
		return tx.send(ctx)
	})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Equal(t, 1, tries, "the other tries did not get as far")
	require.GreaterOrEqual(t, time.Since(begin), 300*time.Millisecond, "three tries, 100 and 200 ms apart")
	// pgx knocks more than once for one connection.
	require.GreaterOrEqual(t, proxy.refusals(), int64(2), "S0-TASKAPI-14")

	for name, call := range map[string]func() error{
		"next": func() error { return second(st.NextID(ctx, "p", "US", time.Now())) },
		"reserve": func() error {
			return second(st.ReserveIDs(ctx, store.ReserveRequest{Project: "p", Type: "US", Count: 1}))
		},
		"first":  func() error { return second(st.NextTask(ctx, "p", store.Pending)) },
		"batch":  func() error { return second(st.AddTasks(ctx, store.Batch{Project: "p"})) },
		"delete": func() error { return second(st.DeleteExpired(ctx, time.Now())) },
	} {
		require.ErrorIs(t, call(), store.ErrUnavailable, name)
	}
	require.Error(t, st.Ping(ctx))

	proxy.restore()
	a, err := st.NextID(ctx, "p", "US", time.Now())
	require.NoError(t, err)
	require.Equal(t, "US-002", a.ID, "nothing half written")
	require.NoError(t, st.Ping(ctx))
}

func second[T any](_ T, err error) error { return err }

// TestCommitLost cuts the connection when COMMIT has been sent: nobody can know
// what became of it, so it is not repeated, but for a call with a key, which
// finds out.
func TestCommitLost(t *testing.T) {
	t.Parallel()
	proxy := newProxy(t, schemaURL(t, "pool_max_conns", "1"))
	st := openAt(t, proxy.url)
	ctx := t.Context()
	// The first on a connection prepares the statements; what is sent after
	// that is their names.
	allocate := func() {
		_, err := st.NextID(ctx, "p", "US", time.Now())
		require.NoError(t, err)
	}
	allocate()
	var commit string
	require.NoError(t, st.db.pool.QueryRow(ctx, `SELECT name FROM pg_prepared_statements WHERE statement = 'commit'`).Scan(&commit))

	proxy.cutAnswerTo(commit)
	_, err := st.NextID(ctx, "p", "US", time.Now())
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.ErrorContains(t, err, "outcome of the commit is unknown")

	b := store.Batch{
		Project: "p", Tasks: []store.NewTask{{ArtifactID: "HLS-001", Generator: "g", Status: store.Pending}},
		Key: store.Key{Value: "k", Fingerprint: "f"}, Now: time.Now(),
	}
	allocate()
	proxy.cutAnswerTo(commit)
	ids, err := st.AddTasks(ctx, b)
	require.NoError(t, err)
	require.Equal(t, []string{"TASK-001"}, ids)
	queue, err := st.Tasks(ctx, store.TaskFilter{})
	require.NoError(t, err)
	require.Len(t, queue, 1, "one set of rows")
}

// proxy is a way to the server that can be closed.
type proxy struct {
	url    string
	target string

	mu      sync.Mutex
	conns   map[net.Conn]bool
	down    bool
	refused int64
	// cutOn is what to wait for in what the client sends. The server gets it,
	// and the client is cut off instead of getting the answer.
	cutOn string
}

func newProxy(t *testing.T, direct string) *proxy {
	t.Helper()
	u, err := url.Parse(direct)
	require.NoError(t, err)
	p := &proxy{target: u.Host, conns: map[net.Conn]bool{}}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	u.Host = listener.Addr().String()
	p.url = u.String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		p.cut()
		running.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.target) //nolint:forbidigo // ends with cut
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	p.mu.Lock()
	if p.down {
		p.refused++
		p.mu.Unlock()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	var withhold atomic.Bool
	var both sync.WaitGroup
	both.Go(func() {
		defer server.Close() //nolint:errcheck // the end of a proxied connection
		copyUntil(server, client, func(data []byte) bool {
			if p.awaits(data) {
				withhold.Store(true)
			}
			return false
		})
	})
	both.Go(func() {
		defer client.Close() //nolint:errcheck // the end of a proxied connection
		copyUntil(client, server, func([]byte) bool { return withhold.Load() })
	})
	both.Wait()
}

// copyUntil passes on what it reads, until stop says that a piece is not to be
// passed on.
func copyUntil(dst io.Writer, src io.Reader, stop func(data []byte) bool) {
	buf := make([]byte, 1<<16)
	for {
		n, err := src.Read(buf)
		if err != nil || stop(buf[:n]) {
			return
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
	}
}

// awaits reports whether data hold what [proxy.cutAnswerTo] waits for.
func (p *proxy) awaits(data []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cutOn == "" || !bytes.Contains(data, []byte(p.cutOn)) {
		return false
	}
	p.cutOn = ""
	return true
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = map[net.Conn]bool{}
}

func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

func (p *proxy) cutAnswerTo(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutOn = text
}

func (p *proxy) refusals() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}
