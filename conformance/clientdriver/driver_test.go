package clientdriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// play runs a task with a session, and returns the lines that were written.
func play(t *testing.T, task string, s *Session, logins ...string) []string {
	t.Helper()
	var out strings.Builder
	require.Equal(t, exitDone, run(t.Context(), task, &out, io.Discard, func(context.Context, *Task) (*Session, error) { return s, nil }, logins))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(lines) // calls at once end in any order
	return lines
}

type echoParams struct {
	Name      string         `json:"name"`
	URI       string         `json:"uri"`
	Level     string         `json:"level"`
	Arguments map[string]any `json:"arguments"`
	Meta      map[string]any `json:"_meta"`
}

// echo is a method of a client that returns its params.
func echo(_ context.Context, p *echoParams) (*echoParams, error) { return p, nil }

type codeError struct{ code int64 }

func (e *codeError) Error() string { return fmt.Sprint("code ", e.code) }

func TestRun(t *testing.T) {
	t.Parallel()
	fails := func(err error) Call {
		return func(context.Context, *Step) (any, error) { return nil, err }
	}
	s := &Session{
		Calls: map[string]Call{
			"tools/call": Method(echo), "resources/read": Method(echo),
			"logging/setLevel": LogLevel(func(context.Context, *echoParams) error { return errors.New("sent") }),
			"tools/list": List("tools", func(context.Context, *echoParams) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) { _ = yield(1, nil) && yield(2, nil) }
			}),
			"broken/list": List("tools", func(context.Context, *echoParams) iter.Seq2[int, error] {
				return func(yield func(int, error) bool) { _ = yield(1, nil) && yield(0, io.ErrUnexpectedEOF) }
			}),
			"failed": func(context.Context, *Step) (any, error) { return map[string]any{"isError": true}, nil },
			"code":   fails(&codeError{-32601}), "closed": fails(io.EOF), "unsupported": fails(errors.ErrUnsupported), "error": fails(errors.New("no")),
		},
		Close:    func() error { return nil },
		Describe: Code(func(e *codeError) int64 { return e.code }),
	}
	for name, c := range map[string]struct {
		task, steps string
		want        []string // the second step's and on
	}{
		"params": {
			steps: `{"call":"tools/call","name":"echo","arguments":{"n":12345678901234567890},"progress":true}`,
			want:  []string{`{"step":1,"outcome":"result","result":{"name":"echo","uri":"","level":"","arguments":{"n":12345678901234567890},"_meta":{"progressToken":"step-1-0"}}}`},
		},
		"several at once": {
			steps: `{"call":"tools/call","name":"e","times":2}`,
			want: []string{
				`{"step":1,"n":1,"outcome":"result","result":{"name":"e","uri":"","level":"","arguments":{"n":1},"_meta":null}}`,
				`{"step":1,"outcome":"result","result":{"name":"e","uri":"","level":"","arguments":{"n":0},"_meta":null}}`,
			},
		},
		"a list":        {steps: `{"call":"tools/list"}`, want: []string{`{"step":1,"outcome":"result","result":{"tools":[1,2]}}`}},
		"a broken list": {steps: `{"call":"broken/list"}`, want: []string{`{"step":1,"outcome":"closed","message":"unexpected EOF"}`}},
		"a tool error":  {steps: `{"call":"failed"}`, want: []string{`{"step":1,"outcome":"tool-error","result":{"isError":true}}`}},
		"a code":        {steps: `{"call":"code"}`, want: []string{`{"step":1,"outcome":"error","code":-32601,"message":"code -32601"}`}},
		"lost":          {steps: `{"call":"closed"}`, want: []string{`{"step":1,"outcome":"closed","message":"EOF"}`}},
		"an error":      {steps: `{"call":"error"}`, want: []string{`{"step":1,"outcome":"error","message":"no"}`}},
		"unsupported":   {steps: `{"call":"unsupported"}`, want: []string{`{"step":1,"outcome":"unsupported","message":"unsupported operation"}`}},
		"absent":        {steps: `{"call":"prompts/get"}`, want: []string{`{"step":1,"outcome":"unsupported","message":"unsupported operation"}`}},
		"a level": {
			task: `"revision":"2025-11-25",`, steps: `{"call":"logging/setLevel","params":{"level":"info"}}`,
			want: []string{`{"step":1,"outcome":"error","message":"sent"}`},
		},
		"a level without sessions": {
			task: `"revision":"2026-07-28",`, steps: `{"call":"logging/setLevel","params":{"level":"info"}},{"call":"resources/read","uri":"mem://one"}`,
			want: []string{
				`{"step":1,"outcome":"result"}`,
				`{"step":2,"outcome":"result","result":{"name":"","uri":"mem://one","level":"","arguments":null,"_meta":{"io.modelcontextprotocol/logLevel":"info"}}}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, `{`+c.task+`"steps":[{"call":"connect"},`+c.steps+`]}`, s)
			require.Equal(t, append([]string{`{"step":0,"outcome":"result"}`}, c.want...), got)
		})
	}
}

// TestRun_Ends: a step ends with its deadline or its cancellation.
func TestRun_Ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Session{Close: func() error { return nil }, Calls: map[string]Call{"wait": func(ctx context.Context, _ *Step) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}}
		require.Equal(t, []string{
			`{"step":0,"outcome":"result"}`,
			`{"step":1,"outcome":"timeout","message":"context deadline exceeded"}`,
			`{"step":2,"outcome":"canceled","message":"context canceled"}`,
		}, play(t, `{"steps":[{"call":"connect"},{"call":"wait","deadlineMs":200},{"call":"wait","cancelAfterMs":100}]}`, s))
	})
}

// TestRun_Servers: each connect gets its own URL, and a step needs a connection.
func TestRun_Servers(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	var urls []string
	closed := 0
	connect := func(_ context.Context, task *Task) (*Session, error) {
		urls = append(urls, task.URL)
		if task.URL == "third" {
			return nil, errors.New("nobody is there")
		}
		return &Session{Close: func() error { closed++; return nil }}, nil
	}
	task := `{"url":"first","steps":[{"call":"connect"},{"call":"close"},{"call":"connect","url":"second"},{"call":"connect","url":"third"},{"call":"tools/list"},{"call":"connect"}]}`
	require.Equal(t, exitDone, run(t.Context(), task, &out, io.Discard, connect, nil))
	require.Equal(t, []string{"first", "second", "third", "first"}, urls)
	require.Contains(t, out.String(), `{"step":3,"outcome":"error","message":"nobody is there"}`)
	require.Contains(t, out.String(), `{"step":4,"outcome":"error","message":"there is no connection"}`)
	require.Equal(t, 2, closed, "by the step, and at the end")
}

// TestRun_Logins: a login that the client does not have is not tried.
func TestRun_Logins(t *testing.T) {
	t.Parallel()
	for login, need := range map[string]string{
		`{}`: "", `{"clientId":"a"}`: Preregistered, `{"clientMetadata":"https://a"}`: Documents, `{"dpop":true}`: DPoP,
		`{"flow":"client-credentials","clientId":"a"}`: FlowSecret, `{"flow":"private-key-jwt","clientId":"a"}`: FlowKey,
	} {
		s := &Session{Close: func() error { return nil }}
		task := `{"login":` + login + `,"steps":[{"call":"connect"}]}`
		require.Equal(t, []string{`{"step":0,"outcome":"result"}`}, play(t, task, s, need))
		if need != "" {
			require.Equal(t, []string{`{"step":0,"outcome":"unsupported","message":"a login with ` + need + `: unsupported operation"}`}, play(t, task, s))
		}
	}
}

func TestRun_NoTask(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "{}"} {
		var said strings.Builder
		require.Equal(t, exitUsage, run(t.Context(), text, io.Discard, &said, nil, nil))
		require.Contains(t, said.String(), "mcpctl conform client")
	}
}

func TestTask(t *testing.T) {
	t.Parallel()
	require.Equal(t, "2025-11-25", (&Task{Revision: "2025-11-25"}).Pinned())
	require.Empty(t, (&Task{Revision: "2025-11-25", Negotiate: true}).Pinned())
	require.Equal(t, []string{"a", "b"}, (&Task{Command: []string{"a", "b"}}).Cmd().Args)
	require.Error(t, (&Task{}).Cmd().Start(), "over HTTP")
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	require.Nil(t, Answer[int, echoParams](nil))
	got, err := Answer[int, echoParams](json.RawMessage(`{"name":"Ada"}`))(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "Ada", got.Name)
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &Notifications{}
		heard := Notified(n, "news", func(q int) any { return q })
		begun := time.Now()
		call := n.During(Action(func(ctx context.Context, _ *echoParams) error {
			heard(ctx, 1)
			return nil
		}), Action(func(ctx context.Context, _ *echoParams) error {
			heard(ctx, 2)
			return nil
		}))
		n.Add("before", nil)
		got, err := call(t.Context(), &Step{ForMs: 300})
		require.NoError(t, err)
		require.Equal(t, map[string]any{"notifications": []notification{{"news", 1}, {"news", 2}}}, got)
		require.Equal(t, 300*time.Millisecond, time.Since(begun))

		_, err = n.During(Action(func(context.Context, *echoParams) error { return errors.New("no") }), nil)(t.Context(), &Step{})
		require.EqualError(t, err, "no")
	})
}

func TestBrowse(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	to := func(at string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, at, http.StatusFound) }
	}
	mux.HandleFunc("/right", to("/consent"))
	mux.HandleFunc("/consent", to(RedirectURL+"?code=c&state=s"))
	mux.HandleFunc("/denied", to(RedirectURL+"?error=access_denied&error_description=call+me&iss=i"))
	mux.HandleFunc("/loop", to("/loop"))
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	server := httptest.NewServer(mux)
	defer server.Close()
	for page, c := range map[string]struct {
		want url.Values
		err  string
	}{
		server.URL + "/right":  {want: url.Values{"code": {"c"}, "state": {"s"}}},
		server.URL + "/denied": {want: url.Values{"error": {"access_denied"}, "error_description": {"call me"}, "iss": {"i"}}, err: "the login failed: access_denied"},
		server.URL + "/loop":   {err: "the login page redirects without an end"},
		server.URL + "/page":   {err: "the login page answers with status 200 and does not go on"},
		"http://127.0.0.1:1/":  {err: "the login page cannot be reached"},
		"no scheme\n":          {err: "the login page has no usable URL"},
	} {
		got, err := Browse(t.Context(), page+"?redirect_uri="+url.QueryEscape(RedirectURL))
		require.Equal(t, c.want, got, page)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.err)
		}
	}
}
