package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/pool"
)

func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		files, web := toolServer(t, "files", "search", "read"), toolServer(t, "web", "search")
		prompts := clienttest.NewServer(t)
		prompts.SetCapabilities(mcp.ServerCapabilities{Prompts: &mcp.ListChangedCapability{}})
		p, err := pool.Open(t.Context(), []pool.Server{
			serverAt("files", files.Transport()), serverAt("web", web.Transport()), serverAt("prompts", prompts.Transport()),
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		require.Equal(t, []string{"files", "web", "prompts"}, p.Servers())
		require.Empty(t, p.Failures())

		// A name that was not listed yet is searched for.
		text, err := client.CallAs[string](t.Context(), p, "read", nil)
		require.NoError(t, err)
		require.Equal(t, "files/read", text)
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		require.Empty(t, list.Failures)
		require.Equal(t, []string{"files__search", "read", "web__search"}, toolNames(list))
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
		require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
		_, err = p.Client("nobody")
		require.ErrorContains(t, err, `the pool has no server "nobody"; it has files, web, prompts`)
		c, err := p.Client("prompts")
		require.NoError(t, err)
		require.False(t, c.HasCapability("tools"))

		health := p.Health()
		require.Equal(t, pool.Connected, health[1].State)
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
		require.Equal(t, pool.Closed, p.Health()[0].State)
	})
}

// A server that hangs, refuses, or exits during the handshake delays neither Open nor calls
// to other servers.
func TestPoolWithBadServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log eventLog
		good := toolServer(t, "good", "echo")
		dies := clienttest.NewServer(t)
		dies.On("initialize", func(*clienttest.Call) (any, error) { return nil, clienttest.ErrCut })
		mute := clienttest.NewServer(t)
		release := make(chan struct{})
		mute.Tool("late", "", func(*clienttest.Call) (any, error) { return clienttest.Text("late"), nil })
		hanging := &moody{Transport: mute.Transport(), mood: func(int) error { <-release; return nil }}
		began := time.Now()
		servers := []pool.Server{
			serverAt("hangs", hanging), serverAt("never", &moody{Transport: mute.Transport(), mood: hangs}),
			serverAt("refuses", &moody{Transport: good.Transport(), mood: refuses}), serverAt("dies", dies.Transport()),
			{Name: "unset", Err: errors.New("the variable TOKEN is not set")},
			serverAt("good", good.Transport()),
		}
		// Far more of them than may be connected to at a time.
		for i := range 40 {
			servers = append(servers, serverAt(fmt.Sprint("never", i), &moody{Transport: mute.Transport(), mood: hangs}))
		}
		p, err := pool.Open(t.Context(), servers, log.option(), pool.WithServerOptions(func(string) []client.Option { return []client.Option{sessionEra} }))
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, time.Since(began), "as long as others may be slow, and no longer")
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
		require.Equal(t, []string{"echo"}, toolNames(list))
		require.Len(t, list.Failures, len(servers)-1)
		_, err = p.CallTool(t.Context(), "late", nil)
		require.ErrorContains(t, err, "not connected: hangs")
		require.True(t, mcperrors.Retryable(err))
		require.Zero(t, time.Since(began))

		close(release) // the late one joins, and is reported
		time.Sleep(2 * time.Second)
		require.Contains(t, log.all(), "hangs connected")
		res, err = p.CallTool(t.Context(), "late", nil)
		require.NoError(t, err)
		require.Equal(t, "late", res.Text())

		time.Sleep(pool.DefaultConnectTimeout)
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(p.Failures()["never"]), "%v", p.Failures()["never"])
		require.NoError(t, p.Close())
	})
}

func TestPoolThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	good := func(t *testing.T) pool.Server { return serverAt("good", toolServer(t, "good", "echo").Transport()) }
	bad := func(t *testing.T, mood func(int) error) pool.Server {
		return serverAt("bad", &moody{Transport: toolServer(t, "bad", "echo").Transport(), mood: mood})
	}
	tests := []struct {
		name    string
		servers func(*testing.T) []pool.Server
		opts    []pool.Option
		want    string
		kind    mcperrors.Kind
	}{
		{"none can be had", func(t *testing.T) []pool.Server { return []pool.Server{bad(t, refuses)} }, nil, `none of the 1 servers can be used: server "bad": the server cannot be reached: connection refused`, mcperrors.KindTransport},
		{"all hang", func(t *testing.T) []pool.Server { return []pool.Server{bad(t, hangs)} }, nil, "none of the 1 servers can be used", mcperrors.KindTransport},
		{"a required one refuses", func(t *testing.T) []pool.Server { return []pool.Server{good(t), bad(t, refuses)} }, []pool.Option{pool.WithRequiredServers("bad")}, `the required server "bad" cannot be used`, mcperrors.KindTransport},
		{"a required one hangs", func(t *testing.T) []pool.Server { return []pool.Server{good(t), bad(t, hangs)} }, []pool.Option{pool.WithRequiredServers("bad")}, `the required server "bad" cannot be used`, mcperrors.KindTransport},
		{"an unknown one is required", func(t *testing.T) []pool.Server { return []pool.Server{good(t)} }, []pool.Option{pool.WithRequiredServers("goood")}, `the pool has no server "goood"`, mcperrors.KindInvalidArguments},
		{"the same twice", func(t *testing.T) []pool.Server { return []pool.Server{good(t), good(t)} }, nil, `two servers of the pool are called "good"`, mcperrors.KindInvalidArguments},
		{"no name", func(t *testing.T) []pool.Server { return []pool.Server{{Transport: good(t).Transport}} }, nil, "no name", mcperrors.KindInvalidArguments},
		{"no transport", func(*testing.T) []pool.Server { return []pool.Server{{Name: "x"}} }, nil, `server "x" has no transport`, mcperrors.KindInvalidArguments},
		{"wrong options of a server", func(t *testing.T) []pool.Server { return []pool.Server{good(t)} }, []pool.Option{pool.WithServerOptions(func(string) []client.Option { return []client.Option{client.WithProtocolVersion("1")} })}, `server "good": WithProtocolVersion`, mcperrors.KindInvalidArguments},
		{"a wrong timeout", nil, []pool.Option{pool.WithConnectTimeout(0)}, "WithConnectTimeout", mcperrors.KindInvalidArguments},
		{"a wrong wait", nil, []pool.Option{pool.WithStartupWait(-1)}, "WithStartupWait", mcperrors.KindInvalidArguments},
		{"a wrong limit", nil, []pool.Option{pool.WithConnectLimit(0)}, "WithConnectLimit", mcperrors.KindInvalidArguments},
		{"wrong tries", nil, []pool.Option{pool.WithReconnect(2, 1)}, "WithReconnect", mcperrors.KindInvalidArguments},
		{"a wrong naming", nil, []pool.Option{pool.WithNaming(pool.Naming{Policy: 9})}, "naming policy", mcperrors.KindInvalidArguments},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var servers []pool.Server
				if tt.servers != nil {
					servers = tt.servers(t)
				}
				p, err := pool.Open(t.Context(), servers, tt.opts...)
				require.Nil(t, p)
				require.ErrorContains(t, err, tt.want)
				require.Equal(t, tt.kind, mcperrors.KindOf(err))
				require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
			})
		})
	}
}

// The context limits opening: its cancellation ends it, and after its deadline the
// connected servers stay.
func TestPoolContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good := serverAt("good", toolServer(t, "good", "echo").Transport())
		hanging := serverAt("hangs", &moody{Transport: good.Transport, mood: hangs})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p, err := pool.Open(ctx, []pool.Server{good, hanging})
		require.NoError(t, err)
		_, err = p.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err, "the pool lives on")
		require.NoError(t, p.Close())

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = pool.Open(ctx, []pool.Server{hanging})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = pool.Open(ctx, []pool.Server{good, hanging})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err))

		p, err = pool.Open(t.Context(), nil)
		require.NoError(t, err, "a host without servers")
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		require.Empty(t, list.Tools)
		require.NoError(t, p.Close())
	})
}

// A server that hangs blocks the connecting of others for 5 s at most.
func TestPoolPlacesForConnecting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good := toolServer(t, "good", "echo")
		servers := []pool.Server{serverAt("good", good.Transport())}
		for i := range 8 {
			servers = append(servers, serverAt(fmt.Sprint("never", i), &moody{Transport: good.Transport(), mood: hangs}))
		}
		began := time.Now()
		p, err := pool.Open(t.Context(), servers, pool.WithConnectLimit(1), pool.WithStartupWait(0))
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), 8*5*time.Second, "whichever came first")
		require.NoError(t, p.Close())
	})
}
