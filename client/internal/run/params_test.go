package run

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The params of an attempt: the caller's, those of the round, and _meta.
func TestSeal(t *testing.T) {
	t.Parallel()
	session := &link.Link{Agreed: link.Nothing}
	stateless := &link.Link{Agreed: &link.Agreement{Era: mcp.EraStateless, Meta: []byte(`"era":1`)}}
	id := jsonrpc.StringID("x")
	for _, tt := range []struct {
		name string
		call Call
		want string
	}{
		{"nothing", Call{Attempt: Attempt{Link: session}}, ``},
		{"params", Call{Attempt: Attempt{Link: session}, Params: []byte(`{"a":1`)}, `{"a":1}`},
		{"a token", Call{Attempt: Attempt{Link: session, ID: id, Token: true}}, `{"_meta":{"progressToken":"x"}}`},
		{"a round", Call{Attempt: Attempt{Link: session}, Round: []byte(`"requestState":"s"`)}, `{"requestState":"s"}`},
		{
			"everything",
			Call{
				Request: Request{Meta: []byte(`"own":3`)}, Attempt: Attempt{Link: stateless, ID: id, Token: true, Stamp: []byte(`"stamp":2`)},
				Params: []byte(`{"a":1`), Round: []byte(`"requestState":"s"`),
			},
			`{"a":1,"requestState":"s","_meta":{"era":1,"progressToken":"x","stamp":2,"own":3}}`,
		},
	} {
		for range 2 { // the next attempt has the same params
			require.Equal(t, tt.want, string(tt.call.Seal()), tt.name)
		}
	}
}

// Params that the transport keeps are not overwritten by the next attempt.
func TestSealKeepsLargeParams(t *testing.T) {
	t.Parallel()
	for size, kept := range map[int]bool{10: false, MaxBuffer: true} {
		c := Call{Attempt: Attempt{Link: &link.Link{Agreed: link.Nothing}, ID: jsonrpc.StringID("1"), Token: true}}
		c.Params = []byte(`{"a":"` + strings.Repeat("x", size) + `"`)
		first := c.Seal()
		before := string(first)
		require.Equal(t, kept, c.Kept)
		c.ID = jsonrpc.StringID("2")
		second := c.Seal()
		require.Equal(t, kept, string(first) == before)
		require.Contains(t, string(second), `"progressToken":"2"`)
	}
}

// Headers repeat parts of an attempt if each request is an HTTP exchange of its own.
func TestFrame(t *testing.T) {
	t.Parallel()
	agreed := &link.Agreement{Era: mcp.EraStateless, Version: mcp.Version2026_07_28}
	c := New(mcp.MethodToolsCall)
	c.Name = "echo"
	c.Link = &link.Link{Agreed: agreed}
	require.Nil(t, c.Frame().Mirror)
	c.Link = &link.Link{Agreed: agreed, Traits: transport.Traits{Exchanges: true}}
	req := c.Frame()
	require.Equal(t, &transport.Mirror{Version: string(mcp.Version2026_07_28), Name: "echo"}, req.Mirror)
	require.Equal(t, 2, c.Attempts)
}

// The caller's _meta is kept separately, and has no keys of the protocol.
func TestSetParams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, params, meta, err string }{
		{"", "", "", ""},
		{`{}`, `{`, "", ""},
		{`{"a":1}`, `{"a":1`, "", ""},
		{`{"a":1,"_meta":{"x":2},"b":3}`, `{"a":1,"b":3`, `"x":2`, ""},
		{`{"_meta":{"io.modelcontextprotocol/x":2}}`, `{`, "", "io.modelcontextprotocol/x"},
	} {
		c := New("x")
		err := c.SetParams(json.RawMessage(tt.raw))
		require.Equal(t, tt.params, string(c.Params), tt.raw)
		require.Equal(t, tt.meta, string(c.Meta), tt.raw)
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err)
			require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
			continue
		}
		require.NoError(t, err)
	}
}

// The target of a request is read from its params.
func TestSetTarget(t *testing.T) {
	t.Parallel()
	const params = `{"name":"n","uri":"u","taskId":"t"}`
	for method, want := range map[string][2]string{
		mcp.MethodToolsCall:     {"n", "n"},
		mcp.MethodPromptsGet:    {"n", ""},
		mcp.MethodResourcesRead: {"u", ""},
		mcp.MethodTasksGet:      {"t", ""},
		mcp.MethodToolsList:     {"", ""},
	} {
		c := New(method)
		c.SetTarget(json.RawMessage(params))
		require.Equal(t, want, [2]string{c.Name, c.Tool}, method)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		``:                                ``,
		`{"name":"x"`:                     ``,
		`{"name":"x","arguments":{"a":1}`: `{"a":1}`,
	} {
		c := Call{Params: []byte(params)}
		require.Equal(t, want, string(c.Arguments()), params)
	}
}

// Members of _meta are valid and unique.
func TestMeta(t *testing.T) {
	t.Parallel()
	q := Request{Meta: []byte(`"a":1`)}
	require.NoError(t, q.AddMeta(map[string]any{"b": 2}))
	require.JSONEq(t, `{"a":1,"b":2}`, "{"+string(q.Meta)+"}")
	require.NoError(t, q.CheckMeta(true))
	require.False(t, q.HasToken())
	require.Error(t, q.AddMeta(map[string]any{"io.modelcontextprotocol/x": 1}))
	require.Error(t, q.AddMeta(map[string]any{"x": func() {}}))

	require.NoError(t, q.AddMeta(map[string]any{"a": 2}))
	require.Error(t, q.CheckMeta(false), "a is there twice")
	q = Request{Meta: []byte(`"progressToken":1`)}
	require.True(t, q.HasToken())
	require.NoError(t, q.CheckMeta(false))
	require.Error(t, q.CheckMeta(true), "WithProgress brings one too")
}

func TestAskForTask(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]string{
		0: `{"a":1,"task":{}`, time.Nanosecond: `{"a":1,"task":{"ttl":1}`, time.Minute: `{"a":1,"task":{"ttl":60000}`,
	} {
		c := Call{Params: []byte(`{"a":1`)}
		require.True(t, c.Cancelable())
		c.AskForTask(ttl)
		require.Equal(t, want, string(c.Params))
		require.Equal(t, TaskAsked, c.Task)
		require.False(t, c.Cancelable())
	}
}

// The members of a round do not remain in the params.
func TestCutRound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ params, want, round string }{
		{``, ``, ``},
		{`{"a":1`, `{"a":1`, ``},
		{`{"requestState":"s","a":1,"inputResponses":{}`, `{"a":1`, `"requestState":"s","inputResponses":{}`},
	} {
		c := Call{Params: []byte(tt.params)}
		c.CutRound()
		require.Equal(t, tt.want, string(c.Params))
		require.Equal(t, tt.round, string(c.Round))
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	answers := mcp.InputResponses{"k": json.RawMessage(`{"action":"accept"}`)}
	call := func() Call { return New(mcp.MethodToolsCall) }
	c := call()
	require.Nil(t, c.Resume(mcp.Version2026_07_28, answers, json.RawMessage(`"s"`)))
	require.Equal(t, `"inputResponses":{"k":{"action":"accept"}},"requestState":"s"`, string(c.Round))
	require.ErrorIs(t, c.Resume(mcp.Version2026_07_28, answers, nil), errRoundTwice)
	c = call()
	require.Error(t, c.Resume(mcp.Version2025_11_25, answers, nil), "sessions never ask so")
	require.Error(t, c.Resume(mcp.Version2026_07_28, answers, json.RawMessage(`1`)))
	require.Nil(t, c.Round)
}

// A key is for a round, and each attempt has a number in it.
func TestStamp(t *testing.T) {
	t.Parallel()
	key := "order-1"
	c := Call{Request: Request{Options: Options{IdempotencyKey: &key}}}
	require.Nil(t, c.SetStamp("com.example", math.MaxInt64))
	require.Equal(t, `"com.example/idempotencyKey":"order-1","com.example/attempt":1`, string(c.Stamp))
	c.Attempts = 1
	require.Nil(t, c.SetStamp("com.example", 1500*time.Millisecond))
	require.Equal(t, `"com.example/idempotencyKey":"order-1","com.example/attempt":2,"com.example/deadlineMs":1500`, string(c.Stamp))

	c.NextRound([]byte(`"requestState":"s"`))
	require.Nil(t, c.SetStamp("com.example", -1))
	require.Contains(t, string(c.Stamp), `"com.example/attempt":1,"com.example/deadlineMs":0`)

	c = Call{}
	require.Nil(t, c.SetStamp("com.example", math.MaxInt64))
	made := c.Key
	require.Len(t, made, 36)
	c.Link = &link.Link{Agreed: link.Nothing}
	require.False(t, c.KeyAccepted("com.example"))
	require.Nil(t, c.SetStamp("com.example", math.MaxInt64))
	require.Equal(t, made, c.Key)
}
