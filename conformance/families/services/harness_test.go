package services_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/backend"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// rig is both services on a store, with a clock that stands still and the log
// captured.
type rig struct {
	*services.Services
	t   testing.TB
	key string

	mu   sync.Mutex
	now  time.Time
	logs bytes.Buffer
}

func newRig(t testing.TB, change func(o *services.Options)) *rig {
	t.Helper()
	o := services.Options{Cleanup: -1}
	r := &rig{t: t, now: time.Date(2026, 10, 20, 14, 45, 0, 0, time.UTC)}
	o.Now = r.clock
	o.Logger = slog.New(slog.NewJSONHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if change != nil {
		change(&o)
	}
	if o.Store == nil {
		o.Store = openSQLite(t, t.TempDir())
	}
	r.key = o.APIKey
	var err error
	r.Services, err = services.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		require.NoError(t, r.Close(ctx))
	})
	return r
}

func openSQLite(t testing.TB, dir string) store.Store {
	t.Helper()
	st, err := backend.Open(t.Context(), backend.Options{Dir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	return st
}

func (r *rig) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs.Write(p)
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// lines are the log lines of an event.
func (r *rig) lines(event string) []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []map[string]any
	for line := range strings.Lines(r.logs.String()) {
		var m map[string]any
		require.NoError(r.t, json.Unmarshal([]byte(line), &m), line)
		if m["msg"] == event {
			found = append(found, m)
		}
	}
	return found
}

// reply is an answer, decoded.
type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// call sends a request. path begins with /tasks, /ids or names the service in
// full. header holds names and values by turns.
func (r *rig) call(method, path, body string, header ...string) reply {
	r.t.Helper()
	url := path
	switch {
	case strings.HasPrefix(path, "/ids"):
		url = r.IDsURL + path
	case strings.HasPrefix(path, "/"):
		url = r.TasksURL + path
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, strings.NewReader(body))
	require.NoError(r.t, err)
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, res.Body.Close()) }()
	text, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	out := reply{status: res.StatusCode, header: res.Header, text: string(text)}
	if method != http.MethodHead {
		require.NoError(r.t, json.Unmarshal(text, &out.body), string(text))
	}
	return out
}

// client keeps no connection open, so that none outlives a test.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// requireError checks both key sets of an error (C-18).
func requireError(t testing.TB, got reply, status int, detail string) {
	t.Helper()
	require.Equal(t, status, got.status, got.text)
	require.Equal(t, map[string]any{"success": false, "error": detail, "detail": detail, "status_code": float64(status)}, got.body)
}

const input = `{"name":"prd","classification":"mandatory","artifact_type":"prd","artifact_id":"PRD-006","resource_path":"artifacts/prds/PRD-006_v3.md","mcp_resource_uri":"mcp://resources/artifacts/prds/PRD-006_v3.md","status":"Approved"}`

// batch is the body of POST /tasks/batch for artifacts that depend on PRD-006.
func batch(project string, artifacts ...string) string {
	var tasks []string
	for _, a := range artifacts {
		tasks = append(tasks, `{"artifact_id":"`+a+`","generator":"hls-generator","status":"pending","task_id":"gen-001","description":"Generate `+a+` from PRD-006","inputs":[`+input+`]}`)
	}
	return `{"project_id":"` + project + `","tasks":[` + strings.Join(tasks, ",") + `]}`
}
