package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// moody is a way to a server that mood decides about, by the number of the try,
// from 1: nil lets it through, errHangs does not answer, anything else is the
// outcome.
type moody struct {
	transport.Transport
	mood  func(try int) error
	tries atomic.Int32
}

var errHangs = errors.New("hangs")

func (m *moody) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	switch err := m.mood(int(m.tries.Add(1))); {
	case err == nil:
		return m.Transport.Connect(ctx, h)
	case errors.Is(err, errHangs):
		<-ctx.Done()
		return nil, &transport.Failure{Reason: transport.ReasonCanceled, NotSent: true, Err: ctx.Err()}
	default:
		return nil, err
	}
}

func refuses(int) error {
	return &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errors.New("connection refused")}
}

func hangs(int) error { return errHangs }

// toolServer is a server whose tools answer with the server's name and their own.
// socket reaches a server that is no program of the client's, so that its pool
// connects again when the connection is lost.
type socket struct{ transport.Transport }

func (s socket) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	conn, err := s.Transport.Connect(ctx, h)
	return socketConn{conn}, err
}

type socketConn struct{ transport.Conn }

func (socketConn) Traits() transport.Traits { return transport.Traits{} }

func (c socketConn) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	answer, err := c.Conn.Call(ctx, req)
	if f, ok := errors.AsType[*transport.Failure](err); ok {
		f.Process = nil
	}
	return answer, err
}

func toolServer(t *testing.T, name string, tools ...string) *clienttest.Server {
	s := clienttest.NewServer(t)
	for _, tool := range tools {
		s.Tool(tool, "", func(*clienttest.Call) (any, error) { return clienttest.Text(name + "/" + tool), nil })
	}
	return s
}

func spec(name string, t transport.Transport) client.ServerSpec {
	return client.ServerSpec{Name: name, Transport: t}
}

// poolLog records the events of a pool.
type poolLog struct {
	mu     sync.Mutex
	events []string
}

func (l *poolLog) option() client.PoolOption {
	return client.OnPoolEvent(func(_ context.Context, e client.PoolEvent) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.Event == nil {
			l.events = append(l.events, e.Server+" "+e.State.String())
		} else {
			l.events = append(l.events, fmt.Sprintf("%s %T", e.Server, e.Event))
		}
	})
}

func (l *poolLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.events...)
}

func poolNames(list *client.PoolToolList) []string {
	var out []string
	for _, tool := range list.Tools {
		out = append(out, tool.Name)
	}
	return out
}

func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files, web := toolServer(t, "files", "search", "read"), toolServer(t, "web", "search")
		prompts := clienttest.NewServer(t)
		prompts.SetCapabilities(mcp.ServerCapabilities{Prompts: &mcp.ListChangedCapability{}})
		p, err := client.OpenPool(t.Context(), []client.ServerSpec{
			spec("files", files.Transport()), spec("web", web.Transport()), spec("prompts", prompts.Transport()),
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		require.Equal(t, []string{"files", "web", "prompts"}, p.Servers())
		require.Empty(t, p.Failures())

		// A name that nobody has listed yet is looked for.
		text, err := client.CallAs[string](t.Context(), p, "read", nil)
		require.NoError(t, err)
		require.Equal(t, "files/read", text)
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		require.Empty(t, list.Failures)
		require.Equal(t, []string{"files__search", "read", "web__search"}, poolNames(list))
		require.Equal(t, "web", list.Tools[2].Server)
		require.Equal(t, "search", list.Tools[2].Tool.Name)
		for _, tool := range list.Tools {
			res, err := p.CallTool(t.Context(), tool.Name, map[string]any{})
			require.NoError(t, err)
			require.Equal(t, tool.Server+"/"+tool.Tool.Name, res.Text())
		}
		schema, err := p.GetToolSchema(t.Context(), "web__search")
		require.NoError(t, err)
		require.Equal(t, "search", schema.Name)
		_, err = p.CallTool(t.Context(), "search", nil)
		require.True(t, mcperrors.IsNotFound(err), "%v", err)
		require.Equal(t, mcperrors.E204, mcperrors.CodeOf(err))
		_, err = p.Client("nobody")
		require.ErrorContains(t, err, `the pool has no server "nobody"; it has files, web, prompts`)
		c, err := p.Client("prompts")
		require.NoError(t, err)
		require.False(t, c.HasCapability("tools"))

		health := p.Health()
		require.Equal(t, client.ServerConnected, health[1].State)
		require.NotNil(t, health[1].Breaker)
		raw, err := json.Marshal(health[1])
		require.NoError(t, err)
		require.Contains(t, string(raw), `"name":"web","transport":"clienttest","required":false,"state":"connected"`)
		require.NoError(t, p.Close())
		_, err = p.CallTool(t.Context(), "read", nil)
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err))
		_, err = p.Tools(t.Context())
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err))
		_, err = p.Client("web")
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err))
		require.Equal(t, client.ServerClosed, p.Health()[0].State)
	})
}

// A tool's error is read in its server's terms.
func TestPoolToolError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("fails", "", func(*clienttest.Call) (any, error) { return nil, errors.New("no such file") })
		p, err := client.OpenPool(t.Context(), []client.ServerSpec{spec("s", s.Transport())})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		_, err = client.CallAs[string](t.Context(), p, "fails", nil)
		require.Equal(t, mcperrors.KindTool, mcperrors.KindOf(err))
		require.ErrorContains(t, err, "no such file")
		require.NoError(t, p.ToolError("fails", nil))
	})
}

// Neither a server that hangs, nor one that refuses, nor one that dies while it is
// greeted keeps the pool from opening and its calls from going out at once.
func TestPoolWithBadServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log poolLog
		good := toolServer(t, "good", "echo")
		dies := clienttest.NewServer(t)
		dies.On("initialize", func(*clienttest.Call) (any, error) { return nil, clienttest.ErrCut })
		mute := clienttest.NewServer(t)
		release := make(chan struct{})
		mute.Tool("late", "", func(*clienttest.Call) (any, error) { return clienttest.Text("late"), nil })
		hanging := &moody{Transport: mute.Transport(), mood: func(int) error { <-release; return nil }}
		began := time.Now()
		servers := []client.ServerSpec{
			spec("hangs", hanging), spec("never", &moody{Transport: mute.Transport(), mood: hangs}),
			spec("refuses", &moody{Transport: good.Transport(), mood: refuses}), spec("dies", dies.Transport()),
			{Name: "unset", Err: errors.New("the variable TOKEN is not set")},
			spec("good", good.Transport()),
		}
		// Far more of them than may be connected to at a time.
		for i := range 40 {
			servers = append(servers, spec(fmt.Sprint("never", i), &moody{Transport: mute.Transport(), mood: hangs}))
		}
		p, err := client.OpenPool(t.Context(), servers, log.option(), client.WithServerOptions(func(string) []client.Option { return []client.Option{sessionEra} }))
		require.NoError(t, err)
		require.Equal(t, client.DefaultStartupWait, time.Since(began), "as long as others may be slow, and no longer")
		failures := p.Failures()
		require.Len(t, failures, len(servers)-1)
		require.ErrorContains(t, failures["refuses"], "connection refused")
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(failures["refuses"]))
		require.ErrorContains(t, failures["unset"], "TOKEN is not set")
		require.ErrorContains(t, failures["hangs"], "being connected to")
		require.Error(t, failures["dies"])
		require.Zero(t, p.Health()[4].NextAttempt, "a variable does not get set by waiting")

		began = time.Now()
		res, err := p.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, "good/echo", res.Text())
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"echo"}, poolNames(list))
		require.Len(t, list.Failures, len(servers)-1)
		_, err = p.CallTool(t.Context(), "late", nil)
		require.ErrorContains(t, err, "not connected: hangs")
		require.True(t, mcperrors.Retryable(err))
		require.Zero(t, time.Since(began))

		close(release) // the late one joins, and is told of
		time.Sleep(2 * time.Second)
		require.Contains(t, log.all(), "hangs connected")
		res, err = p.CallTool(t.Context(), "late", nil)
		require.NoError(t, err)
		require.Equal(t, "late", res.Text())

		time.Sleep(client.DefaultServerTimeout)
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(p.Failures()["never"]), "%v", p.Failures()["never"])
		require.NoError(t, p.Close())
	})
}

// A server that is away is tried again, less and less often, and found when it is
// back.
func TestPoolTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log poolLog
		flaky := &moody{Transport: toolServer(t, "flaky", "echo").Transport(), mood: func(try int) error {
			if try < 5 {
				return refuses(try)
			}
			return nil
		}}
		p, err := client.OpenPool(t.Context(), []client.ServerSpec{
			spec("good", toolServer(t, "good", "other").Transport()), spec("flaky", flaky),
		}, log.option())
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		require.Error(t, p.Failures()["flaky"])
		h := p.Health()[1]
		require.Equal(t, 1, h.Attempts)
		require.WithinRange(t, h.NextAttempt, time.Now().Add(time.Second/2), time.Now().Add(time.Second))
		_, err = p.Client("flaky")
		require.InDelta(t, time.Until(h.NextAttempt), mcperrors.RetryAfter(err), 0)
		time.Sleep(15*time.Second + time.Millisecond) // 1 + 2 + 4 + 8, if no wait is shortened
		require.Empty(t, p.Failures())
		require.Equal(t, int32(5), flaky.tries.Load())
		require.Equal(t, 5, p.Health()[1].Attempts)
		require.NoError(t, p.Reconnect(t.Context(), "flaky"))
		res, err := p.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, "flaky/echo", res.Text())
		require.Contains(t, log.all(), "flaky connected")
		require.Contains(t, log.all(), "flaky client.Connected")
	})
}

// Nobody is tried behind the application's back when that is switched off; asked
// for it is, at once.
func TestPoolReconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		flaky := &moody{Transport: toolServer(t, "flaky", "echo").Transport(), mood: func(try int) error {
			if up.Load() {
				return nil
			}
			return refuses(try)
		}}
		slow := &moody{Transport: flaky.Transport, mood: func(try int) error {
			if try == 1 {
				return refuses(try)
			}
			return errHangs
		}}
		p, err := client.OpenPool(t.Context(), []client.ServerSpec{
			spec("good", toolServer(t, "good", "other").Transport()), spec("flaky", flaky), spec("slow", slow),
			{Name: "unset", Err: errors.New("the variable TOKEN is not set")},
		}, client.WithReconnect(0, 0))
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		time.Sleep(time.Hour)
		require.Equal(t, int32(1), flaky.tries.Load())
		require.ErrorContains(t, p.Reconnect(t.Context(), "flaky"), "connection refused")
		require.Equal(t, int32(2), flaky.tries.Load())
		require.ErrorContains(t, p.Reconnect(t.Context(), "unset"), "TOKEN")
		up.Store(true)
		require.NoError(t, p.Reconnect(t.Context(), "flaky"))
		require.NoError(t, p.Reconnect(t.Context(), "flaky"), "it is connected")
		require.Equal(t, int32(3), flaky.tries.Load())
		require.Error(t, p.Reconnect(t.Context(), "nobody"))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, p.Reconnect(ctx, "slow"), context.DeadlineExceeded)
		done := make(chan error)
		go func() { done <- p.Reconnect(t.Context(), "slow") }()
		synctest.Wait()
		require.NoError(t, p.Close())
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(<-done), "closing ends the wait")
	})
}

// A connection that is lost fails calls at once and is made anew; names given
// before go on working, also where another server has come to have the same tool.
func TestPoolLosesAServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log poolLog
		a, b := toolServer(t, "a", "echo"), toolServer(t, "b", "echo")
		var up atomic.Bool
		later := &moody{Transport: b.Transport(), mood: func(try int) error {
			if up.Load() {
				return nil
			}
			return refuses(try)
		}}
		p, err := client.OpenPool(t.Context(), []client.ServerSpec{spec("a", socket{a.Transport()}), spec("b", later)}, log.option())
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"echo"}, poolNames(list))
		up.Store(true)
		require.NoError(t, p.Reconnect(t.Context(), "b"))
		list, err = p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"a__echo", "b__echo"}, poolNames(list))
		res, err := p.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, "a/echo", res.Text())

		before, err := p.Client("a")
		require.NoError(t, err)
		a.Fail(1, clienttest.ErrCut)
		_, err = p.CallTool(t.Context(), "echo", nil)
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
		synctest.Wait()
		require.Equal(t, client.ServerFailed, p.Health()[0].State)
		_, err = p.CallTool(t.Context(), "a__echo", nil)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.True(t, mcperrors.Retryable(err))
		require.Positive(t, mcperrors.RetryAfter(err))
		list, err = p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"b__echo"}, poolNames(list), "b's name does not change when a is away")
		time.Sleep(2 * time.Second)
		after, err := p.Client("a")
		require.NoError(t, err)
		require.NotSame(t, before, after)
		res, err = p.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, "a/echo", res.Text())
		require.Contains(t, log.all(), "a failed")
	})
}

// A server that has become slow to list costs a bounded wait, and keeps its tools.
func TestPoolListsASilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := toolServer(t, "a", "one"), toolServer(t, "b", "two")
		p, err := client.OpenPool(t.Context(), []client.ServerSpec{spec("a", a.Transport()), spec("b", b.Transport())})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"one", "two"}, poolNames(list))
		time.Sleep(6 * time.Minute) // the cache is not fresh any more
		a.Fail(1, clienttest.ErrSilent)
		began := time.Now()
		list, err = p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(began), "the other has answered")
		require.Equal(t, []string{"one", "two"}, poolNames(list))
		require.Len(t, list.Failures, 1)
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(list.Failures["a"]))
		began = time.Now()
		_, err = p.CallTool(t.Context(), "nobody's", nil)
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err))
		require.LessOrEqual(t, time.Since(began), 2*time.Second)
		time.Sleep(6 * time.Minute)
		a.Fail(1, clienttest.ErrSilent)
		b.Fail(1, clienttest.ErrSilent)
		began = time.Now()
		list, err = p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, time.Since(began), "nobody has")
		require.Len(t, list.Failures, 2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = p.Tools(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestPoolThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	good := func(t *testing.T) client.ServerSpec { return spec("good", toolServer(t, "good", "echo").Transport()) }
	bad := func(t *testing.T, mood func(int) error) client.ServerSpec {
		return spec("bad", &moody{Transport: toolServer(t, "bad", "echo").Transport(), mood: mood})
	}
	tests := []struct {
		name    string
		servers func(*testing.T) []client.ServerSpec
		opts    []client.PoolOption
		want    string
		kind    mcperrors.Kind
	}{
		{"none can be had", func(t *testing.T) []client.ServerSpec { return []client.ServerSpec{bad(t, refuses)} }, nil, `none of the 1 servers can be used: server "bad": the server cannot be reached: connection refused`, mcperrors.KindTransport},
		{"all hang", func(t *testing.T) []client.ServerSpec { return []client.ServerSpec{bad(t, hangs)} }, nil, "none of the 1 servers can be used", mcperrors.KindTransport},
		{"a required one refuses", func(t *testing.T) []client.ServerSpec { return []client.ServerSpec{good(t), bad(t, refuses)} }, []client.PoolOption{client.WithRequiredServers("bad")}, `the required server "bad" cannot be used`, mcperrors.KindTransport},
		{"a required one hangs", func(t *testing.T) []client.ServerSpec { return []client.ServerSpec{good(t), bad(t, hangs)} }, []client.PoolOption{client.WithRequiredServers("bad")}, `the required server "bad" cannot be used`, mcperrors.KindTransport},
		{"an unknown one is required", func(t *testing.T) []client.ServerSpec { return []client.ServerSpec{good(t)} }, []client.PoolOption{client.WithRequiredServers("goood")}, `the pool has no server "goood"`, mcperrors.KindInvalidArguments},
		{"the same twice", func(t *testing.T) []client.ServerSpec { return []client.ServerSpec{good(t), good(t)} }, nil, `two servers of the pool are called "good"`, mcperrors.KindInvalidArguments},
		{"no name", func(t *testing.T) []client.ServerSpec { return []client.ServerSpec{{Transport: good(t).Transport}} }, nil, "no name", mcperrors.KindInvalidArguments},
		{"no transport", func(*testing.T) []client.ServerSpec { return []client.ServerSpec{{Name: "x"}} }, nil, `server "x" has no transport`, mcperrors.KindInvalidArguments},
		{"wrong options of a server", func(t *testing.T) []client.ServerSpec { return []client.ServerSpec{good(t)} }, []client.PoolOption{client.WithServerOptions(func(string) []client.Option { return []client.Option{client.WithProtocolVersion("1")} })}, `server "good": WithProtocolVersion`, mcperrors.KindInvalidArguments},
		{"a transport among options", func(t *testing.T) []client.ServerSpec { return []client.ServerSpec{good(t)} }, []client.PoolOption{client.WithServerOptions(func(string) []client.Option { return []client.Option{client.WithHTTP(transport.HTTP{})} })}, "have no place in a pool", mcperrors.KindInvalidArguments},
		{"a wrong timeout", nil, []client.PoolOption{client.WithServerTimeout(0)}, "WithServerTimeout", mcperrors.KindInvalidArguments},
		{"a wrong wait", nil, []client.PoolOption{client.WithStartupWait(-1)}, "WithStartupWait", mcperrors.KindInvalidArguments},
		{"a wrong limit", nil, []client.PoolOption{client.WithConnectLimit(0)}, "WithConnectLimit", mcperrors.KindInvalidArguments},
		{"wrong tries", nil, []client.PoolOption{client.WithReconnect(2, 1)}, "WithReconnect", mcperrors.KindInvalidArguments},
		{"a wrong naming", nil, []client.PoolOption{client.WithToolNaming(client.ToolNaming{Policy: 9})}, "naming policy", mcperrors.KindInvalidArguments},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var servers []client.ServerSpec
				if tt.servers != nil {
					servers = tt.servers(t)
				}
				p, err := client.OpenPool(t.Context(), servers, tt.opts...)
				require.Nil(t, p)
				require.ErrorContains(t, err, tt.want)
				require.Equal(t, tt.kind, mcperrors.KindOf(err))
				require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
			})
		})
	}
}

// The context bounds opening: cancelled it ends it, run out it leaves what is
// there.
func TestPoolContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good := spec("good", toolServer(t, "good", "echo").Transport())
		hanging := spec("hangs", &moody{Transport: good.Transport, mood: hangs})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p, err := client.OpenPool(ctx, []client.ServerSpec{good, hanging})
		require.NoError(t, err)
		_, err = p.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err, "the pool lives on")
		require.NoError(t, p.Close())

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = client.OpenPool(ctx, []client.ServerSpec{hanging})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = client.OpenPool(ctx, []client.ServerSpec{good, hanging})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err))

		p, err = client.OpenPool(t.Context(), nil)
		require.NoError(t, err, "a host without servers")
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		require.Empty(t, list.Tools)
		require.NoError(t, p.Close())
	})
}

// A handler may close the pool, and one that hangs does not keep it open.
func TestPoolHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p *client.Pool
		opened, closed := make(chan struct{}), make(chan struct{})
		p, err := client.OpenPool(t.Context(), []client.ServerSpec{spec("good", toolServer(t, "good", "echo").Transport())},
			client.OnPoolEvent(func(ctx context.Context, e client.PoolEvent) {
				<-opened
				if ctx.Err() == nil {
					_ = p.Close()
					close(closed)
				}
			}))
		require.NoError(t, err)
		close(opened)
		<-closed
		require.NoError(t, p.Close())
	})
}

// What a server's variables and headers hold is not in any error, log or health.
func TestPoolKeepsSecrets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	const secret = "s3cret-t0ken"
	argv := programArgv("tells its key")
	server := client.ServerSpec{Name: "leaky", Transport: &transport.Command{Argv: argv, Env: []string{"KEY=" + secret, "GORACE=atexit_sleep_ms=0"}}}
	header := client.ServerSpec{Name: "web", Transport: &transport.HTTP{URL: "http://127.0.0.1:1/?key=" + secret, Header: map[string][]string{"Authorization": {"Bearer " + secret}}}}
	for _, s := range []client.ServerSpec{server, header} {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %v", s, s, s, slog.AnyValue(s).Resolve()), secret)
	}
	var log strings.Builder
	_, err := client.OpenPool(t.Context(), []client.ServerSpec{server, header},
		client.WithPoolLogger(slog.New(slog.NewJSONHandler(&log, nil))),
		client.WithServerOptions(func(string) []client.Option { return []client.Option{sessionEra} }))
	require.ErrorContains(t, err, "the key [redacted] is not valid", "what the program said is there, but for the key")
	require.NotContains(t, err.Error()+log.String(), secret)
	require.Contains(t, log.String(), "[redacted]")
	raw, jsonErr := json.Marshal(err)
	require.NoError(t, jsonErr)
	require.NotContains(t, string(raw), secret)
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
}

// Servers that hang keep their places for connecting no longer than 5 s each.
func TestPoolPlacesForConnecting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good := toolServer(t, "good", "echo")
		servers := []client.ServerSpec{spec("good", good.Transport())}
		for i := range 8 {
			servers = append(servers, spec(fmt.Sprint("never", i), &moody{Transport: good.Transport(), mood: hangs}))
		}
		began := time.Now()
		p, err := client.OpenPool(t.Context(), servers, client.WithConnectLimit(1), client.WithStartupWait(0))
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), 8*5*time.Second, "whichever came first")
		require.NoError(t, p.Close())
	})
}

// A connection that has lasted makes up for the tries before it: what is lost then
// is tried again as soon as after a first failure.
func TestPoolForgetsOldFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := toolServer(t, "a", "echo")
		a := &moody{Transport: socket{server.Transport()}, mood: func(try int) error {
			if try < 6 {
				return refuses(try)
			}
			return nil
		}}
		p, err := client.OpenPool(t.Context(), []client.ServerSpec{spec("good", toolServer(t, "good", "other").Transport()), spec("a", a)})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		lose := func(after time.Duration) time.Duration {
			time.Sleep(after)
			server.Fail(1, clienttest.ErrCut)
			_, err := p.CallTool(t.Context(), "echo", nil)
			require.Error(t, err)
			synctest.Wait()
			require.Equal(t, client.ServerFailed, p.Health()[1].State)
			return time.Until(p.Health()[1].NextAttempt)
		}
		time.Sleep(32 * time.Second) // 1 + 2 + 4 + 8 + 16, if no wait is shortened
		require.Equal(t, client.ServerConnected, p.Health()[1].State)
		require.LessOrEqual(t, lose(2*time.Minute), time.Second)
		time.Sleep(2 * time.Second)
		require.Greater(t, lose(time.Second), time.Second, "one that has not lasted does not")
	})
}

// Asked for, a program that is held or does not get ready is not waited for: it is
// connected to anew, at once.
func TestPoolReconnectEndsAHold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		second func(s *fakeServer)
		state  client.ServerState
	}{
		"held":      {func(s *fakeServer) { s.crashesOn("initialize") }, client.ServerFailed},
		"not ready": {func(s *fakeServer) { s.on("initialize", func(jsonrpc.Request) any { return nil }) }, client.ServerConnecting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				programs := &fakePrograms{t: t, set: func(n int, s *fakeServer) error {
					if n == 2 {
						tt.second(s)
					}
					return nil
				}}
				a := spec("a", programs)
				a.Options = []client.Option{sessionEra, client.WithVerdicts(nil), client.WithRestart(client.Restart{Crashes: 2, Hold: time.Hour, MaxHold: time.Hour, StartTimeout: time.Hour})}
				p, err := client.OpenPool(t.Context(), []client.ServerSpec{a})
				require.NoError(t, err)
				defer func() { require.NoError(t, p.Close()) }()
				programs.last().crash()
				time.Sleep(time.Second)
				require.Equal(t, tt.state, p.Health()[0].State)
				began := time.Now()
				require.NoError(t, p.Reconnect(t.Context(), "a"))
				require.Less(t, time.Since(began), 2*time.Second)
				require.Equal(t, client.ServerConnected, p.Health()[0].State)
				require.Equal(t, 3, programs.count())
				_, err = p.CallTool(t.Context(), "echo", message)
				require.NoError(t, err)
			})
		})
	}
}

// The error of a call says what the pool is going to do, which is not what the
// client alone could: it connects again to a program that its client does not start
// again, too.
func TestPoolSaysWhenItTriesAgain(t *testing.T) {
	t.Parallel()
	gone := func(int) error {
		return &transport.Failure{Reason: transport.ReasonConfig, NotSent: true, Err: errors.New("no such program")}
	}
	for name, tt := range map[string]struct {
		after func(try int) error // how the next try goes
		opts  []client.PoolOption
		again bool
	}{
		"it comes back": {func(int) error { return nil }, nil, true},
		"it is away":    {refuses, nil, true},
		"it is gone":    {gone, nil, true},
		"nobody tries":  {refuses, []client.PoolOption{client.WithReconnect(0, 0)}, false},
		"tried by hand": {gone, []client.PoolOption{client.WithReconnect(0, 0)}, false},
		"its own times": {func(int) error { return nil }, []client.PoolOption{client.WithReconnect(time.Second, time.Second)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := toolServer(t, "a", "echo")
				program := &moody{Transport: s.Transport(), mood: func(try int) error {
					if try == 1 {
						return nil
					}
					return tt.after(try)
				}}
				off := client.WithServerOptions(func(string) []client.Option {
					return []client.Option{client.WithRestart(client.Restart{Off: true})}
				})
				p, err := client.OpenPool(t.Context(), []client.ServerSpec{spec("a", program)}, append(tt.opts, off)...)
				require.NoError(t, err)
				defer func() { require.NoError(t, p.Close()) }()
				_, err = p.Tools(t.Context())
				require.NoError(t, err)
				s.Fail(1, clienttest.ErrCut)
				_, err = p.CallTool(t.Context(), "echo", nil)
				require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
				for range 3 {
					_, err = p.CallTool(t.Context(), "echo", nil)
					require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), "%v", err)
					require.NotContains(t, err.Error(), "close this client", "that is not the application's to do")
					synctest.Wait()
				}
				h := p.Health()[0]
				require.Equal(t, client.ServerFailed, h.State)
				_, err = p.CallTool(t.Context(), "echo", nil)
				require.Equal(t, tt.again, mcperrors.Retryable(err), "%v", err)
				require.Equal(t, tt.again, !h.NextAttempt.IsZero())
				if !tt.again {
					require.Zero(t, mcperrors.RetryAfter(err))
					return
				}
				require.Equal(t, time.Until(h.NextAttempt), mcperrors.RetryAfter(err))
				require.LessOrEqual(t, mcperrors.RetryAfter(err), client.DefaultRetryFirst, "a program that has ended can be started")
				time.Sleep(mcperrors.RetryAfter(err) + time.Millisecond)
				require.Equal(t, int32(2), program.tries.Load(), "it was tried when the error said")
				_, err = p.CallTool(t.Context(), "echo", nil)
				if tt.after(2) == nil {
					require.NoError(t, err)
					return
				}
				require.True(t, mcperrors.Retryable(err), "%v", err)
				require.Equal(t, time.Until(p.Health()[0].NextAttempt), mcperrors.RetryAfter(err))
			})
		})
	}
}
