package client_test

import (
	"bytes"
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
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},
"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.2.3"}}}`

// speaking connects to a fake server in one revision, in a bubble.
func speaking(t *testing.T, version string, f func(t *testing.T, c *client.Client, s *fakeServer), opts ...client.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.result("initialize", strings.Replace(initResult, "2025-11-25", version, 1))
		s.result("server/discover", discovered)
		c, err := client.Connect(t.Context(), tr, append([]client.Option{client.WithProtocolVersion(version)}, opts...)...)
		require.NoError(t, err)
		f(t, c, s)
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// lines is a log to look at. The client writes to it on a goroutine of its own,
// which text waits for.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
	log *slog.Logger
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) logger() *slog.Logger {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		l.log = callback.Logger(slog.New(slog.NewTextHandler(l, nil)), nil)
	}
	return l.log
}

func (l *lines) text() string {
	callback.Flush(l.logger(), time.Minute)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// String is text.
func (l *lines) String() string { return l.text() }

// request sends a request of the server's own.
func (s *fakeServer) request(id int, method, params string) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
}

// told waits until nothing happens any more and returns the client's answer to a
// request: a result, or an error as "code message"; "" for none.
func (s *fakeServer) told(id int) string {
	synctest.Wait()
	answer := ""
	for _, line := range s.received() {
		m, err := jsonrpc.Decode([]byte(line))
		require.NoError(s.t, err)
		resp, ok := m.(jsonrpc.Response)
		if !ok || resp.ID != jsonrpc.IntID(int64(id)) {
			continue
		}
		require.Empty(s.t, answer, "answered twice")
		if answer = string(resp.Result); resp.Error != nil {
			answer = fmt.Sprintf("%d %s", resp.Error.Code, resp.Error.Message)
		}
	}
	return answer
}

// pass lets time go by; speaking runs its function in a bubble.
func pass(d time.Duration) { <-time.After(d) }

// Handlers that say yes.
func sampleYes(_ context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
	asked := r.Params.Messages[len(r.Params.Messages)-1].Content[0].(*mcp.TextContent).Text
	return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "re: " + asked}}}, nil
}

func formYes(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
	return client.AcceptForm(map[string]any{"name": "Ada"})
}

func urlYes(context.Context, client.URLRequest) (mcp.ElicitAction, error) {
	return mcp.ElicitAccept, nil
}

const (
	askSample = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}`
	askForm   = `{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`
	askURL    = `{"mode":"url","message":"sign","url":"https://example.com/sign","elicitationId":"e1"}`

	saidSample = `{"role":"assistant","content":{"type":"text","text":"re: hi"},"model":"m"}`
	saidForm   = `{"action":"accept","content":{"name":"Ada"}}`
	saidRoots  = `{"roots":[{"uri":"file:///work","name":"w"}]}`
)

var everything = []client.Option{
	client.OnSampling(sampleYes), client.OnElicitForm(formYes), client.OnElicitURL(urlYes),
	client.WithRoots(mcp.Root{URI: "file:///work", Name: "w"}),
}

// A client declares what it has handlers for, in the
// words of the revision.
func TestCapabilitiesByRevision(t *testing.T) {
	t.Parallel()
	tools := client.OnSampling(sampleYes, client.SamplingTools, client.SamplingContext)
	ext := client.WithCapabilities(mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{"com.example/x": json.RawMessage(`{"a":1}`)}})
	all := []client.Option{tools, client.OnElicitForm(formYes), client.OnElicitURL(urlYes), client.WithRoots(), ext}
	tests := []struct {
		version, want string
		opts          []client.Option
	}{
		{"2024-11-05", `{}`, nil},
		{"2026-07-28", `{}`, nil},
		{"2024-11-05", `{"roots":{"listChanged":true},"sampling":{},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2025-03-26", `{"roots":{"listChanged":true},"sampling":{},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2025-06-18", `{"roots":{"listChanged":true},"sampling":{},"elicitation":{},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2025-11-25", `{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2026-07-28", `{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"com.example/x":{"a":1}}}`, all},
		{"2025-06-18", `{}`, []client.Option{client.OnElicitURL(urlYes)}},
		{"2025-11-25", `{"elicitation":{"url":{}}}`, []client.Option{client.OnElicitURL(urlYes)}},
		{"2025-11-25", `{"experimental":{"a":{},"b":{"n":2}},"extensions":{"com.example/x":{"a":1}},"x":1,"y":3}`, []client.Option{
			client.WithCapabilities(mcp.ClientCapabilities{
				Experimental: map[string]json.RawMessage{"a": json.RawMessage(`{}`), "b": json.RawMessage(`{"n":1}`)},
				Extra:        mcp.Members{{Name: "x", Value: json.RawMessage(`1`)}, {Name: "y", Value: json.RawMessage(`2`)}},
			}), ext,
			client.WithCapabilities(mcp.ClientCapabilities{
				Experimental: map[string]json.RawMessage{"b": json.RawMessage(`{"n":2}`)},
				Extra:        mcp.Members{{Name: "y", Value: json.RawMessage(`3`)}},
			}),
		}},
		{"2026-07-28", `{"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/x":{"a":1}}}`, []client.Option{client.WithTasks(), ext}},
		{"2025-11-25", `{"sampling":{}}`, []client.Option{client.OnSampling(sampleYes)}},
		{"2025-11-25", `{"sampling":{"context":{},"tools":{}},"elicitation":{}}`, []client.Option{tools, client.WithCapabilities(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}})}},
	}
	for _, tt := range tests {
		speaking(t, tt.version, func(t *testing.T, c *client.Client, s *fakeServer) {
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
			for _, line := range s.received() {
				var m struct {
					Method string
					Params struct {
						Capabilities json.RawMessage
						Meta         map[string]json.RawMessage `json:"_meta"`
					}
				}
				require.NoError(t, json.Unmarshal([]byte(line), &m))
				switch {
				case tt.version == "2026-07-28": // on each request
					require.JSONEq(t, tt.want, string(m.Params.Meta[mcp.MetaClientCapabilities]), m.Method)
				case m.Method == "initialize":
					require.JSONEq(t, tt.want, string(m.Params.Capabilities))
				}
			}
		}, tt.opts...)
	}
}

// Ids need a prefix, settings are objects.
func TestExtensionsAreChecked(t *testing.T) {
	t.Parallel()
	for id, settings := range map[string]string{"noprefix": `{}`, "1bad.label/x": `{}`, "com.example/": `[]`, "com.example/x": `true`, "com.example/y": ``} {
		tr, _ := newFake(t)
		_, err := client.Connect(t.Context(), tr, client.WithCapabilities(mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{id: json.RawMessage(settings)}}))
		require.ErrorContains(t, err, "extension", id)
	}
}

// One registration answers requests of the session era and rounds of
// the stateless one, in the same words.
func TestOneHandlerForBothEras(t *testing.T) {
	t.Parallel()
	want := map[string]string{"sampling/createMessage": saidSample, "elicitation/create": saidForm, "roots/list": saidRoots}
	asks := map[string]string{"sampling/createMessage": askSample, "elicitation/create": askForm, "roots/list": `{}`}
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		for method, answer := range want {
			s.request(len(method), method, asks[method])
			require.JSONEq(t, answer, s.told(len(method)))
		}
	}, everything...)
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		rounds := s.askFirst(asks)
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		require.Len(t, *rounds, 2)
		for method, answer := range want {
			require.JSONEq(t, answer, string((*rounds)[1].InputResponses[method]))
		}
	}, everything...)
}

// round is what a fake server got of one request of a call.
type round struct {
	id             string
	raw            string
	Name           string
	Arguments      json.RawMessage
	InputResponses map[string]json.RawMessage
	RequestState   *string
	Meta           struct {
		ProgressToken json.RawMessage
	} `json:"_meta"`
}

// askFirst makes tools/call ask for requests, by method, before it answers.
func (s *fakeServer) askFirst(requests map[string]string) *[]round {
	entries := make([]string, 0, len(requests))
	for method, params := range requests {
		entries = append(entries, fmt.Sprintf(`%q:{"method":%q,"params":%s}`, method, method, params))
	}
	return s.script(`{"resultType":"input_required","inputRequests":{`+strings.Join(entries, ",")+`}}`, plainResult)
}

const plainResult = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

// script makes tools/call return the results one after the other, and the last one
// forever.
func (s *fakeServer) script(results ...string) *[]round {
	rounds := &[]round{}
	s.on("tools/call", func(req jsonrpc.Request) any {
		var r round
		if err := json.Unmarshal(req.Params, &r); err != nil {
			s.t.Errorf("params: %v", err)
		}
		r.id, r.raw = req.ID.String(), string(req.Params)
		*rounds = append(*rounds, r)
		return rawLine(string(jsonrpc.Response{ID: req.ID, Result: json.RawMessage(results[min(len(*rounds), len(results))-1])}.AppendJSON(nil)))
	})
	return rounds
}

// What was not declared is refused, with the code of
// the table.
func TestUndeclaredRequests(t *testing.T) {
	t.Parallel()
	form := []client.Option{client.OnElicitForm(formYes)}
	tests := []struct {
		version, method, params, want string
		opts                          []client.Option
	}{
		{"2025-11-25", "sampling/createMessage", askSample, "-32601", nil},
		{"2025-11-25", "elicitation/create", askForm, "-32601", nil},
		{"2025-11-25", "roots/list", `{}`, "-32601", nil},
		{"2025-11-25", "foo/bar", `{}`, "-32601", everything},
		{"2025-11-25", "tools/list", `{}`, "-32601", everything},
		{"2025-11-25", "tasks/get", `{"taskId":"t"}`, "-32601", everything},
		{"2025-03-26", "elicitation/create", askForm, "-32601", everything},
		{"2024-11-05", "elicitation/create", askForm, "-32601", everything},
		{"2025-11-25", "elicitation/create", askURL, "-32602", form},
		{"2025-06-18", "elicitation/create", askURL, "-32602", everything},
		{"2025-11-25", "elicitation/create", askForm, "-32602", []client.Option{client.OnElicitURL(urlYes)}},
		{"2025-11-25", "elicitation/create", `{"mode":"telepathy","message":"m"}`, "-32602", everything},
		{"2025-11-25", "elicitation/create", `{"message":"m"}`, "-32602", everything},
		{"2025-11-25", "elicitation/create", `{"message":"m","requestedSchema":{"type":"array"}}`, "-32602", everything},
		{"2025-11-25", "elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":7}}}`, "-32602", everything},
		{"2025-11-25", "sampling/createMessage", `{"messages":[]}`, "-32602", everything},
		{"2025-11-25", "sampling/createMessage", `{"messages":[],"maxTokens":1,"tools":[{"name":"x","inputSchema":{}}]}`, "-32602", everything},
		{"2025-11-25", "sampling/createMessage", `{"messages":[],"maxTokens":1,"toolChoice":{}}`, "-32602", everything},
		// Offered by hand without anybody to ask: nobody chose.
		{"2025-11-25", "elicitation/create", askForm, `{"action":"cancel"}`, []client.Option{client.WithCapabilities(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}})}},
		{"2025-06-18", "elicitation/create", askForm, saidForm, form},
		{"2024-11-05", "sampling/createMessage", askSample, saidSample, everything},
		// What belongs to another revision is ignored where it does no harm.
		{"2025-11-25", "elicitation/create", strings.Replace(askForm, `{"message"`, `{"task":{"ttl":1},"mode":"form","message"`, 1), saidForm, form},
	}
	for i, tt := range tests {
		speaking(t, tt.version, func(t *testing.T, _ *client.Client, s *fakeServer) {
			s.request(i, tt.method, tt.params)
			require.Truef(t, strings.HasPrefix(s.told(i), tt.want), "%s %s %s: %s", tt.version, tt.method, tt.params, s.told(i))
		}, tt.opts...)
	}
}

// A handler's outcome reaches the server in the terms of its kind; the reason of a
// failure does not.
func TestHandlerOutcomes(t *testing.T) {
	t.Parallel()
	secret := errors.New("secret key 123")
	own := &jsonrpc.Error{Code: 7, Message: "ask again"}
	tests := []struct {
		name                   string
		res                    *mcp.ElicitResult
		err                    error
		panics                 bool
		sampling, form, errand string
	}{
		{"rejected", nil, fmt.Errorf("asked: %w", client.ErrRejected), false, "-1 User rejected sampling request", `{"action":"decline"}`, `{"action":"decline"}`},
		{"fails", nil, secret, false, "-32603 The request could not be handled", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"its own error", nil, own, false, "7 ask again", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"panics", nil, nil, true, "-32603 The request could not be handled", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"nothing", nil, nil, false, "-32603 The request could not be handled", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"declines", &mcp.ElicitResult{Action: mcp.ElicitDecline, Content: json.RawMessage(`{"name":7}`)}, nil, false, "", `{"action":"decline"}`, `{"action":"decline"}`},
		{"cancels", &mcp.ElicitResult{Action: mcp.ElicitCancel, Content: json.RawMessage(`{"name":7}`)}, nil, false, "", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"an action of its own", &mcp.ElicitResult{Action: "maybe", Content: json.RawMessage(`{"name":"x"}`)}, nil, false, "", `{"action":"cancel"}`, `{"action":"cancel"}`},
		{"content that does not fit", &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":7}`)}, nil, false, "", `{"action":"cancel"}`, `{"action":"accept"}`},
		{"content that is no object", &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`[]`)}, nil, false, "", `{"action":"cancel"}`, `{"action":"accept"}`},
		{"both", &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"x"}`)}, secret, false, "", `{"action":"cancel"}`, `{"action":"cancel"}`},
	}
	for i, tt := range tests {
		logs := &lines{}
		speaking(t, "2025-11-25", func(t *testing.T, c *client.Client, s *fakeServer) {
			for j, ask := range []struct{ method, params, want string }{
				{"sampling/createMessage", askSample, tt.sampling}, {"elicitation/create", askForm, tt.form}, {"elicitation/create", askURL, tt.errand},
			} {
				if ask.want == "" {
					continue
				}
				s.request(10*i+j, ask.method, ask.params)
				require.Equal(t, ask.want, s.told(10*i+j), tt.name)
			}
			require.NotContains(t, strings.Join(s.received(), "\n"), "secret")
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err, "the client works on")
		},
			client.WithLogger(logs.logger()),
			client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
				if tt.panics {
					panic("secret")
				}
				return nil, tt.err
			}),
			client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
				if tt.panics {
					panic("secret")
				}
				return tt.res, tt.err
			}),
			client.OnElicitURL(func(context.Context, client.URLRequest) (mcp.ElicitAction, error) {
				if tt.panics {
					panic("secret")
				}
				if tt.res == nil {
					return "", tt.err
				}
				return tt.res.Action, tt.err
			}))
		if tt.name == "content that does not fit" {
			require.Contains(t, logs.text(), "does not fit the form", "the handler's author learns why")
			require.Contains(t, logs.text(), "must be a string, got an integer")
		}
	}
}

// A handler learns from the client which server asks, and for which call.
func TestHandlersLearnWhoAsks(t *testing.T) {
	t.Parallel()
	var got []client.Requester
	opt := client.OnElicitForm(func(_ context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
		got = append(got, r.From)
		return client.AcceptForm(map[string]string{"name": "x"})
	})
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		s.request(1, "elicitation/create", askForm)
		require.NotEmpty(t, s.told(1))
	}, opt, client.WithName("files"))
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		s.askFirst(map[string]string{"elicitation/create": askForm})
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
	}, opt, client.WithName("files"))
	require.Len(t, got, 2)
	for _, from := range got {
		require.Equal(t, "files", from.Server)
		require.Equal(t, "fake", from.Claimed.Name)
	}
	require.Empty(t, got[0].Method)
	require.Equal(t, "tools/call", got[1].Method)
	require.Equal(t, "echo", got[1].Tool)
}

// The server withdraws: the handler's context ends, nothing is
// answered, and nobody else is disturbed.
func TestServerWithdraws(t *testing.T) {
	t.Parallel()
	var ended atomic.Int32
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		s.request(1, "sampling/createMessage", askSample)
		s.request(2, "sampling/createMessage", askSample)
		synctest.Wait()
		s.notify("notifications/cancelled", `{"requestId":99}`)
		s.notify("notifications/cancelled", `{"requestId":"1"}`)
		synctest.Wait()
		require.Zero(t, ended.Load())
		s.notify("notifications/cancelled", `{"requestId":1,"reason":"done"}`)
		synctest.Wait()
		require.Equal(t, int32(1), ended.Load())
		require.Empty(t, s.told(1))
		require.Empty(t, s.told(2))
	}, client.OnSampling(func(ctx context.Context, _ client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		<-ctx.Done()
		ended.Add(1)
		return nil, ctx.Err()
	}))
	require.Equal(t, int32(2), ended.Load(), "Close ends the other")
}

// Handlers that block hold up neither pings nor calls, and one
// that does not even listen to its context holds up Close for a second only.
func TestHandlersBlockNobody(t *testing.T) {
	t.Parallel()
	var release chan struct{}
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		release = make(chan struct{})
		c, err := client.Connect(t.Context(), tr, client.WithProtocolVersion("2025-11-25"),
			client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
				<-release
				return nil, nil
			}))
		require.NoError(t, err)
		for id := range 90 {
			s.request(id, "sampling/createMessage", askSample)
		}
		s.request(1000, "ping", `{}`)
		require.Equal(t, `{}`, s.told(1000))
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, c.Close())
		require.LessOrEqual(t, time.Since(began), 1300*time.Millisecond)
		close(release)
	})
}

// Pain 18: a handler may call the server, which may ask again meanwhile.
func TestHandlerMayCallTheServer(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		var c *client.Client
		depth := 0
		speaking(t, version, func(t *testing.T, connected *client.Client, s *fakeServer) {
			c = connected
			if version == "2025-11-25" {
				s.request(1, "sampling/createMessage", askSample)
				require.JSONEq(t, saidSample, s.told(1))
				return
			}
			ask := fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":%s}}}`, askSample)
			s.script(ask, ask, plainResult)
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
			require.Equal(t, 2, depth)
		}, client.WithServerLimits(client.ServerLimits{Handlers: 2}),
			client.OnSampling(func(ctx context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
				depth++
				if _, err := c.CallTool(ctx, "echo", hello); err != nil {
					return nil, err
				}
				return sampleYes(ctx, r)
			}))
	}
}

// A question without an answer ends when a call would.
func TestQuestionsAreNotOpenForEver(t *testing.T) {
	t.Parallel()
	forever := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		s.request(1, "sampling/createMessage", askSample)
		s.request(2, "elicitation/create", askForm)
		pass(10*time.Minute + time.Second)
		require.Equal(t, "-32603 No answer in time", s.told(1))
		require.Equal(t, `{"action":"cancel"}`, s.told(2))
	}, client.OnSampling(func(ctx context.Context, _ client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		return nil, forever(ctx)
	}), client.OnElicitForm(func(ctx context.Context, _ client.FormRequest) (*mcp.ElicitResult, error) {
		return nil, forever(ctx)
	}))
}

// A flood reaches handlers drop by drop, and all of it is
// refused or answered.
func TestFlood(t *testing.T) {
	t.Parallel()
	var running, most, ran atomic.Int32
	speaking(t, "2025-11-25", func(t *testing.T, c *client.Client, s *fakeServer) {
		for id := range 1000 {
			s.request(id, "sampling/createMessage", askSample)
		}
		pass(time.Minute)
		require.LessOrEqual(t, most.Load(), int32(4))
		require.LessOrEqual(t, ran.Load(), int32(50))
		require.Positive(t, ran.Load())
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		s.request(5000, "sampling/createMessage", askSample)
		require.Empty(t, s.told(5000))
		pass(time.Second)
		require.JSONEq(t, saidSample, s.told(5000), "a minute later it may ask again")
	}, client.WithServerLimits(client.ServerLimits{Handlers: 4, QuestionsPerMinute: 50}),
		client.OnSampling(func(ctx context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
			now := running.Add(1)
			defer running.Add(-1)
			most.Store(max(most.Load(), now))
			ran.Add(1)
			pass(time.Second)
			return sampleYes(ctx, r)
		}))
}

// An id that is open cannot be used again.
func TestDuplicateIDs(t *testing.T) {
	t.Parallel()
	var release chan struct{}
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		release = make(chan struct{})
		s.request(1, "sampling/createMessage", askSample)
		synctest.Wait()
		s.request(1, "sampling/createMessage", askSample)
		require.Equal(t, "-32600 This id is in use", s.told(1))
		close(release)
	}, client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		<-release
		return nil, nil
	}))
}

// In the stateless era a request of the server gets no answer, not even
// a ping.
func TestStatelessRequestsAreDropped(t *testing.T) {
	t.Parallel()
	logs := &lines{}
	speaking(t, "2026-07-28", func(t *testing.T, _ *client.Client, s *fakeServer) {
		before := len(s.received())
		for id, method := range []string{"sampling/createMessage", "roots/list", "foo"} {
			s.request(id, method, `{}`)
		}
		synctest.Wait()
		require.Len(t, s.received(), before, "the server gets no answer; over stdio only ping has one")
	}, append(everything, client.WithLogger(logs.logger()))...)
	require.Contains(t, logs.text(), "dropped")
}

// The server may ask as soon as it gets notifications/initialized, which may be before
// the client has finished sending it.
func TestServerAsksAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		c, err := client.Connect(t.Context(), tr, append(everything, client.WithProtocolVersion("2025-11-25"),
			client.WithTrace(transport.Trace{Sent: func(frame []byte) {
				if strings.Contains(string(frame), "notifications/initialized") {
					s.request(1, "roots/list", `{}`)
					pass(time.Second)
				}
			}}))...)
		require.NoError(t, err)
		require.JSONEq(t, saidRoots, s.told(1))
		require.NoError(t, c.Close())
	})
}

// Nobody is asked for a server that is gone.
func TestLostServerEndsItsHandlers(t *testing.T) {
	t.Parallel()
	ended := false
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		s.request(1, "sampling/createMessage", askSample)
		synctest.Wait()
		require.NoError(t, s.conn.Close())
		synctest.Wait()
		require.True(t, ended)
	}, client.OnSampling(func(ctx context.Context, _ client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		<-ctx.Done()
		ended = true
		return nil, ctx.Err()
	}))
}
