package families

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe"
)

func onlyCOE(o *Options) { o.Families, o.Extra = []string{coe.Name}, nil }

const nextTask = `{"jsonrpc":"2.0","id":1,"method":"getNextTask"}`

// The headers of the real limits, on every answer of the family.
func TestCOE_S1_RATE_04_Headers(t *testing.T) {
	t.Parallel()
	s := serve(t, onlyCOE)
	s.handshake()
	begin := time.Now().Unix()
	call := func(body, agent string) (string, http.Header) {
		t.Helper()
		res := s.do(http.MethodPost, body, "X-Agent-Name", agent)
		require.Equal(t, http.StatusOK, res.StatusCode)
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, "100", res.Header.Get("X-RateLimit-Limit"))
		reset, err := strconv.ParseInt(res.Header.Get("X-RateLimit-Reset"), 10, 64)
		require.NoError(t, err)
		require.Greater(t, reset, begin)
		require.LessOrEqual(t, reset, time.Now().Add(time.Minute).Unix()+1)
		return string(raw), res.Header
	}
	bodies := []string{
		nextTask, callLine(t, "getNextTask", map[string]any{}),
		`{"jsonrpc":"2.0","id":1,"method":"reportIssue","params":{}}`, callLine(t, "createTicket", map[string]any{}),
	}
	for i, body := range bodies {
		_, header := call(body, "ann")
		require.Equal(t, strconv.Itoa(99-i), header.Get("X-RateLimit-Remaining"), "one less each time, an error or not")
		require.Empty(t, header.Get("Retry-After"))
		reset, err := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, reset, begin+60, "when the first call is a minute old")
	}
	_, header := call(nextTask, "bob")
	require.Equal(t, "99", header.Get("X-RateLimit-Remaining"), "another agent")

	// Eleven calls of which some are within one second: a machine so slow that
	// none are is asked again.
	var body string
	for i := 0; i < 90 && header.Get("Retry-After") == ""; i++ {
		body, header = call(nextTask, "eve")
	}
	require.Equal(t, "1", header.Get("Retry-After"))
	require.Equal(t, "0", header.Get("X-RateLimit-Remaining"))
	var a answer
	require.NoError(t, json.Unmarshal([]byte(body), &a))
	require.Equal(t, int64(429), a.Error.Code)
	require.Equal(t, "burst", a.Error.Data["scope"])
	require.Equal(t, 10.0, a.Error.Data["limit"])
	require.Equal(t, "coe", a.Error.Data["profile"])
}

// A server is one instance however often it is started, and on whichever
// transport; a reset clears what it holds, and another server is another one.
func TestCOE_S1_TRANS_08_OneInstance(t *testing.T) {
	t.Parallel()
	open := func() *server.Server {
		opts := Options{AllowFaultInjection: true}
		onlyCOE(&opts)
		srv, err := New(opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, srv.Close()) })
		return srv
	}
	srv := open()
	start := func(srv *server.Server, lines ...string) []string {
		var out bytes.Buffer
		require.NoError(t, srv.ServeStdio(t.Context(), strings.NewReader(strings.Join(lines, "\n")+"\n"), &out))
		var answers []string
		for sc := bufio.NewScanner(&out); sc.Scan(); {
			answers = append(answers, sc.Text())
		}
		require.Len(t, answers, len(lines))
		return answers
	}
	const done = `{"jsonrpc":"2.0","id":2,"method":"reportTaskDone","params":{"taskId":"TASK-001","status":"done"}}`
	const reset = `{"jsonrpc":"2.0","id":3,"method":"_test/reset"}`
	require.Contains(t, start(srv, done)[0], `"nextTaskId":"TASK-002"`)
	require.Contains(t, start(srv, nextTask)[0], `"taskId":"TASK-002"`, "started again it is the same instance")
	require.Contains(t, start(open(), nextTask)[0], `"taskId":"TASK-001"`, "another server has a state of its own")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	s := &site{t: t, url: "http://" + l.Addr().String() + server.Path, client: &http.Client{Transport: &http.Transport{}}}
	_, a := s.post(nextTask)
	require.Contains(t, string(a.Result), `"taskId":"TASK-003"`, "over HTTP as well: the task before is with the agent on stdio")
	_, a = s.post(reset)
	require.JSONEq(t, `{"success":true}`, string(a.Result))
	_, a = s.post(nextTask)
	require.Contains(t, string(a.Result), `"taskId":"TASK-001"`)
	stop()
	require.NoError(t, <-ended)
	s.client.CloseIdleConnections()
	require.Contains(t, start(srv, nextTask)[0], `"taskId":"TASK-002"`)
}

// Two sessions get two tasks. When one ends without having started its task, the
// task is free again.
func TestCOE_SessionsGetTasksOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := serve(t, onlyCOE)
	next := func(session string) string {
		t.Helper()
		s.session = session
		_, a := s.post(callLine(t, "getNextTask", map[string]any{"includeDetailedPrompt": false}))
		require.Nil(t, a.Error)
		var res struct {
			StructuredContent struct {
				Task struct {
					TaskID string `json:"taskId"`
				} `json:"task"`
			} `json:"structuredContent"`
		}
		require.NoError(t, json.Unmarshal(a.Result, &res))
		return res.StructuredContent.Task.TaskID
	}
	session := func() string {
		s.session = ""
		s.handshake()
		return s.session
	}
	ann, bob := session(), session()
	require.NotEqual(t, ann, bob)
	require.Equal(t, "TASK-001", next(ann))
	require.Equal(t, "TASK-002", next(bob))
	require.Equal(t, "TASK-001", next(ann), "asked again it is the same")
	s.session = ann
	require.Equal(t, http.StatusNoContent, s.do(http.MethodDelete, "").StatusCode)
	require.Equal(t, "TASK-002", next(bob))
	require.Equal(t, "TASK-001", next(session()), "nobody can come back as the session that has ended")
}

// What an agent reported is read as a resource, in both eras.
func TestCOE_ReportsAreResources(t *testing.T) {
	t.Parallel()
	s := serve(t, onlyCOE)
	s.handshake()
	_, a := s.post(callLine(t, "reportTaskDone", map[string]any{"taskId": "TASK-001", "status": "done", "implementationNotes": "HSL everywhere"}))
	require.Nil(t, a.Error)
	for uri, part := range map[string]string{
		"mcp://resources/coe/tasks/TASK-001":     `"status\":\"done`,
		"mcp://resources/coe/records/REPORT-001": `"implementationNotes\":\"HSL everywhere`,
	} {
		_, a = s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `"}}`)
		require.Nil(t, a.Error)
		require.Contains(t, string(a.Result), part)
	}
	_, a = s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"mcp://resources/coe/records/REPORT-002"}}`)
	require.Equal(t, int64(-32001), a.Error.Code)
	require.Equal(t, "coe", a.Error.Data["profile"])
}
