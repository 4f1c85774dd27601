package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

func (f *flow) next(t testing.TB, typeName, project string) (string, *family.Error) {
	t.Helper()
	res, failure := f.call(t, "get_next_available_id", map[string]any{"artifact_type": typeName, "project_id": project})
	if failure != nil {
		return "", failure
	}
	require.Equal(t, map[string]any{"success": true, "artifact_type": typeName, "next_id": res["next_id"]}, res)
	return res["next_id"].(string), nil
}

func (f *flow) reserve(t testing.TB, typeName string, count any, project string) (map[string]any, *family.Error) {
	t.Helper()
	return f.call(t, "reserve_id_range", map[string]any{"artifact_type": typeName, "count": count, "project_id": project})
}

func TestS0_NEXT_01_AfterSeventy(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	p := t.Name()
	_, failure := f.reserve(t, "backlog_story", 70, p)
	require.Nil(t, failure)
	id, failure := f.next(t, "backlog_story", p)
	require.Nil(t, failure)
	require.Equal(t, "US-071", id)
	id, _ = f.next(t, "backlog_story", p)
	require.Equal(t, "US-072", id, "the registry had 71")
	require.Equal(t, "wf-1", f.wire.to("/ids/next")[0].Header.Get("X-Task-Id"))
	done := f.records(t, "get_next_available_id_invocation_completed")
	require.Subset(t, done[0], map[string]any{"artifact_type": "backlog_story", "project_id": p, "next_id": "US-071", "success": true})
}

func TestS0_NEXT_02_03_FirstAndThousandth(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	p := t.Name()
	for prefix, name := range map[string]string{
		"VIS": "product_vision", "INIT": "initiative", "EPIC": "epic", "PRD": "prd", "HLS": "hls", "US": "backlog_story",
		"SPEC": "tech_spec", "ADR": "adr", "SPIKE": "spike", "TASK": "task",
	} {
		id, failure := f.next(t, name, p)
		require.Nil(t, failure)
		require.Equal(t, prefix+"-001", id)
	}
	for range 9 {
		_, failure := f.reserve(t, "hls", 100, p)
		require.Nil(t, failure)
	}
	_, failure := f.reserve(t, "hls", 98, p)
	require.Nil(t, failure)
	id, _ := f.next(t, "hls", p)
	require.Equal(t, "HLS-1000", id)
	id, _ = f.next(t, "hls", p+" other") // S0-NEXT-06
	require.Equal(t, "HLS-001", id)
}

func TestS0_NEXT_04_BadArguments(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	for raw, text := range map[string]string{
		`{"artifact_type":"US","project_id":"p","task_id":"t"}`:                                 "Unknown artifact_type: US. Valid types: epic, prd, hls, backlog_story, tech_spec, adr, spike, task, product_vision, initiative",
		`{"artifact_type":"'; DROP TABLE id_registry;--","project_id":"p","task_id":"t"}`:       "Unknown artifact_type: '; DROP TABLE id_registry;--. Valid types: epic, prd, hls, backlog_story, tech_spec, adr, spike, task, product_vision, initiative",
		`{"artifact_type":"hls","project_id":"","task_id":"t"}`:                                 "project_id must not be empty",
		`{"artifact_type":"hls","project_id":"` + strings.Repeat("é", 101) + `","task_id":"t"}`: "project_id must be at most 100 characters",
		`{"artifact_type":"hls","project_id":"a\u0000b","task_id":"t"}`:                         "project_id must not contain control characters",
		`{"artifact_type":"hls","project_id":"p"}`:                                              "Missing required argument: task_id",
		`{"artifact_type":3,"project_id":"p","task_id":"t"}`:                                    "artifact_type must be a string",
		`{"artifact_type":"hls","project_id":"p","task_id":"t","x":1}`:                          "Unknown argument: x",
		`[]`: "arguments must be an object",
	} {
		_, failure := f.callRaw(t.Context(), t, "get_next_available_id", json.RawMessage(raw))
		require.NotNil(t, failure, raw)
		require.Equal(t, int64(-32602), failure.Code)
		require.Equal(t, "Invalid params: "+text, failure.Message)
	}
	require.Empty(t, f.wire.sent)
	// What SQL would take for its own is text to the services.
	id, failure := f.next(t, "hls", `p'; DROP TABLE id_registry;--`)
	require.Nil(t, failure)
	require.Equal(t, "HLS-001", id)
}

func TestS0_NEXT_05_RES_04_Parallel(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	p := t.Name()
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := map[string]int{}
	take := func(ids ...any) {
		mu.Lock()
		defer mu.Unlock()
		for _, id := range ids {
			seen[id.(string)]++
		}
	}
	for i := range 60 {
		wg.Go(func() {
			if i%6 == 0 {
				res, failure := f.reserve(t, "hls", 5, p)
				if failure == nil {
					take(res["reserved_ids"].([]any)...)
				}
				return
			}
			if id, failure := f.next(t, "hls", p); failure == nil {
				take(id)
			}
		})
	}
	wg.Wait()
	require.Len(t, seen, 100)
	for i := range 100 {
		require.Equal(t, 1, seen[fmt.Sprintf("HLS-%03d", i+1)])
	}
}

func TestS0_NEXT_07_ServiceDown(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	for name, tc := range map[string]struct {
		fault    func(int, *http.Request, http.RoundTripper) (*http.Response, error)
		attempts int
		code     int64
		text     string
	}{
		"answer lost": {lostAnswer, 1, -32603, "Internal error: the ID Management service is not available"},
		"503":         {status(503, "x"), 1, -32603, "Internal error: the ID Management service is not available"},
		"400":         {status(400, "Invalid artifact_type: X"), 1, -32602, "Invalid params: Invalid artifact_type: X"},
		"401":         {status(401, "x"), 1, -32000, "Permission denied: the ID Management service refused the API key"},
		"404":         {status(404, "no such thing"), 1, -32001, "Resource not found: no such thing"},
		"timeout": {func(int, *http.Request, http.RoundTripper) (*http.Response, error) {
			return nil, context.DeadlineExceeded
		}, 3, -32000, "Request timeout: the ID Management service did not answer in time"},
		"nobody there": {func(int, *http.Request, http.RoundTripper) (*http.Response, error) {
			return nil, syscall.ECONNREFUSED
		}, 3, -32603, "Internal error: the ID Management service is not available"},
		"empty": {func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			return answer(r, 200, `{}`), nil
		}, 1, -32603, "Internal error: the ID Management service is not available"},
	} {
		f.wire.on("/ids/next", tc.fault)
		_, failure := f.next(t, "hls", t.Name())
		require.NotNil(t, failure, name)
		require.Equal(t, tc.code, failure.Code, name)
		require.Equal(t, tc.text, failure.Message, name)
		require.Len(t, f.wire.to("/ids/next"), tc.attempts, name)
	}
	f.wire.heal()
	id, failure := f.next(t, "hls", t.Name())
	require.Nil(t, failure)
	require.Equal(t, "HLS-002", id, "the lost one took a number, and no other did")
}

func TestS0_RES_01_05_Range(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	p := t.Name()
	_, failure := f.reserve(t, "hls", 11, p)
	require.Nil(t, failure)
	res, failure := f.reserve(t, "hls", 3, p)
	require.Nil(t, failure)
	require.Equal(t, anys("HLS-012", "HLS-013", "HLS-014"), res["reserved_ids"])
	require.Equal(t, "hls", res["artifact_type"])
	require.Regexp(t, `^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`, res["reservation_id"])
	require.NotEmpty(t, res["expires_at"])
	done := f.records(t, "reserve_id_range_invocation_completed")
	require.Subset(t, done[1], map[string]any{
		"artifact_type": "hls", "count": 3.0, "reserved_ids": res["reserved_ids"], "reservation_id": res["reservation_id"], "success": true,
	})
	require.Contains(t, done[1], "duration_ms")
}

func TestS0_RES_02_Count(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	for _, count := range []any{0, 101, -1, 1.5, "3", nil, 1e300, true, []int{1}} {
		_, failure := f.reserve(t, "hls", count, t.Name())
		require.NotNil(t, failure, count)
		require.Equal(t, int64(-32602), failure.Code)
		require.Equal(t, "count", failure.Data["field"])
	}
	_, failure := f.call(t, "reserve_id_range", map[string]any{"artifact_type": "hls", "project_id": "p"})
	require.Equal(t, "Invalid params: Missing required argument: count", failure.Message)
	require.Empty(t, f.wire.sent)
	for _, count := range []int{1, 100} {
		res, failure := f.reserve(t, "hls", count, t.Name())
		require.Nil(t, failure)
		require.Len(t, res["reserved_ids"], count)
	}
}

func TestS0_RES_03_ParallelRanges(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	var mu sync.Mutex
	var wg sync.WaitGroup
	first := map[string]bool{}
	for range 5 {
		wg.Go(func() {
			res, failure := f.reserve(t, "hls", 6, "ranges")
			if failure != nil {
				t.Error(failure)
				return
			}
			ids := res["reserved_ids"].([]any)
			var n int
			if _, err := fmt.Sscanf(ids[0].(string), "HLS-%d", &n); err != nil {
				t.Error(err)
			}
			for i, id := range ids {
				if id != fmt.Sprintf("HLS-%03d", n+i) {
					t.Errorf("not contiguous: %v", ids)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			first[ids[0].(string)] = true
		})
	}
	wg.Wait()
	require.Equal(t, map[string]bool{"HLS-001": true, "HLS-007": true, "HLS-013": true, "HLS-019": true, "HLS-025": true}, first)
	id, _ := f.next(t, "hls", "ranges")
	require.Equal(t, "HLS-031", id)
}

func TestS0_DEP_01_ResolveArtifactPath(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	for _, tool := range f.family.Tools {
		require.NotEqual(t, "resolve_artifact_path", tool.Name)
	}
	require.Len(t, f.family.Tools, 6)
	f = newFlow(t, func(o *Options) { o.Deprecated = true })
	require.Len(t, f.family.Tools, 7)
	_, failure := f.call(t, "resolve_artifact_path", map[string]any{"anything": 1})
	require.Equal(t, int64(-32602), failure.Code)
	require.Equal(t, "Invalid params: resolve_artifact_path is deprecated; use approve_artifact", failure.Message)
	require.Equal(t, "approve_artifact", failure.Data["replacement"])
}
