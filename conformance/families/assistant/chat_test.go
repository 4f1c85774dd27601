package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/agent"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/mcpconfig"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/registry"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

func TestChat_S4_GEN_03_04_05_FullRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	content := "# A plan | for \"all\"\n\nDo it."
	events := r.chat(t, "thread-7", content, true)
	require.Equal(t, []string{"artifact_created", "message_complete"}, kinds(events))
	var created struct {
		ID, Title string
		Type      string `json:"artifact_type"`
	}
	require.NoError(t, json.Unmarshal([]byte(events[0].data), &created))
	require.Equal(t, `A plan | for "all"`, created.Title)
	require.Equal(t, "generated_file", created.Type)
	var done struct {
		Content string
		Usage   agent.Usage
	}
	require.NoError(t, json.Unmarshal([]byte(events[1].data), &done))
	require.Equal(t, "File generated successfully.", done.Content)
	require.Positive(t, done.Usage.InputTokens)

	res, err := http.Get(r.url + "/api/artifacts/" + created.ID)
	require.NoError(t, err)
	var view map[string]string
	require.NoError(t, json.NewDecoder(res.Body).Decode(&view))
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, content, view["content_markdown"])
	require.Equal(t, "thread-7", view["thread_id"])
	require.Equal(t, "generated_file", view["artifact_type"])
	require.Equal(t, created.Title, view["title"])
	require.NotEmpty(t, view["created_at"])
	require.Len(t, view, 6)
	for _, id := range []string{"00000000-0000-4000-8000-000000000000", "x", "..%2f..", "urn:uuid:" + created.ID, "{" + created.ID + "}"} {
		res, err := http.Get(r.url + "/api/artifacts/" + id)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusNotFound, res.StatusCode, id)
	}
	require.Zero(t, r.tokens.Len()) // S4-REG-02
}

func TestChat_S4_GEN_05_WithoutTheFlag(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, body := range []map[string]any{
		{"content": "hello"},
		{"content": "hello", "artifact_generation": false, "thread_type": "assistant"},
		{"content": "hello", "artifact_generation": true, "thread_type": "ba_assistant"},
	} {
		status, events := r.post(t, "t", body)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, []string{"message_complete"}, kinds(events))
	}
	require.Empty(t, r.store.all())
}

func TestChat_S4_GEN_01_02_PIT_06_Prompts(t *testing.T) {
	t.Parallel()
	got := make(chan agent.Task, 1)
	r := newRig(t, running(&says{do: func(task agent.Task) { got <- task }}))
	prompt := func(body map[string]any) string {
		status, _ := r.post(t, "t", body)
		require.Equal(t, http.StatusOK, status)
		task := <-got
		require.Equal(t, "hi", task.Content)
		return task.System
	}
	require.Empty(t, prompt(map[string]any{"content": "hi"}), "the flag is false by default")
	require.Empty(t, prompt(map[string]any{"content": "hi", "thread_type": "assistant", "artifact_generation": false}))
	with := prompt(map[string]any{"content": "hi", "artifact_generation": true})
	require.Contains(t, with, "save_artifact")
	require.Contains(t, with, "ONCE")
	require.Regexp(t, `session_token='[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}'`, with)
	require.NotEqual(t, with, prompt(map[string]any{"content": "hi", "artifact_generation": true}), "a token a request")
	off := prompt(map[string]any{"content": "hi", "thread_type": "ba_assistant"})
	require.NotEmpty(t, off)
	require.Equal(t, off, prompt(map[string]any{"content": "hi", "thread_type": "ba_assistant", "artifact_generation": true}))
}

// tokenOf takes the token out of a prompt, as an agent does.
func tokenOf(task agent.Task) string {
	_, rest, _ := strings.Cut(task.System, "session_token='")
	token, _, _ := strings.Cut(rest, "'")
	return token
}

func TestChat_S4_PIT_01_RegisteredBeforeThePrompt(t *testing.T) {
	t.Parallel()
	var r *rig
	seen := make(chan string, 2)
	r = newRig(t, running(&says{do: func(task agent.Task) {
		raw, _ := json.Marshal(map[string]any{"session_token": tokenOf(task), "title": "x", "content_markdown": "y"})
		res, _ := handle(context.WithoutCancel(t.Context()), r.saveTool(), raw, r.log)
		seen <- res.Text
	}}))
	r.chat(t, "t", "hi", true)
	require.Contains(t, <-seen, "ARTIFACT_CREATED:")
}

func TestChat_S4_MARK_02_03_PIT_05(t *testing.T) {
	t.Parallel()
	line := func(kind, text string) string {
		quoted, _ := json.Marshal(text)
		switch kind {
		case "result":
			return fmt.Sprintf(`{"type":"result","result":%s}`, quoted)
		case "assistant":
			return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":%s}]}}`, quoted)
		}
		return fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"tool_result","content":%s}]}}`, quoted)
	}
	for name, tt := range map[string]struct {
		saves bool
		kinds []string                 // where the marker stands
		spoil func(text string) string // what becomes of it
		want  []string
	}{
		"result":               {true, []string{"result"}, nil, []string{"artifact_created", "message_complete"}},
		"assistant":            {true, []string{"assistant"}, nil, []string{"artifact_created", "message_complete"}},
		"tool result":          {true, []string{"user"}, nil, []string{"artifact_created", "message_complete"}},
		"everywhere, once":     {true, []string{"user", "assistant", "result"}, nil, []string{"artifact_created", "message_complete"}},
		"lost":                 {true, nil, nil, []string{"artifact_created", "message_complete"}},
		"cut, but saved":       {true, []string{"result"}, func(s string) string { return s[:30] }, []string{"artifact_created", "message_complete"}},
		"invented":             {false, []string{"result"}, nil, []string{"message_complete"}},
		"no bar":               {false, []string{"result"}, func(s string) string { return strings.ReplaceAll(s, "|", "") }, []string{"message_complete"}},
		"broken":               {false, []string{"result"}, func(s string) string { return strings.ReplaceAll(s, "{", "[") }, []string{"message_complete"}},
		"nothing but a prefix": {false, []string{"result"}, func(string) string { return "ARTIFACT_CREATED:" }, []string{"message_complete"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &says{}
			r := newRig(t, running(a))
			a.do = func(task agent.Task) {
				text := `ARTIFACT_CREATED:{"id":"00000000-0000-4000-8000-000000000000","artifact_type":"generated_file","title":"x"}|File generated successfully.`
				if tt.saves {
					raw, _ := json.Marshal(map[string]any{"session_token": tokenOf(task), "title": "x", "content_markdown": "y"})
					res, _ := handle(context.WithoutCancel(t.Context()), r.saveTool(), raw, r.log)
					text = res.Text
				}
				if tt.spoil != nil {
					text = tt.spoil(text)
				}
				for _, k := range tt.kinds {
					a.lines = append(a.lines, line(k, text))
				}
			}
			events := r.chat(t, "t", "hi", true)
			require.Equal(t, tt.want, kinds(events))
			require.NotContains(t, events[len(events)-1].data, "ARTIFACT_CREATED", "no raw marker in what the user reads")
			require.Equal(t, tt.saves, len(r.store.all()) == 1)
			if !tt.saves {
				require.Contains(t, r.logs.String(), "artifact_marker_")
			}
		})
	}
}

// runs is how often a run is repeated: a hundred times, as the requirements
// say, where MAINSTAY_SOAK is set, and else often enough to see the rule.
func runs() int {
	if os.Getenv("MAINSTAY_SOAK") != "" {
		return 100
	}
	return 9
}

func TestChat_S4_PIT_05_HundredRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range runs() {
		if i%3 == 2 {
			r.store.mu.Lock()
			r.store.fault = errFault
			r.store.mu.Unlock()
		}
		before := len(r.store.all())
		events := r.chat(t, "t", fmt.Sprintf("File %d", i), true)
		saved := len(r.store.all()) - before
		require.Equal(t, saved == 1, events[0].name == "artifact_created")
		require.Equal(t, "message_complete", events[len(events)-1].name)
		r.store.mu.Lock()
		r.store.fault = nil
		r.store.mu.Unlock()
	}
	require.Zero(t, r.tokens.Len())
}

func TestChat_S4_REG_02_HoweverItEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, running(&says{err: errors.New("exit status 3")}))
	events := r.chat(t, "t", "hi", true)
	require.Equal(t, []string{"error"}, kinds(events))
	require.Zero(t, r.tokens.Len())

	reported := newRig(t, running(&says{lines: []string{`{"type":"result","is_error":true,"result":"x"}`}}))
	require.Equal(t, []string{"error"}, kinds(reported.chat(t, "t", "hi", true)))

	begun := make(chan struct{})
	ended := make(chan struct{})
	hanging := newRig(t, running(runner(func(ctx context.Context, _ agent.Task, _ func(json.RawMessage)) error {
		close(begun)
		defer close(ended)
		<-ctx.Done()
		return context.Cause(ctx)
	})))
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hanging.url+"/api/threads/t/chat", strings.NewReader(`{"content":"x","artifact_generation":true}`))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	<-begun
	require.Equal(t, 1, hanging.tokens.Len())
	cancel()
	<-ended
	_ = res.Body.Close()
	require.NoError(t, hanging.close(context.WithoutCancel(t.Context())), "it waits for the chat")
	require.Zero(t, hanging.tokens.Len())
	require.Contains(t, hanging.logs.String(), `"level":"INFO","msg":"chat_cancelled"`)
	require.Contains(t, hanging.logs.String(), `"cause":"the client disconnected"`)
	require.NotContains(t, hanging.logs.String(), `"level":"ERROR"`, "a client that leaves is no error")
}

// A chat that took too long is an error.
func TestChat_TooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		s, err := newService(Options{Store: &memory{}, Logger: slog.New(slog.NewJSONHandler(l, nil)), runner: runner(
			func(ctx context.Context, _ agent.Task, _ func(json.RawMessage)) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})})
		require.NoError(t, err)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"content":"x"}`))
		req.Header.Set("Content-Type", "application/json")
		req.SetPathValue("thread_id", "t")
		s.chat(httptest.NewRecorder(), req)
		require.Contains(t, l.String(), `"level":"ERROR","msg":"chat_failed"`)
		require.NoError(t, s.close(t.Context()))
	})
}

// The ids of threads have no form.
func TestChat_ThreadIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{
		"7", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "thread:2026:7", "_draft", "-1", "~me", "Ünï & çø", "线程 7", "a@b.example", "{x}", `back\slash`,
		"a%2Fb", strings.Repeat("x", 255),
	} {
		require.Equal(t, "artifact_created", r.chat(t, url.PathEscape(id), "hi", true)[0].name, id)
		saved := r.store.all()
		require.True(t, slices.ContainsFunc(saved, func(a store.Artifact) bool { return a.ThreadID == id }), id)
	}
	for _, id := range []string{" ", "a\x00b", "a\nb", "a/b", "\xff", strings.Repeat("x", 256)} {
		status, _ := r.post(t, url.PathEscape(id), map[string]any{"content": "x"})
		require.Equal(t, http.StatusBadRequest, status, "%q", id)
	}
}

type runner func(context.Context, agent.Task, func(json.RawMessage)) error

func (r runner) Run(ctx context.Context, t agent.Task, e func(json.RawMessage)) error {
	return r(ctx, t, e)
}

func TestChat_CloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	r := newRig(t, running(runner(func(ctx context.Context, _ agent.Task, _ func(json.RawMessage)) error {
		close(begun)
		<-ctx.Done()
		return context.Cause(ctx)
	})))
	events := make(chan []sse, 1)
	go func() {
		res, err := http.Post(r.url+"/api/threads/t/chat", "application/json", strings.NewReader(`{"content":"x"}`))
		if err != nil {
			close(events)
			return
		}
		defer func() { _ = res.Body.Close() }()
		var b bytes.Buffer
		_, _ = b.ReadFrom(res.Body)
		events <- []sse{{data: b.String()}}
	}()
	<-begun
	require.NoError(t, r.close(context.WithoutCancel(t.Context())))
	require.Contains(t, (<-events)[0].data, "event: error")
	require.Contains(t, r.logs.String(), `"cause":"the server is shutting down"`)
	require.NotContains(t, r.logs.String(), `"level":"ERROR"`)
	status, _ := r.post(t, "t", map[string]any{"content": "x"})
	require.Equal(t, http.StatusServiceUnavailable, status)
}

// TestClose_WaitsForChats: a chat that is still writing has the store until it
// is done, and no longer than the caller of Close gives it.
func TestClose_WaitsForChats(t *testing.T) {
	t.Parallel()
	for name, patient := range map[string]bool{"chat ends": true, "caller leaves": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := newService(Options{Store: &memory{}})
				require.NoError(t, err)
				shut := false
				s.shut = func() error { shut = true; return nil }
				require.True(t, s.enter())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				closed := make(chan error, 1)
				go func() { closed <- s.close(ctx) }()
				synctest.Wait()
				require.Empty(t, closed, "a chat runs")
				require.False(t, shut, "and needs its store")
				require.Error(t, s.life.Err(), "it has been told to end")
				require.False(t, s.enter())
				if !patient {
					cancel()
					require.ErrorIs(t, <-closed, context.Canceled)
				}
				s.chats.Done()
				if patient {
					require.NoError(t, <-closed)
				}
				require.True(t, shut)
			})
		})
	}
}

func TestChat_S4_REG_05_TokenStaysInside(t *testing.T) {
	t.Parallel()
	var given string
	a := &says{}
	r := newRig(t, running(a))
	a.do = func(task agent.Task) {
		given = tokenOf(task)
		a.lines = []string{fmt.Sprintf(`{"type":"result","result":"my token is %s"}`, given)}
	}
	events := r.chat(t, "t", "hi", true)
	require.Len(t, given, 36)
	require.Equal(t, `{"content":"my token is [token]","usage":{"input_tokens":0,"output_tokens":0}}`, events[0].data) // S4-MARK-04
	require.NotContains(t, r.logs.String(), given)
	a.err = errors.New("stuck")
	a.do = func(task agent.Task) { given = tokenOf(task); a.err = fmt.Errorf("stderr says %s", given) }
	r.chat(t, "t", "hi", true)
	require.NotContains(t, r.logs.String(), given)
	full := newRig(t)
	full.chat(t, "t", "hi", true)
	require.NotRegexp(t, `"session":"[^"…]{9,}`, full.logs.String())
}

func TestChat_BadRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, tt := range map[string]struct {
		thread, kind, body string
		want               int
	}{
		"no JSON":        {"t", "application/json", "{", 400},
		"other type":     {"t", "text/plain", `{"content":"x"}`, 415},
		"text after":     {"t", "application/json", `{"content":"x"}, and more`, 400},
		"member twice":   {"t", "application/json", `{"content":"x","content":"y"}`, 400},
		"no content":     {"t", "application/json", `{}`, 400},
		"blank":          {"t", "application/json", `{"content":" "}`, 400},
		"flag no bool":   {"t", "application/json", `{"content":"x","artifact_generation":"yes"}`, 400},
		"thread type":    {"t", "application/json", `{"content":"x","thread_type":"other"}`, 400},
		"thread id":      {"..%2fx", "application/json", `{"content":"x"}`, 400},
		"too long":       {"t", "application/json", `{"content":"` + strings.Repeat("x", maxRequest) + `"}`, 413},
		"content length": {"t", "application/json", `{"content":"` + strings.Repeat("x", maxMessage+1) + `"}`, 400},
	} {
		res, err := http.Post(r.url+"/api/threads/"+tt.thread+"/chat", tt.kind, strings.NewReader(tt.body))
		require.NoError(t, err)
		var body map[string]string
		require.NoError(t, json.NewDecoder(res.Body).Decode(&body), name)
		require.NoError(t, res.Body.Close())
		require.Equal(t, tt.want, res.StatusCode, name)
		require.NotEmpty(t, body["detail"], name)
	}
	full := registry.New()
	for i := range registry.Max {
		require.NoError(t, full.Register(fmt.Sprint(i), "t", farFuture))
	}
	crowded := newRig(t, func(o *Options) { o.Registry = full })
	status, _ := crowded.post(t, "t", map[string]any{"content": "x", "artifact_generation": true})
	require.Equal(t, http.StatusServiceUnavailable, status)
}

func TestConfig_S4_MOUNT_04_PIT_07(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"mcpServers":{"assistant":{"type":"http","url":"http://127.0.0.1:8000/mcp"}}}`, Config(nil, false).String())
	at := func() string { return "http://127.0.0.1:9/" }
	require.Equal(t, `{"mcpServers":{"assistant":{"type":"http","url":"http://127.0.0.1:9/mcp"}}}`, Config(at, false).String())
	guarded, err := mcpconfig.Parse(Config(at, true).String())
	require.NoError(t, err)
	require.NotContains(t, Config(at, true).String(), "s3cret")
	require.Equal(t, "Bearer s3cret", guarded.Servers["assistant"].Expanded(func(string) string { return "s3cret" })["Authorization"])
}

func TestChat_S4_PIT_04_HundredStarts(t *testing.T) {
	t.Parallel()
	for range runs() {
		r := newRig(t)
		require.Equal(t, "artifact_created", r.chat(t, "t", "first", true)[0].name)
	}
}

// farFuture keeps the tokens of a full registry from expiring.
var farFuture = time.Now().Add(24 * time.Hour)
