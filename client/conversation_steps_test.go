package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// steps is the application of a conversation. A step is a verb, its words, and
// JSON for the last of them:
//
//	connect REVISION|auto OPTION…     see options below
//	call TOOL OPTION… JSON            call a tool; again JSON: with answers
//	task TOOL JSON                    then status, await-task, cancel-task
//	read URI, prompt NAME JSON, complete NAME ARGUMENT VALUE
//	list tools|prompts|resources|templates|tasks     page tools|… CURSOR
//	ping, level LEVEL, roots URI…, close
//	subscribe JSON, unsubscribe
//	request METHOD JSON, notify METHOD JSON
//	start STEP                        in the background; then await, or cancel
//	wait TIME                         pass virtual time
//	server ACT                        the server acts on its own
type steps struct {
	t *testing.T
	k *talk

	ids    atomic.Int64
	known  client.EraStore
	c      *client.Client
	sub    *client.Subscription
	task   *client.Task
	asked  *client.InputRequired // what the last call wants to know
	cancel context.CancelFunc    // of the step in the background
	ended  chan string
}

// words are those of a step, and the JSON at its end.
type words struct {
	list []string
	json string
}

func wordsOf(text string) words {
	var w words
	if i := strings.IndexAny(" "+text, "{["); i > 0 && strings.Contains(" \t", string((" " + text)[i-1])) {
		text, w.json = text[:i-1], text[i-1:]
	}
	w.list = strings.Fields(text)
	return w
}

// at returns the n-th word, "" when there are fewer.
func (w words) at(n int) string {
	if n < len(w.list) {
		return w.list[n]
	}
	return ""
}

// run takes one step and notes what it returns.
func (s *steps) run(line string) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	w := wordsOf(rest)
	switch verb {
	case "start":
		ctx, cancel := context.WithCancel(s.t.Context())
		s.cancel, s.ended = cancel, make(chan string, 1)
		go func() { s.ended <- s.take(ctx, rest) }()
	case "cancel":
		s.cancel()
		s.await()
	case "await":
		s.await()
	case "wait":
		d, err := time.ParseDuration(rest)
		require.NoError(s.t, err)
		elapse(d)
	case "server":
		s.k.server.now(actOf(rest))
	case "connect":
		s.connect(w)
	default:
		outcome := s.take(s.t.Context(), line)
		settle() // what the server or the application has still to see comes first
		s.k.note("= %s", outcome)
	}
}

func (s *steps) await() {
	outcome := <-s.ended
	s.cancel()
	settle()
	s.k.note("= %s", outcome)
}

// leave closes what the steps have left open, unseen.
func (s *steps) leave() {
	if s.cancel != nil {
		s.cancel()
	}
	if s.c != nil {
		require.NoError(s.t, ignoreClosed(s.c.Close()))
	}
}

// connect takes these options: sampling, waits, form, decline, url and roots=URI
// answer the server; lists, logs, notes and tasks listen and declare; program
// makes every connection a fresh start; remember keeps what was found out; strict,
// preload, keepalive=TIME, probe=TIME and need=CAPABILITY set what their names
// say. Nothing else is on.
func (s *steps) connect(w words) {
	opts := []client.Option{
		client.WithEraStore(nil), client.WithCache(client.CacheConfig{NoPreload: !slices.Contains(w.list, "preload")}), client.WithProtocolVersion(w.at(0)),
		client.WithClientInfo(mcp.Implementation{Name: "app", Version: "1"}),
		client.WithIDs(func() jsonrpc.ID {
			return jsonrpc.StringID("c" + strconv.FormatInt(s.ids.Add(1), 10))
		}),
		client.OnEvent(s.onEvent),
	}
	var need []string
	for _, word := range w.list[1:] {
		name, value, _ := strings.Cut(word, "=")
		if name == "need" {
			need = append(need, value)
			continue
		}
		opts = append(opts, s.option(name, value))
	}
	opts = append(opts, client.WithRequiredCapabilities(need...))
	var tr transport.Transport = s.k.server
	switch {
	case s.k.server.http != nil:
		tr = &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: s.k.server.http.Transport()}
	case slices.Contains(w.list, "program"):
		tr = restarting{s.k.server}
	}
	c, err := client.Connect(s.t.Context(), tr, opts...)
	settle()
	if err != nil {
		s.k.note("= %s", failure(err))
		return
	}
	s.c = c
	why := ""
	if w.at(0) == "auto" {
		why = ", " + c.Negotiated().Evidence
	}
	s.k.note("= connected, %s%s", c.ProtocolVersion(), why)
}

func (s *steps) option(name, value string) client.Option {
	duration := func() time.Duration {
		d, err := time.ParseDuration(value)
		require.NoError(s.t, err)
		return d
	}
	switch name {
	case "sampling":
		return client.OnSampling(func(_ context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
			s.k.note("* asked for a sample of %d tokens", r.Params.MaxTokens)
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil
		})
	case "form":
		return client.OnElicitForm(func(_ context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
			s.k.note("* asked %q", r.Message)
			return client.AcceptForm(map[string]any{"name": "Ada"})
		})
	case "decline":
		return client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) { return nil, client.ErrRejected })
	case "url":
		return client.OnElicitURL(func(_ context.Context, r client.URLRequest) (mcp.ElicitAction, error) {
			s.k.note("* asked to go to %s", r.URL)
			return mcp.ElicitAccept, nil
		})
	case "roots":
		return client.WithRoots(mcp.Root{URI: value})
	case "lists":
		return client.OnListChanged(func(_ context.Context, method string) { s.k.note("* %s", method) })
	case "logs":
		return client.OnLog(func(_ context.Context, m mcp.LoggingMessageParams) { s.k.note("* log %s %s", m.Level, m.Data) })
	case "notes":
		return client.OnNotification(func(_ context.Context, n jsonrpc.Notification) { s.k.note("* %s %s", n.Method, n.Params) })
	case "tasks":
		return client.WithTasks()
	case "strict":
		return client.WithValidation(client.Validation{ResultTypes: true})
	case "keepalive":
		return client.WithResilience(client.Resilience{KeepAlive: duration()})
	case "probe":
		return client.WithProbe(client.Probe{Timeout: duration()})
	case "remember":
		return client.WithEraStore(s.known)
	case "waits":
		return client.OnSampling(func(ctx context.Context, _ client.SamplingRequest) (*mcp.CreateMessageResult, error) {
			<-ctx.Done()
			s.k.note("* the question was withdrawn")
			return nil, ctx.Err()
		})
	case "preload", "program":
		return nil
	}
	s.t.Errorf("unknown option %q", name)
	return nil
}

func (s *steps) onEvent(_ context.Context, e client.Event) {
	switch e.(type) {
	case client.Connected, client.Negotiated:
	case client.SubscriptionGap:
		elapse(moment) // the subscription's own handler gets the change at the same time
		s.k.note("* SubscriptionGap")
	default:
		s.k.note("* %s", strings.TrimPrefix(fmt.Sprintf("%T", e), "event."))
	}
}

// take takes one step of a connected client, and returns its result as text.
func (s *steps) take(ctx context.Context, line string) string {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	w := wordsOf(rest)
	c := s.c
	if c == nil {
		return "not connected"
	}
	switch verb {
	case "call":
		return s.called(c.CallTool(ctx, w.at(0), w.args(), s.callOptions(w.list[1:])...))
	case "again":
		var responses mcp.InputResponses
		require.NoError(s.t, json.Unmarshal([]byte(w.json), &responses))
		return s.called(c.CallTool(ctx, w.at(0), map[string]any{}, s.asked.Answer(responses)))
	case "task":
		task, err := c.StartTool(ctx, w.at(0), w.args(), s.callOptions(w.list[1:])...)
		s.task = task
		return outcome(err, func() string { return "task " + task.ID() })
	case "status":
		state, err := s.task.Status(ctx)
		return outcome(err, func() string { return string(state.Status) })
	case "await-task":
		return s.called(s.task.Wait(ctx))
	case "cancel-task":
		return outcome(s.task.Cancel(ctx), done0)
	case "answer-task":
		var responses mcp.InputResponses
		require.NoError(s.t, json.Unmarshal([]byte(w.json), &responses))
		return outcome(s.task.Answer(ctx, responses), done0)
	case "read":
		res, err := c.ReadResource(ctx, w.at(0))
		return outcome(err, func() string { return fmt.Sprintf("%d contents", len(res.Contents)) })
	case "prompt":
		var args map[string]string
		if w.json != "" {
			require.NoError(s.t, json.Unmarshal([]byte(w.json), &args))
		}
		res, err := c.GetPrompt(ctx, w.at(0), args)
		return outcome(err, func() string { return fmt.Sprintf("%d messages", len(res.Messages)) })
	case "complete":
		ref := mcp.CompletionReference{Type: mcp.RefPrompt, Name: w.at(0)}
		res, err := c.Complete(ctx, ref, mcp.CompletionArgument{Name: w.at(1), Value: w.at(2)}, map[string]string{"lang": "go"})
		return outcome(err, func() string { return strings.Join(res.Values, " ") })
	case "list":
		return s.list(ctx, w.at(0))
	case "page":
		cursor := w.at(1)
		cursor, err := strconv.Unquote(cursor)
		require.NoError(s.t, err)
		res, err := c.ListTools(ctx, &cursor)
		return outcome(err, func() string { return fmt.Sprintf("%d tools", len(res.Tools)) })
	case "ping":
		return outcome(c.Ping(ctx), done0)
	case "level":
		return outcome(c.SetLogLevel(ctx, mcp.LoggingLevel(w.at(0))), done0)
	case "roots":
		var roots []mcp.Root
		for _, uri := range w.list {
			roots = append(roots, mcp.Root{URI: uri})
		}
		return outcome(c.SetRoots(ctx, roots...), done0)
	case "subscribe":
		var filter mcp.SubscriptionFilter
		require.NoError(s.t, mcp.Unmarshal([]byte(w.json), &filter))
		sub, err := c.Subscribe(ctx, filter, func(_ context.Context, ch client.Change) {
			s.k.note("* told of %s", strings.TrimSpace(fmt.Sprintf("%s %s%s", ch.Method, ch.URI, map[bool]string{true: "a gap"}[ch.Gap])))
		})
		s.sub = sub
		return outcome(err, func() string {
			accepted, err := mcp.Marshal(new(sub.Accepted()))
			require.NoError(s.t, err)
			return "subscribed to " + string(accepted)
		})
	case "unsubscribe":
		return outcome(s.sub.Close(), done0)
	case "request":
		raw, err := c.Call(ctx, w.at(0), w.args())
		return outcome(err, func() string { return string(raw) })
	case "notify":
		return outcome(c.Notify(ctx, w.at(0), w.args()), done0)
	case "close":
		return outcome(ignoreClosed(c.Close()), done0)
	}
	s.t.Errorf("unknown step %q", verb)
	return ""
}

// args is what a step gives for arguments, nil for none.
func (w words) args() any {
	if w.json == "" {
		return nil
	}
	return json.RawMessage(w.json)
}

func (s *steps) callOptions(list []string) []client.CallOption {
	var opts []client.CallOption
	for _, word := range list {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "progress":
			opts = append(opts, client.WithProgress(func(p mcp.ProgressParams) { s.k.note("* progress %v %s", p.Progress, p.Message) }))
		case "timeout":
			d, err := time.ParseDuration(value)
			require.NoError(s.t, err)
			opts = append(opts, client.WithTimeouts(d, d))
		case "manual":
			opts = append(opts, client.WithManualInput())
		case "ttl":
			d, err := time.ParseDuration(value)
			require.NoError(s.t, err)
			opts = append(opts, client.WithTask(client.TaskOptions{TTL: d}))
		case "cancels":
			opts = append(opts, client.WithTask(client.TaskOptions{Cancel: true}))
		default:
			s.t.Errorf("unknown option of a call %q", word)
		}
	}
	return opts
}

func (s *steps) list(ctx context.Context, what string) string {
	switch what {
	case "tools":
		return namesOf(s.c.Tools(ctx), func(v mcp.Tool) string { return v.Name })
	case "prompts":
		return namesOf(s.c.Prompts(ctx), func(v mcp.Prompt) string { return v.Name })
	case "resources":
		return namesOf(s.c.Resources(ctx), func(v mcp.Resource) string { return v.URI })
	case "templates":
		return namesOf(s.c.ResourceTemplates(ctx), func(v mcp.ResourceTemplate) string { return v.URITemplate })
	case "tasks":
		return namesOf(s.c.Tasks(ctx), func(v mcp.Task) string { return v.TaskID })
	}
	s.t.Errorf("there is no list of %s", what)
	return ""
}

func namesOf[T any](all iter.Seq2[T, error], name func(T) string) string {
	var out []string
	for v, err := range all {
		if err != nil {
			return strings.TrimSpace(strings.Join(append(out, ""), " ") + failure(err))
		}
		out = append(out, name(v))
	}
	return "[" + strings.Join(out, " ") + "]"
}

// called is the outcome of a call of a tool.
func (s *steps) called(res *mcp.CallToolResult, err error) string {
	if required, ok := errors.AsType[*client.InputRequired](err); ok {
		s.asked = required
	}
	return outcome(err, func() string {
		if res.IsError {
			return fmt.Sprintf("the tool failed: %q", res.Text())
		}
		return strconv.Quote(res.Text())
	})
}

func done0() string { return "done" }

func outcome(err error, f func() string) string {
	if err != nil {
		return failure(err)
	}
	return f()
}

// failure is the part of an error that a program can use: its code, its kind, whether
// the request may have run, the server's code, and whether to try again.
func failure(err error) string {
	e, ok := errors.AsType[*mcperrors.Error](err)
	if !ok {
		return "an error that is none of ours: " + err.Error()
	}
	out := []string{"error"}
	if e.Code != "" {
		out = append(out, string(e.Code))
	}
	out = append(out, e.Kind.String()+",", e.Delivery.String())
	if e.OriginalMCPCode != nil {
		out = append(out, fmt.Sprintf("(%d)", *e.OriginalMCPCode))
	}
	if e.HTTP != nil {
		out = append(out, fmt.Sprintf("(HTTP %d)", e.HTTP.Status))
	}
	if e.Retryable {
		out = append(out, "retryable")
	}
	return strings.Join(out, " ")
}
