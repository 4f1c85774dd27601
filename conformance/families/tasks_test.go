package families

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"

	"github.com/mainstay-mcp/mainstay/conformance/server/fixtures"
	"github.com/mainstay-mcp/mainstay/conformance/server/issuer"
)

// takingTasks is the `_meta` of a client that takes tasks.
const takingTasks = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// withTasks returns a request of a client that takes tasks.
func withTasks(method, params string) string {
	return strings.Replace(alone(method, params), statelessMeta, takingTasks, 1)
}

func serveFixtures(t *testing.T, change ...func(*Options)) *site {
	t.Helper()
	return serve(t, append([]func(*Options){func(o *Options) { o.Families = []string{fixtures.Name} }}, change...)...)
}

// task is what the tests read of one.
type task struct {
	ResultType, TaskID, Status string
	Result                     json.RawMessage
	InputRequests              map[string]json.RawMessage
}

func (a *answer) task(t *testing.T) (one task) {
	t.Helper()
	require.Nil(t, a.Error)
	require.NoError(t, json.Unmarshal(a.Result, &one))
	return one
}

// about sends a request about a task, under its name.
func (s *site) about(id, method, more string, header ...string) (int, *answer) {
	s.t.Helper()
	return s.postAlone(withTasks(method, `"taskId":`+quoted(id)+more), append([]string{"Mcp-Name", id}, header...)...)
}

func quoted(s string) string {
	raw, _ := json.Marshal(s) // a string always marshals
	return string(raw)
}

// What the official suite asks for, and what it never sends.
func TestTasksOverHTTP(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t)
	call := func(tool, arguments string) task {
		t.Helper()
		status, a := s.postAlone(withTasks("tools/call", `"name":"`+tool+`","arguments":`+arguments))
		require.Equal(t, http.StatusOK, status)
		return a.task(t)
	}
	made := call("slow_compute", `{"seconds":3600}`)
	require.Equal(t, "task", made.ResultType)
	require.Equal(t, "working", made.Status)

	// The header: base64, missing, of another task, twice.
	status, a := s.about(made.TaskID, "tasks/get", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "complete", a.task(t).ResultType)
	get := withTasks("tasks/get", `"taskId":"`+made.TaskID+`"`)
	status, a = s.postAlone(get)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, int64(-32020), a.Error.Code)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		status, a = s.about(made.TaskID, method, `,"inputResponses":{}`, "Mcp-Name", "other")
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, int64(-32020), a.Error.Code, method)
	}

	// Who does not take tasks.
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		status, a = s.postAlone(alone(method, `"taskId":"`+made.TaskID+`","inputResponses":{}`), "Mcp-Name", made.TaskID)
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, int64(-32021), a.Error.Code, method)
		require.Equal(t, map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}, a.Error.Data["requiredCapabilities"])
	}
	status, a = s.postAlone(alone("tools/call", `"name":"slow_compute","arguments":{"seconds":0.01}`))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(a.Result), "took 0.01 s")
	_, a = s.postAlone(alone("tools/call", `"name":"failing_job","arguments":{}`))
	require.Equal(t, int64(-32021), a.Error.Code)
	_, a = s.postAlone(alone("subscriptions/listen", `"notifications":{"taskIds":["x"]}`))
	require.Equal(t, int64(-32021), a.Error.Code)

	// Wrong params, unknown tasks.
	for _, params := range []string{``, `"taskId":5`, `"taskId":null`, `"taskId":["x"]`, `"TaskId":"` + made.TaskID + `"`, `"taskId":"` + strings.Repeat("x", 1<<20) + `"`} {
		header := []string{}
		if strings.HasPrefix(params, `"taskId":"x`) {
			header = []string{"Mcp-Name", "=?base64?" + "eA==" + "?="}
		}
		status, a = s.postAlone(withTasks("tasks/get", params), header...)
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, []int64{-32602, -32020}, a.Error.Code, "%.40s", params)
		require.Less(t, len(a.Error.Message), 400)
	}
	status, a = s.about("unknown", "tasks/cancel", "")
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, int64(-32602), a.Error.Code)
	_, a = s.about(made.TaskID, "tasks/update", "")
	require.Equal(t, int64(-32602), a.Error.Code, "inputResponses is required")

	// A huge answer, of which nothing is kept, and one that does not fit.
	huge := `,"inputResponses":{"nobody-asked":{"action":"accept","content":{"x":"` + strings.Repeat("x", 8<<20) + `"}}}`
	status, a = s.about(made.TaskID, "tasks/update", huge)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "complete", a.task(t).ResultType)
	status, _ = s.about(made.TaskID, "tasks/update", `,"inputResponses":{"x":"`+strings.Repeat("x", 17<<20)+`"}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, status)

	// Cancelled twice, and answered after its end.
	for range 2 {
		_, a = s.about(made.TaskID, "tasks/cancel", "")
		require.Equal(t, "complete", a.task(t).ResultType)
		_, a = s.about(made.TaskID, "tasks/get", "")
		require.Equal(t, "cancelled", a.task(t).Status)
		_, a = s.about(made.TaskID, "tasks/update", `,"inputResponses":{"confirm-1":{"action":"accept"}}`)
		require.Nil(t, a.Error)
	}

	// The era of sessions has no such tasks.
	s.handshake()
	_, a = s.post(`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"x"}}`)
	require.Equal(t, int64(-32601), a.Error.Code)
	_, a = s.post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"failing_job","arguments":{}}}`)
	require.Contains(t, string(a.Result), `"isError":true`)
}

// The extension is announced where it exists.
func TestTasksAreAnnounced(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t)
	_, a := s.postAlone(alone("server/discover", ""))
	require.Contains(t, string(a.Result), `"io.modelcontextprotocol/tasks":{}`)
	_, a = s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.NotContains(t, string(a.Result), "io.modelcontextprotocol/tasks")
	plain := serve(t)
	_, a = plain.postAlone(alone("server/discover", ""))
	require.NotContains(t, string(a.Result), "io.modelcontextprotocol/tasks")
	status, a := plain.about("x", "tasks/get", "")
	require.Equal(t, http.StatusNotFound, status)
	require.Equal(t, int64(-32601), a.Error.Code)
}

// A task is its user's.
func TestTasksOfUsers(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	s := serveFixtures(t, func(o *Options) { o.OAuth = server.OAuthOptions{Issuer: as.URL, Resource: "http://mcp.example"} })
	by := func(user string) []string {
		return []string{"Authorization", "Bearer " + as.Token(t, user, "http://mcp.example", "")}
	}
	made := func(tool string) string {
		t.Helper()
		_, a := s.postAlone(withTasks("tools/call", `"name":"`+tool+`","arguments":{}`), by("ada")...)
		return a.task(t).TaskID
	}
	asking, failing := made("confirm_delete"), made("protocol_error_job")
	see := func(user, id string) *answer {
		t.Helper()
		_, a := s.about(id, "tasks/get", "", by(user)...)
		return a
	}
	require.Eventually(t, func() bool {
		return see("ada", asking).task(t).Status == "input_required" && see("ada", failing).task(t).Status == "failed"
	}, time.Minute, 5*time.Millisecond)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		_, a := s.about(asking, method, `,"inputResponses":{"confirm-1":{"action":"accept"}}`, by("bob")...)
		require.Equal(t, int64(-32602), a.Error.Code, method)
		_, unknown := s.about("unknown", method, `,"inputResponses":{}`, by("bob")...)
		require.Equal(t, strings.ReplaceAll(unknown.Error.Message, "unknown", asking), a.Error.Message, "as if there were none")
	}
	require.Equal(t, "input_required", see("ada", asking).task(t).Status)
}

// A subscription to tasks ends with the server, like any other. One that is malformed
// is refused.
func TestSubscriptionToTasks(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t)
	for _, ids := range []string{`5`, `"x"`, `[5]`, `{}`} {
		status, a := s.postAlone(withTasks("subscriptions/listen", `"notifications":{"taskIds":`+ids+`}`))
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, int64(-32602), a.Error.Code, ids)
	}
	status, a := s.postAlone(withTasks("subscriptions/listen", `"notifications":{"taskIds":[]}`))
	require.Equal(t, http.StatusOK, status)
	require.Nil(t, a.Error)

	_, a = s.postAlone(withTasks("tools/call", `"name":"slow_compute","arguments":{"seconds":3600}`))
	id := a.task(t).TaskID
	res := s.do(http.MethodPost, withTasks("subscriptions/listen", `"notifications":{"taskIds":["`+id+`"]}`),
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	lines := bufio.NewScanner(res.Body)
	next := func() (data string) {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	require.Contains(t, next(), `"notifications":{"taskIds":["`+id+`"]}`)
	require.Contains(t, next(), `"status":"working"`)
	s.stop()
	require.Empty(t, next(), "the stream has ended")
	require.NoError(t, lines.Err(), "and was not cut")
}
