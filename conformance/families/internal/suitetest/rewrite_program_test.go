package suitetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// programDefect is what can be wrong with a server that is a program, beside
// the messages it sends.
type programDefect struct {
	// logs changes a line of the log; nil drops it.
	logs func(line reply) reply
	// rest changes what the server's own services answer.
	rest func(r *http.Request, a *artifact.RestAnswer, body reply)
	// asks changes what the server asks of the services that the suite plays. With
	// false the request does not get there.
	asks func(r *http.Request, body reply, more asking) bool
	// calls asks more of them than the server does, at each call of a tool.
	calls func(m fakeMessage, more asking)
	// hangs has the server stay after its input ended.
	hangs bool
}

// asking sends another request to the services that the suite plays.
type asking func(method, path string, body any)

// rewrittenProgram is the reference server as a program in this process: it has
// an environment, a log and, in each conversation, a life of its own.
type rewrittenProgram struct {
	conformance.FuncSubject
	rewritten
	grace time.Duration
	// running are the servers that have not ended: one that hangs does so after
	// the suite has given it up.
	running *sync.WaitGroup
}

func (p rewrittenProgram) IsProcess() bool { return true }

func (p rewrittenProgram) Open(ctx context.Context, tr *wire.Trace, extra []string) (wire.Conn, error) {
	env := map[string]string{}
	for _, kv := range extra {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	log := wire.NewLog(nil)
	lines := &logRewriter{out: log, defect: p.programDefect}
	p.stand(env, lines)
	minutes, _ := strconv.Atoi(env["RESERVATION_EXPIRATION_MINUTES"]) // none: the default
	options := reference.Options{
		Families: []string{profile.Artifact}, ArtifactsDir: env[surroundings.EnvArtifacts], ChecklistDir: env[surroundings.EnvChecklists],
		Services: reference.Services{
			TasksURL: env["TASK_TRACKING_API_URL"], IDsURL: env["ID_MANAGEMENT_API_URL"], APIKey: env["API_KEY"],
			ProjectID: env["PROJECT_ID"], Reservation: time.Duration(minutes) * time.Minute,
		},
		Log:     lines,
		Docling: reference.Docling{InputRoots: filepath.SplitList(env[surroundings.EnvInputs])},
	}
	if p.options != nil {
		p.options(&options)
	}
	server, err := reference.New(options)
	if err != nil {
		return nil, err
	}
	serve := p.serve(server.ServeStdio)
	p.running.Add(1)
	return wire.NewPipeConn(ctx, func(ctx context.Context, in io.Reader, out io.Writer) error {
		defer p.running.Done()
		err := serve(ctx, in, out)
		if p.hangs {
			<-ctx.Done()
		}
		err = errors.Join(err, server.Close())
		lines.close()
		return err
	}, p.grace, log, tr), nil
}

// stand puts the defects of requests between the server and the services that
// the suite plays.
func (p *rewrittenProgram) stand(env map[string]string, lines *logRewriter) {
	at := env["TASK_TRACKING_API_URL"]
	if at == "" || p.asks == nil && p.calls == nil {
		return
	}
	client := &http.Client{Transport: &http.Transport{}}
	more := func(method, path string, body any) {
		req, err := http.NewRequest(method, at+path, bytes.NewReader(rawjson.Encode(body)))
		if err != nil {
			return
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}
	if p.asks != nil {
		proxy := forwarding(client, at, func(r *http.Request, body reply) bool { return p.asks(r, body, more) }, nil)
		lines.opened = append(lines.opened, proxy.Close)
		env["TASK_TRACKING_API_URL"], env["ID_MANAGEMENT_API_URL"] = proxy.URL, proxy.URL
	}
	lines.opened = append(lines.opened, client.CloseIdleConnections)
	if p.calls != nil {
		p.first = func(m fakeMessage) ([]any, bool) {
			if m.call != "" {
				p.calls(m, more)
			}
			return nil, false
		}
	}
}

// forwarding is a proxy before a service. ask changes a request, said an answer.
func forwarding(client *http.Client, to string, ask func(*http.Request, reply) bool, said func(*http.Request, *artifact.RestAnswer, reply)) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body) // of a request that ends early there is nothing to send
		body := reply{}
		if ask != nil {
			_ = json.Unmarshal(data, &body) // a request without a body has none to change
			if !ask(r, body) {
				_, _ = w.Write([]byte(`{"success":true,"confirmed":true}`))
				return
			}
			if len(data) > 0 {
				data = rawjson.Encode(body)
			}
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, to+r.URL.RequestURI(), bytes.NewReader(data))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		req.Header = r.Header.Clone()
		req.Header.Del("Content-Length")
		resp, err := client.Do(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = resp.Body.Close() }()
		answer := artifact.RestAnswer{Status: resp.StatusCode}
		raw, _ := io.ReadAll(resp.Body) // a service of ours
		maps.Copy(w.Header(), resp.Header)
		w.Header().Del("Content-Length")
		if said != nil {
			members := reply{}
			_ = json.Unmarshal(raw, &members) // each answer is an object
			answer.Header = w.Header()
			said(r, &answer, members)
			raw = rawjson.Encode(members)
		}
		w.WriteHeader(answer.Status)
		_, _ = w.Write(raw)
	}))
}

// logRewriter changes the lines of a log. slog writes each in one piece.
type logRewriter struct {
	out    io.Writer
	defect programDefect
	opened []func()
}

func (l *logRewriter) Write(data []byte) (int, error) {
	var line reply
	if json.Unmarshal(data, &line) != nil {
		return l.out.Write(data)
	}
	if line["event"] == "services_started" && l.defect.rest != nil {
		client := &http.Client{Transport: &http.Transport{}}
		for _, name := range []string{"tasks_url", "ids_url"} {
			proxy := forwarding(client, line[name].(string), nil, l.defect.rest)
			l.opened = append(l.opened, proxy.Close)
			line[name] = proxy.URL
		}
		l.opened = append(l.opened, client.CloseIdleConnections)
	}
	if l.defect.logs != nil {
		if line = l.defect.logs(line); line == nil {
			return len(data), nil
		}
	}
	_, err := l.out.Write(append(rawjson.Encode(line), '\n'))
	return len(data), err
}

func (l *logRewriter) close() {
	for _, end := range l.opened {
		end()
	}
}

// judgeProgram is judge for a server that is a program.
func (r rewritten) judgeProgram(t *testing.T, sc *engine.Scenario, id string) conformance.Result {
	t.Helper()
	var running sync.WaitGroup
	report, err := runAll(t.Context(), rewrittenProgram{conformance.FuncSubject{}, r, endPatience(id), &running}, conformance.Options{Only: []string{id}, Revisions: []mcp.Version{r.judgedIn(sc, id)}})
	running.Wait()
	require.NoError(t, err)
	at := slices.IndexFunc(report.Results, func(r conformance.Result) bool { return r.ID == id })
	require.GreaterOrEqual(t, at, 0)
	return report.Results[at]
}

// TestProgramAsItIs: the program without a defect passes all that the artifact
// workflow asks, in both eras.
func TestProgramAsItIs(t *testing.T) {
	t.Parallel()
	only, least := []string{"approve_artifact", "add_task", "ids", "tasks_api", "ids_api", "X-WIRE-07-FAMILIES", "X-SHUT-01-CALL"}, 2*130
	if testmain.Race || os.Getenv("MAINSTAY_SOAK") == "" { // what is at once, on either side
		only, least = []string{"S0-APPROVE-25*", "S0-NEXT-05", "S0-RES-0*", "S0-TASKAPI-16", "S0-IDAPI-11", "X-SHUT-01-CALL"}, 2*10
	}
	var running sync.WaitGroup
	report, err := runAll(t.Context(), rewrittenProgram{grace: wire.EndGrace, running: &running}, conformance.Options{Only: only})
	running.Wait()
	require.NoError(t, err)
	passed := 0
	for _, res := range report.Results {
		switch {
		case res.Status == conformance.Pass:
			passed++
		case res.Scenario == "X-PERF-01" && res.Status == conformance.Inconclusive: // tests at once make any machine busy
		case res.Status != conformance.Skip:
			require.Fail(t, "not passed", "%s in %s is %s: %s %s", res.ID, res.Revision, res.Status, res.Actual, res.Detail)
		case res.Reason != conformance.SkipExcluded:
			require.Contains(t, []conformance.SkipReason{conformance.SkipControl, conformance.SkipNotInRevision, conformance.SkipNoFixture}, res.Reason, res.ID)
		}
	}
	require.Greater(t, passed, least)
}

// program has a rewritten server run as a program.
func (r rewritten) asProgram() rewritten {
	r.program = true
	return r
}

// payloadOf has a rewritten program change the objects a tool answers with.
func payloadOf(tool string, change func(p reply)) rewritten {
	return changedCall(tool, func(_ fakeMessage, result reply) {
		content, _ := result["content"].([]any)
		if len(content) == 0 {
			return
		}
		block, _ := content[0].(reply)
		var p reply
		text, _ := block["text"].(string)
		if json.Unmarshal([]byte(text), &p) == nil {
			change(p)
			block["text"] = string(rawjson.Encode(p))
		}
	}).asProgram()
}

// setting is payloadOf for one member.
func setting(tool, member string, value any) rewritten {
	return payloadOf(tool, func(p reply) { p[member] = value })
}

// accepting has it answer a result where the server refuses.
func accepting(tool string) rewritten {
	return refusing(tool, func(r, _ reply) {
		delete(r, "error")
		r["result"] = reply{"content": []any{reply{"type": "text", "text": "{}"}}, "isError": false}
	})
}

// refusing has it change the errors of a tool.
func refusing(tool string, change func(r, e reply)) rewritten {
	return rewritten{after: func(m fakeMessage, r reply) []any {
		if e, ok := r["error"].(reply); ok && m.call == tool {
			change(r, e)
		}
		return []any{r}
	}}.asProgram()
}

// failingCalls has it refuse all calls of a tool.
func failingCalls(tool string) rewritten {
	return rewritten{after: func(m fakeMessage, r reply) []any {
		if m.call == tool {
			delete(r, "result")
			r["error"] = reply{"code": wire.CodeInternal, "message": "Internal error: refused"}
		}
		return []any{r}
	}}.asProgram()
}

// coded has it refuse with another code.
func coded(tool string, code int64) rewritten {
	return refusing(tool, func(_, e reply) { e["code"] = code })
}

// told has it refuse with another message.
func told(tool, message string) rewritten {
	return refusing(tool, func(_, e reply) { e["message"] = message })
}

// dated has it refuse with another member in the data.
func dated(tool, member string, value any) rewritten {
	return refusing(tool, func(_, e reply) {
		if data, ok := e["data"].(reply); ok {
			data[member] = value
		}
	})
}

// readAs has it change the text of resources.
func readAs(change func(uri, text string) string) rewritten {
	return changed(mcp.MethodResourcesRead, func(m fakeMessage, result reply) {
		uri, _ := m.params["uri"].(string)
		for _, c := range result["contents"].([]any) {
			block, _ := c.(reply)
			text, _ := block["text"].(string)
			block["text"] = change(uri, text)
		}
	}).asProgram()
}

// rewording is readAs for words.
func rewording(words ...string) rewritten {
	return readAs(func(_, text string) string { return strings.NewReplacer(words...).Replace(text) })
}

// requesting has it change its requests to an endpoint of the services.
func requesting(endpoint string, change func(r *http.Request, body reply, more asking) bool) rewritten {
	r := rewritten{program: true}
	r.asks = func(req *http.Request, body reply, more asking) bool {
		return req.Method+" "+req.URL.Path != endpoint || change(req, body, more)
	}
	return r
}

// besides has it ask something else of the services, too, at each call of a tool.
func besides(tool, method, path string, body any) rewritten {
	r := rewritten{program: true}
	r.calls = func(m fakeMessage, more asking) {
		if m.call == tool {
			more(method, path, body)
		}
	}
	return r
}

// twice has it ask an endpoint twice.
func twice(endpoint string) rewritten {
	return requesting(endpoint, func(r *http.Request, body reply, more asking) bool {
		more(r.Method, r.URL.RequestURI(), body)
		return true
	})
}

// served has it change what an endpoint of its services answers.
func served(endpoint string, change func(a *artifact.RestAnswer, body reply)) rewritten {
	r := rewritten{program: true}
	r.rest = func(req *http.Request, a *artifact.RestAnswer, body reply) {
		at := req.Method + " " + req.URL.Path
		if at == endpoint || strings.HasSuffix(endpoint, "*") && strings.HasPrefix(at, strings.TrimSuffix(endpoint, "*")) {
			change(a, body)
		}
	}
	return r
}

// logged has it change the lines of an event; nil drops them.
func logged(event string, change func(line reply) reply) rewritten {
	r := rewritten{program: true}
	r.logs = func(line reply) reply {
		if line["event"] != event {
			return line
		}
		return change(line)
	}
	return r
}

// slow has it take longer over the first answers of a tool.
func slow(tool string, answers int64, delay time.Duration) rewritten {
	var n atomic.Int64
	return rewritten{after: func(m fakeMessage, r reply) []any {
		if m.call == tool && n.Add(1) <= answers {
			<-time.After(delay)
		}
		return []any{r}
	}}.asProgram()
}

// slowAll has it take longer over the first answers of a tool, and over whatever it is
// asked after them.
func slowAll(tool string, answers int64, delay time.Duration) rewritten {
	r := slow(tool, answers, delay)
	calls, late := r.after, false
	r.after = func(m fakeMessage, reply reply) []any {
		if late && m.call == "" {
			<-time.After(delay)
		}
		began := time.Now()
		defer func() { late = m.call == tool && time.Since(began) >= delay }()
		return calls(m, reply)
	}
	return r
}

// TestBusyMachine: a machine that is slow at everything says nothing of a server.
func TestBusyMachine(t *testing.T) {
	t.Parallel()
	for id, r := range map[string]rewritten{
		"X-PERF-01/validate": slowAll(artifact.ToolValidate, 2, 600*time.Millisecond),
		"X-PERF-01/store":    slowAll(artifact.ToolStore, 4, 600*time.Millisecond),
		"S0-ADD-24":          slowAll(artifact.ToolAddTask, 9, 60*time.Millisecond),
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got := r.judge(t, id)
			require.Equal(t, conformance.Inconclusive, got.Status, "%s", got.Actual)
			require.Contains(t, got.Detail, "the machine is too busy to tell")
		})
	}
}
