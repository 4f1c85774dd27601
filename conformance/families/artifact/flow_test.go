package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	db "github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/sqlite"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// shared are the real services all tests of the package use, each with a
// project of its own. They start with the first that asks.
var shared = sharedServices{}

type sharedServices struct {
	once  sync.Once
	err   error
	store db.Store
	stop  func()
	*services.Services
}

func (s *sharedServices) start(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // of the first test that asks
	dir, err := os.MkdirTemp("", "artifact-test-")
	if s.err = err; err != nil {
		return
	}
	if s.store, s.err = sqlite.Open(ctx, filepath.Join(dir, "services.db"), sqlite.Options{}); s.err != nil {
		return
	}
	s.Services, s.err = services.Start(ctx, services.Options{Store: s.store, Cleanup: -1})
	s.stop = func() {
		_ = s.Services.Close(ctx)
		_ = s.store.Close()
		_ = os.RemoveAll(dir)
	}
}

// run runs the tests and stops the services before leaks are looked for.
func (s *sharedServices) run(m *testing.M) int {
	code := m.Run()
	if s.stop != nil {
		s.stop()
	}
	return code
}

type runner func() int

func (r runner) Run() int { return r() }

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(approverChild(os.Stdin, os.Stdout)) //nolint:forbidigo // it is a process of its own
	}
	testmain.Run(runner(func() int { return shared.run(m) }))
}

// flow is the whole family on a base of its own, with the real services behind
// a transport that records what is sent and makes faults.
type flow struct {
	*workflow
	*rig
	family *family.Family
	wire   *wire
	opts   Options
}

func newFlow(t testing.TB, change ...func(*Options)) *flow {
	t.Helper()
	shared.once.Do(func() { shared.start(t.Context()) })
	require.NoError(t, shared.err)
	w := &wire{base: &http.Transport{}}
	f := &flow{rig: &rig{base: t.TempDir()}, wire: w}
	f.opts = Options{
		BaseDir: f.base, TasksURL: shared.TasksURL, IDsURL: shared.IDsURL, ProjectID: t.Name(),
		Logger: slog.New(slog.NewJSONHandler(f.rig, nil)), HTTPClient: &http.Client{Transport: w},
	}
	if len(f.opts.ProjectID) > maxProject {
		f.opts.ProjectID = f.opts.ProjectID[:maxProject]
	}
	for _, c := range change {
		c(&f.opts)
	}
	f.restart(t)
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { require.NoError(t, f.family.Close(ctx)) })
	return f
}

// restart makes the family again on the same base, as a new process would.
func (f *flow) restart(t testing.TB) {
	t.Helper()
	var err error
	f.workflow, err = newWorkflow(f.opts)
	require.NoError(t, err)
	if _, measured := t.(*testing.B); !measured {
		f.workflow.store.open = openQuick
	}
	require.NoError(t, f.approver.recover(t.Context()))
	f.family = f.workflow.family(f.opts)
	f.rig.store = f.workflow.store
}

func (f *flow) call(t testing.TB, tool string, args map[string]any) (map[string]any, *family.Error) {
	t.Helper()
	if _, ok := args["task_id"]; !ok {
		args["task_id"] = "wf-1"
	}
	return f.callRaw(t.Context(), t, tool, args)
}

func (f *flow) callRaw(ctx context.Context, t testing.TB, tool string, args any) (map[string]any, *family.Error) {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	for _, tl := range f.family.Tools {
		if tl.Name != tool {
			continue
		}
		call := family.NewCall(tool, raw, slog.New(slog.NewJSONHandler(f.rig, nil)))
		res, err := tl.Handle(ctx, call)
		failure := f.family.Failure(err)
		call.Finish(ctx, failure)
		if failure != nil {
			return nil, failure
		}
		data, err := family.Encode(res)
		require.NoError(t, err)
		var out map[string]any
		require.NoError(t, json.Unmarshal(data, &out))
		return out, nil
	}
	t.Fatalf("no tool %s", tool)
	return nil, nil
}

func (f *flow) approve(t testing.TB, id string) (map[string]any, *family.Error) {
	t.Helper()
	return f.call(t, "approve_artifact", map[string]any{"artifact_id": id})
}

// put writes a document through store_artifact.
func (f *flow) put(t testing.TB, content string) {
	t.Helper()
	_, failure := f.call(t, "store_artifact", map[string]any{"artifact_content": content})
	require.Nil(t, failure)
}

// research writes the two research documents.
func (f *flow) research(t testing.TB) {
	t.Helper()
	dir := filepath.Join(f.base, researchDir)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, name := range researchFiles() {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("# Research\n\n## Metadata\n\n- **Status:** Finalized\n"), 0o600))
	}
}

// queuedTask is a task as the Task Tracking service shows it.
type queuedTask struct {
	rest.Task
	Inputs []rest.Input `json:"inputs_json"`
	Of     string       `json:"correlation_id"`
}

// queued are the tasks of the flow's project that are in the queue, in order.
func (f *flow) queued(t testing.TB) []queuedTask {
	t.Helper()
	var answer struct {
		Tasks []queuedTask `json:"tasks"`
	}
	f.ask(t, http.MethodGet, "/tasks?limit=200&project="+url.QueryEscape(f.opts.ProjectID), "", &answer)
	return answer.Tasks
}

// ask sends a request to the Task Tracking service, past the wire.
func (f *flow) ask(t testing.TB, method, path, body string, out any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, shared.TasksURL+path, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := f.wire.base.RoundTrip(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", data)
	if out != nil {
		require.NoError(t, json.Unmarshal(data, out))
	}
}

// untouched asserts that an artifact is the draft it was, and nothing is open.
func (f *flow) untouched(t testing.TB, name, content string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(f.base, name+".md"))
	require.NoError(t, err)
	require.Equal(t, content, string(data), "bytes as they were")
	data, err = os.ReadFile(filepath.Join(f.base, name+"_metadata.json"))
	require.NoError(t, err)
	require.Contains(t, string(data), `"status": "Draft"`)
	f.settled(t)
}

// settled asserts that no intent and no temporary file is left.
func (f *flow) settled(t testing.TB) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(f.base, stateDir, "*"+intentSuffix))
	require.NoError(t, err)
	require.Empty(t, left)
	left, err = filepath.Glob(filepath.Join(f.base, "*", ".*.tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// prdDraft is a PRD with the given id, parent line and body.
func prdDraft(id, parent, body string) string {
	return "# " + id + ": A product\n\n## Metadata\n\n- **PRD ID:** " + id + "\n- **Title:** \"A product\"\n" +
		"- **Status:** \"Draft\"\n- **Version:** 1\n" + parent + "\n\n## Decomposition\n\n" + body + "\n"
}

const threeStories = "- HLS-AAA first\n- HLS-BBB second, needs HLS-AAA\n- HLS-CCC third\n\n## Dependencies\n\nHLS-CCC needs HLS-AAA and HLS-BBB."

// family006 stores an approved EPIC-006 and its draft PRD-006 with three
// stories, and returns the draft's text.
func (f *flow) family006(t testing.TB) string {
	t.Helper()
	f.put(t, epic("1", "Approved", ""))
	f.research(t)
	text := prdDraft("PRD-006", "- **Parent Epic:** EPIC-006", threeStories)
	f.put(t, text)
	return text
}

// A wire carries requests to the services, records them and makes faults.
type wire struct {
	base *http.Transport

	mu    sync.Mutex
	sent  []sentRequest
	fault func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error)
}

type sentRequest struct {
	Method, Path string
	Header       http.Header
	Body         map[string]any
	At           time.Time
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := sentRequest{Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), At: time.Now()}
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		if len(data) > 0 {
			if err := json.Unmarshal(data, &sent.Body); err != nil {
				return nil, err
			}
		}
	}
	w.mu.Lock()
	w.sent = append(w.sent, sent)
	n, fault := 0, w.fault
	for _, s := range w.sent {
		if s.Path == sent.Path {
			n++
		}
	}
	w.mu.Unlock()
	if fault != nil {
		return fault(n, r, w.base)
	}
	return w.base.RoundTrip(r)
}

func (w *wire) CloseIdleConnections() { w.base.CloseIdleConnections() }

// to are the requests sent to a path.
func (w *wire) to(path string) (out []sentRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sent {
		if s.Path == path {
			out = append(out, s)
		}
	}
	return out
}

// on makes the requests to a path go wrong; n counts them from 1. Nil from
// the fault lets the request through.
func (w *wire) on(path string, fault func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = nil
	w.fault = func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.URL.Path == path {
			if resp, err := fault(n, r, next); resp != nil || err != nil {
				return resp, err
			}
		}
		return next.RoundTrip(r)
	}
}

func (w *wire) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = nil
}

// status answers with a status and the services' form of an error.
func status(code int, text string) func(int, *http.Request, http.RoundTripper) (*http.Response, error) {
	return func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return answer(r, code, fmt.Sprintf(`{"success":false,"error":%q,"detail":%q,"status_code":%d}`, text, text, code)), nil
	}
}

func answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}
}

// lostAnswer lets a request do its work and loses the answer.
func lostAnswer(_ int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return nil, fmt.Errorf("connection reset")
}
