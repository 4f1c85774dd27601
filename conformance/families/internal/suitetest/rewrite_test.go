package suitetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/preflights"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// rewritten is the reference server with one thing wrong: what breaks a check
// that needs more of a server than the fake one is.
type rewritten struct {
	// first takes a message before the server does, and answers in its place.
	first func(m fakeMessage) (out []any, handled bool)
	// line takes a line of the client, whatever it is, and answers in the
	// server's place.
	line func(line []byte) (out []any, handled bool)
	// after changes the answer to a request; nil drops it.
	after func(m fakeMessage, r reply) []any
	// array changes a line of the server that is an array.
	array func(line []byte) []byte
	// note changes what the server sends of its own; nil drops it.
	note func(n reply) []any
	// base takes the place of the server's own handler, with nothing wrong.
	base func(next http.Handler) http.Handler
	// http stands before the server's own handler and makes the run one over
	// HTTP.
	http func(next http.Handler) http.Handler
	// header is what the suite is given for every request.
	header http.Header
	// trip stands in the way of each HTTP request of the suite, where the spelling
	// of header names is still seen.
	trip func(next http.RoundTripper) http.RoundTripper
	// sse has the suite come over HTTP+SSE.
	sse bool
	// overHTTP applies first, after and note to a server over HTTP.
	overHTTP bool
	// also are patterns of what else has to run.
	also []string
	// revision is the one to judge; empty is the newest the check is about.
	revision mcp.Version
	// server stands in the place of the reference server, where that has not what
	// the check is about.
	server wire.Serve
	// options change the server itself.
	options func(o *reference.Options)
	// opts change the run.
	opts func(o *conformance.Options)
	// program runs the server as a program, which can have more wrong with it.
	program bool
	programDefect
}

// rewrites has, for each check the fake server does not break, a rewritten
// server that does.
func rewrites() map[string]rewritten {
	all := map[string]rewritten{}
	for _, part := range []map[string]rewritten{
		conversationRewrites(), statelessRewrites(), featureRewrites(), schemaRewrites(),
		requestRewrites(), textRewrites(), utilityRewrites(), batchRewrites(), stdioRewrites(), lifecycleRewrites(), capabilityRewrites(),
		httpStreamRewrites(), sseRewrites(), httpGuardRewrites(), sessionIDRewrites(), httpRequestRewrites(),
		coeRewrites(), tableRewrites(preflights.Area, onlyFamily(profile.Preflights)), doclingRewrites(), assistantRewrites(),
		approveRewrites(), approveServiceRewrites(), artifactLogRewrites(), addTaskRewrites(), artifactIDRewrites(), crossRewrites(),
		taskServiceRewrites(), idServiceRewrites(), coreTaskRewrites(), extensionTaskRewrites(), authorizationRewrites(), metaKeyRewrites(),
		servedRewrites(), scopeRewrites(), annotationRewrites(),
	} {
		for id, r := range part {
			if _, twice := all[id]; twice {
				panic("two rewritten servers for " + id)
			}
			all[id] = r
		}
	}
	return all
}

// changed has a rewritten server change the results of one method.
func changed(method string, change func(m fakeMessage, result reply)) rewritten {
	return rewritten{after: func(m fakeMessage, r reply) []any {
		if res, ok := r["result"].(reply); ok && m.method == method {
			change(m, res)
		}
		return []any{r}
	}}
}

// changedCall has it change the results of one tool.
func changedCall(tool string, change func(m fakeMessage, result reply)) rewritten {
	return changed(mcp.MethodToolsCall, func(m fakeMessage, result reply) {
		if m.call == tool {
			change(m, result)
		}
	})
}

// serve stands between a client on in and out and a server.
func (r rewritten) serve(server wire.Serve) wire.Serve {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		toServer, requests := io.Pipe()
		answers, fromServer := io.Pipe()
		var mu sync.Mutex
		asked := map[string]fakeMessage{}
		write := func(messages []any) {
			mu.Lock()
			defer mu.Unlock()
			for _, m := range messages {
				_, _ = out.Write(append(rawjson.Encode(m), '\n')) // a client that has gone reads nothing
			}
		}
		var back sync.WaitGroup
		back.Go(func() {
			lines := bufio.NewReader(answers)
			for {
				line, err := lines.ReadBytes('\n')
				if len(line) > 0 {
					write(r.rewrite(&mu, asked, line))
				}
				if err != nil {
					return
				}
			}
		})
		go func() {
			lines := bufio.NewReader(in)
			for {
				line, err := lines.ReadBytes('\n')
				if r.line != nil {
					if messages, handled := r.line(line); handled {
						write(messages)
						line = nil
					}
				}
				if m, ok := toFakeMessage(line); ok && r.first != nil {
					if messages, handled := r.first(m); handled {
						write(messages)
						line = nil
					}
				}
				if len(line) > 0 {
					if m, ok := toFakeMessage(line); ok && m.id != nil {
						mu.Lock()
						asked[wire.SpelledID(m.id)] = m
						mu.Unlock()
					}
					if _, err := requests.Write(line); err != nil {
						return
					}
				}
				if err != nil {
					_ = requests.Close() // never fails
					return
				}
			}
		}()
		err := server(ctx, toServer, fromServer)
		_ = toServer.Close()   // never fails
		_ = fromServer.Close() // never fails
		back.Wait()
		return err
	}
}

// rewrite returns what is sent in place of a line of the server.
func (r rewritten) rewrite(mu *sync.Mutex, asked map[string]fakeMessage, line []byte) []any {
	var message reply
	if json.Unmarshal(line, &message) != nil {
		if r.array != nil && rawjson.IsArray(line) {
			line = r.array(line)
		}
		return []any{json.RawMessage(bytes.TrimSpace(line))}
	}
	id := wire.Received(line, nil).ID()
	mu.Lock()
	m, known := asked[id]
	mu.Unlock()
	_, isNote := message["method"]
	switch {
	case isNote && r.note != nil:
		return r.note(message)
	case !isNote && known && r.after != nil:
		return r.after(m, message)
	default:
		return []any{json.RawMessage(bytes.TrimSpace(line))}
	}
}

// toFakeMessage reads a request or notification.
func toFakeMessage(line []byte) (fakeMessage, bool) {
	in := wire.Received(bytes.TrimSpace(line), nil)
	if in.Method() == "" {
		return fakeMessage{}, false
	}
	m := fakeMessage{id: in.Members["id"], method: in.Method(), raw: line}
	_ = json.Unmarshal(in.Members["params"], &m.params) // not an object: no params
	m.call, _ = m.params["name"].(string)
	m.arguments, _ = m.params["arguments"].(map[string]any)
	if m.method != mcp.MethodToolsCall {
		m.call = ""
	}
	return m, true
}

// handler applies the rewriting of messages to a server over HTTP.
func (r rewritten) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		m, isMessage := toFakeMessage(body)
		if isMessage && r.first != nil {
			if messages, handled := r.first(m); handled {
				w.Header().Set("Content-Type", wire.MediaStream)
				for _, message := range messages {
					_, _ = w.Write([]byte("data: " + string(rawjson.Encode(message)) + "\n\n")) // a client that has gone reads nothing
				}
				return
			}
		}
		asked := map[string]fakeMessage{}
		if isMessage && m.id != nil {
			asked[wire.SpelledID(m.id)] = m
		}
		var mu sync.Mutex
		next.ServeHTTP(&rewritingWriter{ResponseWriter: w, change: func(data []byte) []any { return r.rewrite(&mu, asked, data) }}, req)
	})
}

// rewritingWriter changes the messages in a JSON body or an event stream. The
// server writes each of them in one piece.
type rewritingWriter struct {
	http.ResponseWriter
	change func(data []byte) []any
}

func (w *rewritingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *rewritingWriter) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func (w *rewritingWriter) Write(data []byte) (int, error) {
	w.Header().Del("Content-Length")
	var out bytes.Buffer
	if wire.MediaType(w.Header()) == wire.MediaStream {
		for line := range bytes.Lines(data) {
			payload, isData := bytes.CutPrefix(line, []byte("data: "))
			if !isData || !json.Valid(payload) { // the endpoint of HTTP+SSE is no JSON
				out.Write(line)
				continue
			}
			for i, message := range w.change(payload) {
				if i > 0 {
					out.WriteString("\n")
				}
				out.WriteString("data: " + string(rawjson.Encode(message)) + "\n")
			}
		}
	} else if wire.Received(bytes.TrimSpace(data), nil).Members != nil {
		for _, message := range w.change(data) {
			out.Write(rawjson.Encode(message))
		}
	} else {
		out.Write(data)
	}
	_, err := w.ResponseWriter.Write(out.Bytes())
	return len(data), err
}

// judge runs the suite for one check against the rewritten server.
func (r rewritten) judge(t *testing.T, id string) conformance.Result {
	t.Helper()
	sc := scenarioOf(t, id)
	if r.program {
		return r.judgeProgram(t, &sc, id)
	}
	name := id
	if r.array == nil && r.line == nil && r.first == nil && r.after == nil && r.note == nil && r.http == nil {
		name = "" // no defect to be found soon
	}
	opts := conformance.Options{Only: append([]string{id}, r.also...), Answer: patience(name), Revisions: []mcp.Version{r.judgedIn(&sc, id)}}
	if r.opts != nil {
		r.opts(&opts)
	}
	return unhurried(t, id, opts, func(*conformance.Options) conformance.Subject { return r.subject(t, sc.Area, endPatience(name)) })
}

// patient waits for answers as long as for those of a server without a defect.
func (r rewritten) patient() rewritten {
	before := r.opts
	r.opts = func(o *conformance.Options) {
		o.Answer = patience("")
		if before != nil {
			before(o)
		}
	}
	return r
}

// subject starts the server, for a scenario of the area.
func (r rewritten) subject(t *testing.T, area string, grace time.Duration) conformance.Subject {
	t.Helper()
	if r.server != nil && r.reach() == conformance.TransportStdio {
		return conformance.FuncSubject{Serve: r.serve(r.server), Grace: grace}
	}
	options := reference.Options{Families: reference.HTTPFamilies(), SSE: r.sse}
	if areaRank(area) < areaRank("validate_artifact") {
		onlyFixtures(&options) // the protocol is the same with fewer tools, and there sooner
	}
	if r.options != nil {
		r.options(&options)
	}
	srv, err := reference.New(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	if r.reach() == conformance.TransportStdio {
		return conformance.FuncSubject{Serve: r.serve(srv.ServeStdio), Grace: grace}
	}
	handler := r.handler(srv.Handler())
	if r.base != nil {
		handler = r.base(handler)
	}
	if r.http != nil {
		handler = r.http(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	url := conformance.URL(server.URL+"/mcp", r.header)
	if r.sse {
		url = overSSE(server.URL)
	}
	if r.trip != nil {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		url.RoundTripper = r.trip(transport)
	}
	return url
}

// judgedIn is the revision the check is judged in: the newest it is about.
func (r rewritten) judgedIn(sc *engine.Scenario, id string) mcp.Version {
	if r.revision != "" {
		return r.revision
	}
	c := sc.Checks[slices.IndexFunc(sc.Checks, func(c engine.Check) bool { return c.ID == id })]
	for _, v := range slices.Backward(mcp.Versions()) {
		if (sc.Until == "" || sc.Until.AtLeast(v)) && (c.Until == "" || c.Until.AtLeast(v)) {
			return v
		}
	}
	return mcp.Latest
}

// overSSE is the reference server at its endpoint of HTTP+SSE.
func overSSE(base string) *conformance.URLSubject {
	s := conformance.URL(base+reference.SSEPath, nil)
	s.Transport = conformance.TransportSSE
	return s
}

// reach is how the server is reached.
func (r rewritten) reach() conformance.TransportKind {
	switch {
	case r.sse:
		return conformance.TransportSSE
	case r.overHTTP || r.http != nil || r.trip != nil:
		return conformance.TransportHTTP
	}
	return conformance.TransportStdio
}

// sampled picks from the tests of a long list: all of them in the whole form
// (MAINSTAY_SOAK=all, some minutes), an eighth in the long form that CI runs, else
// a thirty-second. Under the race detector it is fewer: what differs between them is
// what is said, not which goroutines say it.
func sampled(i int) bool {
	switch soak := os.Getenv("MAINSTAY_SOAK"); {
	case testmain.Race:
		return i%160 == 0
	case soak == "all":
		return true
	case soak != "":
		return i%8 == 0
	default:
		return i%32 == 0
	}
}

// TestEveryRewriteIsSeen: each check that is not broken by a fake server is by
// a rewritten one, and passes for the reference server as it is.
func TestEveryRewriteIsSeen(t *testing.T) {
	t.Parallel()
	all := rewrites()
	for i, id := range rawjson.SortedKeys(all) {
		if !sampled(i) {
			continue
		}
		r := all[id]
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			seen := []conformance.Status{conformance.Fail, conformance.Warn}
			got := r.judge(t, id)
			if !slices.Contains(seen, got.Status) { // the short wait may have ended because this machine is busy
				got = r.patient().judge(t, id)
			}
			require.Contains(t, seen, got.Status, "%+v", got)
			require.NotEmpty(t, got.Actual)
			require.NotEmpty(t, got.Expected)
			if testmain.Race || r.program && r.options == nil {
				return // the same conversation without the defect is the whole run of the reference server
			}
			healthy, reach := r, r.reach()
			healthy.array, healthy.line, healthy.first, healthy.after, healthy.note, healthy.overHTTP = nil, nil, nil, nil, nil, reach != conformance.TransportStdio
			healthy.http, healthy.trip, healthy.programDefect = nil, nil, programDefect{}
			got = healthy.judge(t, id)
			require.Equal(t, conformance.Pass, got.Status, "the server without the defect: %+v", got)
		})
	}
}
