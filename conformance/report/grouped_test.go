package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// broke is a check that failed: what was sent, what came, and what should have come.
func broke(id, sent, expected, actual string, more ...conformance.Frame) conformance.Result {
	res := conformance.Result{
		Check:    conformance.Check{ID: id, Title: "title of " + id, Level: conformance.Must},
		Scenario: strings.Split(id, "/")[0], Area: "base", Level: conformance.Must, Status: conformance.Fail, Revision: mcp.LatestSession, Attempts: 1,
		Expected: expected, Actual: actual,
	}
	if sent != "" {
		res.Evidence = append(res.Evidence, conformance.Frame{Dir: conformance.ToServer, Data: []byte(sent), Size: len(sent)})
	}
	res.Evidence = append(res.Evidence, more...)
	return res
}

func request1(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"c-1","method":%q,"params":%s}`, method, params)
}

func call(tool string) string { return request1("tools/call", fmt.Sprintf(`{"name":%q}`, tool)) }

func answered(status int, media, body string) conformance.Frame {
	return conformance.Frame{Dir: conformance.FromServer, Data: []byte(body), Size: len(body), HTTP: &conformance.HTTPInfo{Status: status, ContentType: media}}
}

func exited(status int, stderr string) conformance.Frame {
	return conformance.Frame{Dir: conformance.FromServer, Note: fmt.Sprintf("the server exited (status %d: %s)", status, stderr)}
}

func sentTo(data string) conformance.Frame {
	return conformance.Frame{Dir: conformance.ToServer, Data: []byte(data), Size: len(data)}
}

func advised(res conformance.Result) conformance.Result {
	res.Level, res.Check.Level, res.Status = conformance.Advice, conformance.Advice, conformance.Warn
	return res
}

func lost(res conformance.Result) conformance.Result {
	res.Status, res.Detail, res.Actual, res.Expected = conformance.Inconclusive, res.Actual, "", ""
	return res
}

const (
	python = "Traceback (most recent call last):\n  File \"/srv/server.py\", line 9, in <module>\n  File \"/srv/server.py\", line %d, in call\n    raise KeyError(name)\nKeyError: %s"
	golang = "panic: runtime error: index out of range [3]\n\ngoroutine 1 [running]:\nmain.handle(...)\n\t/srv/main.go:17 +0x1d\nexit status 2"
	node   = "/srv/server.js:4\n  throw new TypeError('x');\n  ^\n\nTypeError: x is not a function\n    at handle (/srv/server.js:4:9)\n    at main (/srv/server.js:9:1)\n\nNode.js v24.1.0"
)

func TestFindings_Causes(t *testing.T) {
	t.Parallel()
	refused := func(id, method, expected string) conformance.Result {
		return broke(id, request1(method, "{}"), expected, "no answer: HTTP 400 text/plain; charset=utf-8", answered(400, "text/plain; charset=utf-8", "unknown method "+method))
	}
	closed := "the server closed the connection"
	for name, c := range map[string]struct {
		results []conformance.Result
		want    []string // the name and title of each finding
	}{
		"an unknown method is refused in plain text": {
			[]conformance.Result{
				refused("LC-11/tools", "tools/list", "error -32601"), advised(refused("LC-11/get", "prompts/get", "error -32601")),
				refused("TALK-METHODS/case", "Tools/List", `{"id":"m-case","error":{"code":-32601,"message":"$string"}}`),
				refused("RPC-22/method", "x/"+strings.Repeat("m", 3000), "error -32601"), refused("X-WIRE-04/error", "com.example/none", `id "e-1"`),
			},
			[]string{"LC-11/tools +4: an unknown method is answered with 400 text/plain, not a JSON-RPC error"},
		},
		"two refusals": {
			[]conformance.Result{refused("A-01/x", "a/b", "error -32601"), broke("A-02/x", request1("ping", "7"), "error -32602", "no answer", answered(400, "text/plain", "bad params"))},
			[]string{
				"A-01/x: an unknown method is answered with 400 text/plain, not a JSON-RPC error",
				"A-02/x: ping is answered with 400 text/plain, not a JSON-RPC message",
			},
		},
		"a refusal without a body is judged by its request": {
			[]conformance.Result{
				broke("A-01/x", request1("ping", "{}"), "a result", "no answer", answered(404, "", "")),
				broke("A-02/x", request1("tools/list", "{}"), "a result", "no answer", answered(404, "", "")),
			},
			[]string{
				"A-01/x: ping is answered with 404 without content, not a JSON-RPC message",
				"A-02/x: tools/list is answered with 404 without content, not a JSON-RPC message",
			},
		},
		"a session that the server ends": {
			[]conformance.Result{func() conformance.Result {
				res := lost(broke("A-01/x", request1("ping", "{}"), "a result", "", answered(404, "", "")))
				res.Detail = textSessionEnded
				return res
			}()},
			[]string{"A-01/x: the server ended the session with 404, as it may"},
		},
		"a refusal in JSON-RPC is an answer": {
			[]conformance.Result{broke("A-01/x", request1("ping", "{}"), "a result", "error -32600", answered(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600}}`))},
			[]string{"A-01/x: title of A-01/x"},
		},
		"a program that exits at one place": {
			[]conformance.Result{
				broke("A-01/x", call("one"), "an error", closed, exited(1, fmt.Sprintf(python, 12, "'one'"))),
				lost(broke("A-02/x", call("two"), "", closed, exited(1, fmt.Sprintf(python, 12, "None")))),
				broke("A-03/x", "this is not JSON", "an error", closed, exited(1, fmt.Sprintf(python, 40, "3"))),
			},
			[]string{"A-01/x +1: the server exits on tools/call: KeyError: 'one'", "A-03/x: the server exits: KeyError: 3"},
		},
		"two exceptions at one place, and the message that causes one": {
			[]conformance.Result{
				broke("A-01/x", request1("prompts/list", "{}"), "an answer to each", closed, sentTo(`{"id":1,"method":"a"}`), sentTo(`{"id":2,"method":"a"}`), sentTo(`{"id":3,"method":"a"}`), answered(0, "", `{"id":3,"result":{}}`), sentTo(`{"id":4,"method":"a"}`), answered(0, "", `{"id":5,"result":{}}`), exited(1, fmt.Sprintf(python, 12, "'late'"))),
				broke("A-02/x", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, "silence", closed, exited(1, fmt.Sprintf(python, 12, "'late'"))),
				broke("A-03/x", call("one"), "an error", closed, exited(1, strings.ReplaceAll(fmt.Sprintf(python, 12, "3"), "KeyError", "TypeError"))),
			},
			[]string{"A-02/x +1: the server exits on notifications/cancelled: KeyError: 'late'", "A-03/x: the server exits on tools/call: TypeError: 3"},
		},
		"silence after a notification, which nobody answers": {
			[]conformance.Result{broke("A-01/x", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c-9"}}`, "an answer to ping", "no answer in 10s")},
			[]string{"A-01/x: title of A-01/x"},
		},
		"headers that are refused": {
			[]conformance.Result{broke("A-01/x", "", "200", "406", conformance.Frame{
				Dir: conformance.ToServer, Data: []byte(request1("ping", "{}")), Note: "Accept: text/event-stream, application/json", HTTP: &conformance.HTTPInfo{Method: "POST"},
			}, answered(406, "", ""))},
			[]string{"A-01/x: title of A-01/x"},
		},
		"a panic, an exception and a silent exit": {
			[]conformance.Result{
				broke("A-01/x", call("one"), "an error", closed, exited(2, golang)),
				broke("A-02/x", call("one"), "an error", closed, exited(1, node)),
				broke("A-03/x", call("one"), "an error", closed, exited(1, "starting\nlistening\ncannot open the store")),
				broke("A-04/x", call("one"), "an error", closed),
			},
			[]string{
				"A-01/x: the server exits on tools/call: panic: runtime error: index out of range [3]",
				"A-02/x: the server exits on tools/call: TypeError: x is not a function",
				"A-03/x: the server exits on tools/call: cannot open the store",
				"A-04/x: the server closes the connection on tools/call",
			},
		},
		"what a scenario did not reach has the cause of its end": {
			[]conformance.Result{
				lost(broke("A-01/kinds", call("one"), "", "not reached")), broke("A-01/mixed", call("one"), "an answer", "request 4: "+closed, exited(1, "fatal")),
				lost(broke("A-02/kinds", call("one"), "", "not reached")),
			},
			[]string{"A-01/mixed +1: the server exits on tools/call: fatal", "A-02/kinds: title of A-02/kinds"},
		},
		"silence": {
			[]conformance.Result{
				broke("A-01/x", call("slow"), "a result", "no answer"), lost(broke("A-02/x", call("slow"), "", "no answer in 10s")), broke("A-03/x", call("other"), "a result", "no answer"),
			},
			[]string{"A-01/x +1: the server does not answer tools/call", "A-03/x: the server does not answer tools/call"},
		},
		"text on standard output": {
			[]conformance.Result{
				broke("STDIO-01/clean", request1("ping", "{}"), "that of all", "a line on standard output is no message during ping", conformance.Frame{Dir: conformance.FromServer, Data: []byte("DEBUG 1"), Note: "a line on standard output is no message"}),
				broke("STDIO-08/after", "", "messages", "DEBUG 2 (the server closed the connection)", conformance.Frame{Dir: conformance.FromServer, Data: []byte("DEBUG 2"), Note: "invalid character 'D'"}),
				broke("A-01/x", request1("ping", "[]"), "an error", "result {}", conformance.Frame{Dir: conformance.FromServer, Data: []byte("DEBUG 3"), Note: "invalid character 'D'"}),
			},
			[]string{"STDIO-01/clean +1: standard output has text that is no message: DEBUG 1", "A-01/x: title of A-01/x"},
		},
		"the same wrong code for any unknown method": {
			[]conformance.Result{broke("A-01/x", request1("a/b", "{}"), "error -32601", `error -32603 "a/b"`), broke("A-02/x", request1("c/d", "{}"), `{"error":{"code":-32601}}`, `error -32603 "c/d"`)},
			[]string{"A-01/x +1: title of A-01/x"},
		},
		"two tools, two expectations, two scenarios": {
			[]conformance.Result{
				broke("A-01/a", call("add"), "error -32602", `result {"n":1}`), broke("A-01/b", call("add"), "error -32602", `result {"n":2}`), broke("A-01/c", call("sub"), "error -32602", `result {}`),
				broke("A-01/d", call("add"), "error -32021", `result {}`), broke("A-02/a", call("add"), "error -32602", `result {}`),
			},
			[]string{"A-01/a +1: title of A-01/a", "A-01/c: title of A-01/c", "A-01/d: title of A-01/d", "A-02/a: title of A-02/a"},
		},
		"an id of another type": {
			[]conformance.Result{
				broke("X-WIRE-04/zero", `{"id":0,"method":"ping"}`, "id 0", `id "0"`, answered(200, "application/json", `{"id":"0","result":{}}`)),
				broke("TALK-PING/integer", `{"id":7,"method":"ping"}`, "{}", "no answer, though the ping after it was answered", answered(200, "application/json", `{"id":"7","result":{}}`)),
				broke("RPC-06/known", "", "that of all", `id "7" was never sent`, answered(200, "application/json", `{"id":"7","result":{}}`)),
				broke("X-WIRE-04/string", `{"id":"12","method":"ping"}`, `id "12"`, "id 12", answered(200, "application/json", `{"id":12,"result":{}}`)),
				broke("X-WIRE-04/other", `{"id":"12","method":"ping"}`, `id "12"`, `id "x"`, answered(200, "application/json", `{"id":"x","result":{}}`)),
			},
			[]string{"X-WIRE-04/zero +2: an integer id comes back as a string", "X-WIRE-04/string: a string id comes back as an integer", "X-WIRE-04/other: title of X-WIRE-04/other"},
		},
		"a body that is not what its type says": {
			[]conformance.Result{
				broke("LC-01/answered", request1("initialize", "{}"), "a result", "no answer: HTTP 200 application/json", unreadable("event: message\ndata: {}")),
				lost(broke("X-SEC-02/foreign", request1("initialize", "{}"), "", "no handshake", unreadable("event: message\ndata: {}"))),
				broke("HTTP-03/one", "", textOfAll, "a body is no message", unreadable("event: message\ndata: {}")),
			},
			[]string{"LC-01/answered +2: an answer of type application/json is not JSON: event: message"},
		},
		"a list that never ends": {
			[]conformance.Result{
				lost(broke("DISC-11/list", request1("tools/list", "{}"), "", `the list does not end: the cursor "" comes back`)),
				broke("UTIL-14/ends", request1("tools/list", "{}"), "a last page", `the list does not end: the cursor "" comes back`),
				broke("UTIL-14/resources-ends", request1("resources/list", "{}"), "a last page", `the list does not end: the cursor "2" comes back`),
			},
			[]string{"UTIL-14/ends +2: following the cursors of tools/list comes to no end"},
		},
		"a message over several lines": {
			[]conformance.Result{
				broke("STDIO-01/clean", request1("ping", "{}"), "that of all", "a line on standard output is no message during ping", conformance.Frame{Dir: conformance.FromServer, Data: []byte("{"), Note: "a line on standard output is no message"}),
			},
			[]string{"STDIO-01/clean: a message on standard output is broken, or goes over several lines: {"},
		},
		"the same error for different requests": {
			[]conformance.Result{
				broke("A-01/x", request1("resources/read", "{}"), "error -32002", `error 0 "something went wrong"`),
				broke("A-02/x", request1("resources/subscribe", "{}"), "a result", `a://b: error 0 "something went wrong"`),
				advised(broke("A-03/x", request1("resources/list", "{}"), "error -32602", `error 0 "something went wrong"`)),
				broke("A-04/x", request1("tools/call", "{}"), "error -32602", `error 7 "no"`),
			},
			[]string{
				`A-01/x +1: different requests are answered with the same error: error 0 "something went wrong"`,
				"A-04/x: title of A-04/x", "A-03/x: title of A-03/x",
			},
		},
		"answers to notifications": {
			[]conformance.Result{broke("A-01/x", `{"method":"notifications/x"}`, "no answer", `{"id":null,"error":{}}`), broke("A-02/x", `{"method":"notifications/y"}`, "no answer", `{"id":null}`)},
			[]string{"A-01/x +1: title of A-01/x"},
		},
		"any version is echoed": {
			[]conformance.Result{
				broke("LC-03/unknown", request1("initialize", `{"protocolVersion":"1999-01-01"}`), "a version that exists", `"1999-01-01"`),
				broke("LC-03/future", request1("initialize", `{"protocolVersion":"2099-01-01"}`), "a revision of the session era", `"2099-01-01"`),
			},
			[]string{"LC-03/unknown +1: title of LC-03/unknown"},
		},
		"silence after what is no request": {
			[]conformance.Result{
				broke("A-01/x", "this is not JSON", "an error", "no answer", conformance.Frame{Dir: conformance.ToServer, Data: []byte(request1("ping", "{}"))}), broke("A-02/x", request1("ping", "{}"), "a result", "no answer"),
			},
			[]string{"A-01/x: title of A-01/x", "A-02/x: the server does not answer ping"},
		},
		"a client": {
			[]conformance.Result{broke("C-A-01/x", call("add"), "a call", "no answer: HTTP 400 text/plain"), broke("C-A-02/x", call("add"), "a call", "no answer: HTTP 400 text/plain")},
			[]string{"C-A-01/x: title of C-A-01/x", "C-A-02/x: title of C-A-02/x"},
		},
		"an area that cannot be judged": {
			[]conformance.Result{lost(broke("A-01/x", "", "", "no handshake in 3 tries")), lost(broke("A-02/x", "", "", "no handshake in 5 tries"))},
			[]string{"A-01/x +1: title of A-01/x"},
		},
	} {
		var got []string
		for _, f := range findings(&conformance.Report{Results: c.results}) {
			got = append(got, f.name()+": "+f.title())
		}
		require.Equal(t, c.want, got, name)
	}
}

// unreadable is an answer of type JSON with another body.
func unreadable(body string) conformance.Frame {
	f := answered(200, "application/json", body)
	f.Note = "invalid character"
	return f
}

// TestFindings_Revisions: a check is one finding in all revisions, and a known failure
// stays apart from the others.
func TestFindings_Revisions(t *testing.T) {
	t.Parallel()
	one, two, known := broke("A-01/x", call("add"), "one", "1"), broke("A-01/x", call("add"), "one", "two"), broke("A-02/x", call("add"), "one", "1")
	two.Revision, known.Baseline = mcp.Latest, conformance.BaselineKnown
	r := &conformance.Report{Results: []conformance.Result{two, one, known}, Revisions: []conformance.RevisionReport{{Revision: mcp.Latest}, {Revision: mcp.LatestSession}}}
	found := findings(r)
	require.Len(t, found, 2)
	require.Equal(t, []mcp.Version{mcp.Latest, mcp.LatestSession}, found[0].versions())
	require.Equal(t, "mcpctl conform server --only A-01/x", found[0].again(r))
	require.Equal(t, rankKnown, found[1].rank)
}

// TestFindings_Order: security, data, what breaks every client, the other requirements;
// then what does not fail the run, and advice last.
func TestFindings_Order(t *testing.T) {
	t.Parallel()
	should := broke("UTIL-15/x", call("e"), "five", "5")
	should.Level, should.Status = conformance.Should, conformance.Warn
	many, more := broke("Z-01/a", call("f"), "six", "6"), broke("Z-01/b", call("f"), "six", "6")
	r := &conformance.Report{Results: []conformance.Result{
		advised(broke("A-01/advice", call("a"), "a", "b")), should, broke("TOOL-01/x", call("b"), "two", "2"), many, more, broke("LC-01/answered", request1("initialize", "{}"), "three", "3"),
		broke("X-ISO-01/ids", call("c"), "four", "4"), broke("X-SEC-02/foreign", call("d"), "403", "200"),
		broke("X-WIRE-12/mixed", call("g"), "an answer", "the server closed the connection"), broke("X-SEC-02/none", call("h"), "200", "403"),
	}}
	var got []string
	for _, f := range findings(r) {
		got = append(got, f.name()+": "+f.harm.String())
	}
	require.Equal(t, []string{
		"X-SEC-02/foreign: security", "X-ISO-01/ids: data", "LC-01/answered: breaks every client", "X-WIRE-12/mixed: breaks every client",
		"Z-01/a +1: MUST", "TOOL-01/x: MUST", "X-SEC-02/none: MUST", "UTIL-15/x: SHOULD", "A-01/advice: advice",
	}, got)
}

// manyFindings is a report in which n checks fail for as many causes, each with traffic.
func manyFindings(n int) *conformance.Report {
	r := sampleReport()
	first := r.Results
	r.Results = nil
	for i := range n {
		tool := fmt.Sprintf("tool-%c%c", 'a'+i/26, 'a'+i%26)
		res := broke(fmt.Sprintf("BAD-%02d/x", i), call(tool), "error -32602", `result {"content":[]}`)
		res.Spec = first[1].Spec
		for j := range 25 {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"c-%d","result":{"content":[{"type":"text","text":"the %d answer of %s%s"}]}}`, j, j*i, tool, strings.Repeat(" and more", 30))
			res.Evidence = append(res.Evidence, conformance.Frame{Dir: conformance.ToServer, Data: []byte(call(tool)), Size: 80}, answered(200, "application/json", body))
		}
		r.Results = append(r.Results, res)
	}
	r.Results = append(r.Results, first...)
	return r
}

// TestHarms: each pattern selects a check, so that a renamed one does not lose its harm. Those
// of the families and of clients are in other packages.
func TestHarms(t *testing.T) {
	t.Parallel()
	listed := checks.List()
	for _, h := range harms {
		for _, pattern := range strings.Fields(h.patterns) {
			if strings.HasPrefix(pattern, "S0-") || strings.HasPrefix(pattern, "C-") || pattern == "store_artifact" || pattern == "ids" {
				continue
			}
			require.True(t, slices.ContainsFunc(listed, func(l conformance.Listed) bool {
				return conformance.Match(pattern, l.Check.ID, l.Scenario, l.Area)
			}), pattern)
		}
	}
}

// What only the schemas found comes after the check of just this, and names the member itself.
func TestFindings_GeneralChecksComeLast(t *testing.T) {
	t.Parallel()
	schema := broke("RPC-01/schema-result", "", textOfAll, "prompts/get: messages[].role is system, not one of assistant, user (GetPromptResult)")
	again := broke("RPC-01/schema-result", "", textOfAll, "tools/call: content is null, not array (CallToolResult)")
	role := broke("PRM-01/role", request1("prompts/get", `{"name":"greet"}`), "user or assistant", "system")
	r := conformance.Report{Results: []conformance.Result{schema, again, role}}
	all := findings(&r)
	require.Equal(t, "title of PRM-01/role", all[0].title())
	require.Contains(t, all[len(all)-1].title(), " is ", "a title names the member")
}

// Of several forms of a fault the plain one leads, not the odd one with the same evidence.
func TestFindings_PlainCasesLead(t *testing.T) {
	t.Parallel()
	for _, ids := range [][2]string{
		{"HTTP-15/delete", "HTTP-15/invalid"},
		{"TALK-SILENCE/initialized-again", "TALK-SILENCE/unknown"},
		{"CALL-03/after", "CALL-03/token"},
		{"HDR-05/tool-base64-other", "HTTP-31/tool-other"},
	} {
		r := conformance.Report{Results: []conformance.Result{
			broke(ids[0], request1("tools/list", "{}"), "an error", "a result"),
			broke(ids[1], request1("tools/list", "{}"), "an error", "a result"),
		}}
		r.Results[0].Scenario, r.Results[1].Scenario = "ONE", "ONE"
		all := findings(&r)
		require.Len(t, all, 1)
		require.Equal(t, "title of "+ids[1], all[0].title())
	}
}

// A ping that is answered shows that the server lives: another request got no answer.
func TestFindings_PingShowsLife(t *testing.T) {
	t.Parallel()
	ping := request1("ping", "{}")
	hangs := broke("CALL-01/in-time", ping, "an answer", "cancel_booking: no answer in 10s", answered(0, "", `{"jsonrpc":"2.0","id":"c-1","result":{}}`))
	silent := broke("RPC-12/null", ping, "an answer", "no answer in 10s")
	all := findings(&conformance.Report{Results: []conformance.Result{hangs, silent}})
	require.Len(t, all, 2)
	require.ElementsMatch(t, []string{"title of CALL-01/in-time", "the server does not answer ping"}, []string{all[0].title(), all[1].title()})
}

// TestRequestOf_AllMessages: a check of all messages has each message that broke its rule after the
// request that it answers; what came is about the first.
func TestRequestOf_AllMessages(t *testing.T) {
	t.Parallel()
	res := broke("TOOL-13/content", call("first"), textOfAll, "content is null", answered(200, "application/json", "{}"), sentTo(call("second")), answered(200, "application/json", "{}"))
	require.Equal(t, "first", requestOf(&res).Tool)
	alone := broke("STDIO-01/clean", "", textOfAll, "a line is no message", answered(0, "", "hello"), sentTo(call("second")), answered(0, "", "again"))
	require.Empty(t, requestOf(&alone))
	all := findings(&conformance.Report{Results: []conformance.Result{res}})
	require.Contains(t, all[0].sent(500), "first")
	require.Empty(t, all[0].wanted())
}

// TestRequestOf_Pings: pings that were answered show that the server lives, and are not what a check is
// about; a ping without an answer may be.
func TestRequestOf_Pings(t *testing.T) {
	t.Parallel()
	frame := func(dir conformance.Direction, data string) conformance.Frame {
		return conformance.Frame{Dir: dir, Data: []byte(data), Size: len(data)}
	}
	ping := `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	said := frame(conformance.FromServer, `{"jsonrpc":"2.0","id":"p","result":{}}`)
	answered := broke("A-01/x", request1("com.example/nothing", "{}"), "an error", "", frame(conformance.FromServer, `{"jsonrpc":"2.0","id":"c-1","error":{"code":1,"message":""}}`), frame(conformance.ToServer, ping), said)
	require.Equal(t, "com.example/nothing", requestOf(&answered).Method)
	silent := broke("A-01/x", request1("tools/list", "{}"), "an answer", "", frame(conformance.FromServer, `{"jsonrpc":"2.0","id":"c-1","result":{"tools":[]}}`), frame(conformance.ToServer, ping))
	require.Equal(t, "ping", requestOf(&silent).Method)
	only := broke("A-01/x", ping, "{}", "", said)
	require.Equal(t, "ping", requestOf(&only).Method)
}

// TestExitLine: of what a program says at its end, the line with the reason is shown.
func TestExitLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ said, want string }{
		"go":                        {golang, "panic: runtime error: index out of range [3]"},
		"node":                      {node, "TypeError: x is not a function"},
		"a rejection":               {"node:internal/process/promises:394\n      triggerUncaughtException(err, true);\n      ^\n\n[UnhandledPromiseRejection: This error came from \"boom\".] {\n  code: 'ERR_UNHANDLED_REJECTION'\n}\n\nNode.js v20.0.0", "[UnhandledPromiseRejection: This error came from \"boom\".] {"},
		"rust":                      {"\nthread 'main' panicked at src/main.rs:10:5:\ncalled `Result::unwrap()` on an `Err` value\nnote: run with `RUST_BACKTRACE=1`", "thread 'main' panicked at src/main.rs:10:5: called `Result::unwrap()` on an `Err` value"},
		"a group of exceptions":     {"  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 3, in <module>\n  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n    |   File \"a.py\", line 9, in call\n    | ValueError: inner\n    +------------------------------------", "ValueError: inner"},
		"python":                    {fmt.Sprintf(python, 12, "'a'"), "KeyError: 'a'"},
		"an error that was handled": {"Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nKeyError: 'OPTIONAL'\nINFO ready\nFATAL: licence has expired", "FATAL: licence has expired"},
		"only words":                {"starting\ncannot open the store\n", "cannot open the store"},
		"java":                      {"Exception in thread \"main\" java.lang.IllegalStateException: no store\n\tat Main.main(Main.java:5)", "Exception in thread \"main\" java.lang.IllegalStateException: no store"},
		"nothing":                   {"", ""},
	} {
		require.Equal(t, c.want, exitLine(c.said), name)
	}
}
