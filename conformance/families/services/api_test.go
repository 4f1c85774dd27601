package services_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// endpoints are the eight of S0, each with a request that succeeds.
var endpoints = []struct{ method, path, body string }{
	{"GET", "/tasks/next?project=p", ""},
	{"GET", "/tasks?project=p", ""},
	{"POST", "/tasks/batch", batch("p", "HLS-001")},
	{"PUT", "/tasks/TASK-001/status", `{"status":"in_progress"}`},
	{"GET", "/ids/next?type=US&project=p", ""},
	{"POST", "/ids/reserve", `{"type":"US","count":1,"project_id":"p"}`},
	{"POST", "/ids/confirm", `{"reservation_id":"0b3b1f5e-6d3c-4a7e-9f0a-2f1d3c4b5a69"}`},
	{"DELETE", "/ids/reservations/expired", ""},
}

func TestAPI_S0_TASKAPI_15_Key(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-key"
	r := newRig(t, func(o *services.Options) { o.APIKey = secret })
	for _, e := range endpoints {
		for _, wrong := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + secret, secret, "Bearer " + secret + "x"} {
			got := r.call(e.method, e.path, e.body, "Authorization", wrong)
			requireError(t, got, 401, "Missing or wrong API key")
			require.Equal(t, "Bearer", got.header.Get("WWW-Authenticate"))
		}
	}
	require.Equal(t, 401, r.call("GET", "/nowhere", "", "Authorization", "").status, "who has no key learns nothing")
	for _, e := range endpoints {
		require.NotEqual(t, 401, r.call(e.method, e.path, e.body).status, e.path)
	}
	for _, url := range []string{r.TasksURL, r.IDsURL} {
		got := r.call("GET", url+"/health", "", "Authorization", "")
		require.Equal(t, 200, got.status)
		require.Equal(t, "healthy", got.body["status"])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotContains(t, r.logs.String(), secret, "X-LOG-02")
}

func TestAPI_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, path := range []string{"/", "/tasks/", "/tasks/batch/x", "/tasks//next", "/../tasks", "/ids", "/tasks/TASK-001"} {
		got := r.call("GET", path, "")
		require.Equal(t, 404, got.status, path)
		require.Equal(t, got.body["error"], got.body["detail"])
	}
	for path, allow := range map[string]string{"/tasks": "GET", "/tasks/batch": "POST", "/tasks/x/status": "PUT", "/ids/next": "GET", "/ids/reservations/expired": "DELETE"} {
		got := r.call("PATCH", path, "")
		requireError(t, got, 405, "Method not allowed: PATCH")
		require.Equal(t, allow, got.header.Get("Allow"))
	}
	require.Equal(t, 405, r.call("POST", "/health", "").status)
	require.Equal(t, 413, r.call("POST", "/tasks/batch", `{"project_id":"`+strings.Repeat("x", 5<<20)+`"}`).status)
	deep := `{"project_id":"p","tasks":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
	require.Equal(t, 400, r.call("POST", "/tasks/batch", deep).status)

	// Pages of other sites reach loopback, too.
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}} {
		requireError(t, r.call("GET", "/ids/next?type=US&project=p", "", header...), 403, "Requests of other sites are refused")
	}
	got := r.call("GET", "/ids/next?type=US&project=p", "", "Origin", r.IDsURL, "Sec-Fetch-Site", "same-origin")
	require.Equal(t, "US-001", got.body["next_id"])
}

func TestAPI_TaskID(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, e := range endpoints {
		require.Equal(t, "abc-123", r.call(e.method, e.path, e.body, "X-Task-Id", "abc-123").header.Get("X-Task-Id"))
	}
	lines := r.lines("request")
	require.Len(t, lines, len(endpoints))
	for i, line := range lines {
		require.Equal(t, "abc-123", line["task_id"])
		require.Equal(t, endpoints[i].method, line["method"])
		for _, key := range []string{"service", "path", "status", "success", "duration_ms"} {
			require.Contains(t, line, key)
		}
	}
}

// TestAPI_TaskID_Encoded has ids that no header holds come percent-encoded: the
// log has them as they are. What fits no log line is not taken over.
func TestAPI_TaskID_Encoded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, tc := range []struct{ sent, logged string }{
		{"%C3%BCber%20%F0%9F%98%80", "über 😀"},
		{"100%25", "100%"},
		{"a+b", "a+b"},
		{strings.Repeat("%C3%BC", 128), strings.Repeat("ü", 128)},
		// From a caller that does not encode.
		{"100%", "100%"},
		{"über", "über"},
		{"a%0Ab", ""},
		{"a%00b", ""},
		{"%C3", ""},
		{strings.Repeat("x", 129), ""},
		{strings.Repeat("%C3%BC", 129), ""},
	} {
		got := r.call("GET", "/tasks/next?project=p", "", "X-Task-Id", tc.sent)
		lines := r.lines("request")
		require.Equal(t, tc.logged, lines[len(lines)-1]["task_id"], tc.sent)
		if tc.logged != "" {
			require.Equal(t, tc.sent, got.header.Get("X-Task-Id"), "it comes back as it was sent")
		}
	}
}

// TestAPI_Idempotency repeats the two writing requests, also after a restart
// (C-23, S0-ADD-18).
func TestAPI_Idempotency(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tc := range []struct{ path, body, other string }{
		{"/tasks/batch", batch("p", "HLS-001", "HLS-002"), batch("p", "HLS-003")},
		{"/ids/reserve", `{"type":"US","count":3,"project_id":"p"}`, `{"type":"US","count":4,"project_id":"p"}`},
	} {
		key := []string{"Idempotency-Key", "key-" + tc.path}
		var first reply
		t.Run("before", func(t *testing.T) {
			r := newRig(t, func(o *services.Options) { o.Store = openSQLite(t, dir) })
			first = r.call("POST", tc.path, tc.body, key...)
			require.Less(t, first.status, 300, first.text)
			requireError(t, r.call("POST", tc.path, tc.other, key...), 422, "Idempotency-Key was already used for another request")
			requireError(t, r.call("POST", tc.path, tc.body, "Idempotency-Key", strings.Repeat("k", 256)), 400,
				"Invalid Idempotency-Key: must be 1 to 255 printable characters")
		})
		t.Run("after", func(t *testing.T) {
			r := newRig(t, func(o *services.Options) { o.Store = openSQLite(t, dir) })
			r.pass(time.Hour)
			again := r.call("POST", tc.path, tc.body, key...)
			require.Equal(t, first.status, again.status)
			require.Equal(t, first.text, again.text)
			require.InDelta(t, 2, r.call("GET", "/tasks?project=p", "").body["count"], 0)
		})
	}
	r := newRig(t, func(o *services.Options) { o.Store = openSQLite(t, dir) })
	require.Equal(t, "US-004", r.call("GET", "/ids/next?type=US&project=p", "").body["next_id"], "the range was taken once")
}

// broken is a store whose database is in trouble.
type broken struct {
	store.Store
	err error
}

func (b broken) Ping(context.Context) error { return b.err }

func (b broken) NextTask(context.Context, string, store.Status) (*store.Task, error) {
	return nil, b.err
}

func (b broken) NextID(context.Context, string, string, time.Time) (store.Allocation, error) {
	if b.err == nil {
		panic("a bug")
	}
	return store.Allocation{}, b.err
}

func TestAPI_S0_TASKAPI_14_Sanitised(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial tcp 10.0.0.7:5432: password authentication failed for user admin")
	for _, tc := range []struct {
		err    error
		status int
		detail string
	}{
		{secret, 500, "Internal server error"},
		{errors.Join(store.ErrUnavailable, secret), 503, "Database is unavailable, try again later"},
		{errors.Join(store.ErrBusy, secret), 503, "Database is busy, try again later"},
		{context.DeadlineExceeded, 503, "Request timed out"},
		{store.ErrExhausted, 409, "No id left in the sequence"},
	} {
		r := newRig(t, func(o *services.Options) { o.Store = broken{err: tc.err} })
		requireError(t, r.call("GET", "/ids/next?type=US&project=p", ""), tc.status, tc.detail)
		if !errors.Is(tc.err, store.ErrExhausted) {
			requireError(t, r.call("GET", "/tasks/next?project=p", ""), tc.status, tc.detail)
		}
		health := r.call("GET", "/health", "")
		require.Equal(t, 503, health.status)
		require.Equal(t, "unhealthy", health.body["status"])
		require.NotContains(t, health.text, "10.0.0.7")
		line := r.lines("request")[0]
		require.Contains(t, line["cause"], tc.err.Error(), "the log has what the caller does not get")
	}
	r := newRig(t, func(o *services.Options) { o.Store = broken{} })
	requireError(t, r.call("GET", "/ids/next?type=US&project=p", ""), 500, "Internal server error")
	require.Len(t, r.lines("panic"), 1)
}

// stuck is a store that answers nobody until the request ends.
type stuck struct{ store.Store }

func (stuck) Ping(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (stuck) NextID(ctx context.Context, _, _ string, _ time.Time) (store.Allocation, error) {
	<-ctx.Done()
	return store.Allocation{}, ctx.Err()
}

func TestAPI_Stuck(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *services.Options) { o.Store, o.RequestTimeout = stuck{}, 20*time.Millisecond })
	requireError(t, r.call("GET", "/ids/next?type=US&project=p", ""), 503, "Request timed out")
	require.Equal(t, 503, r.call("GET", "/health", "").status, "health does not wait with the database")
}

func TestStart_Fails(t *testing.T) {
	t.Parallel()
	_, err := services.Start(t.Context(), services.Options{})
	require.ErrorContains(t, err, "need a store")
	r := newRig(t, nil)
	taken := strings.TrimPrefix(r.IDsURL, "http://")
	_, err = services.Start(t.Context(), services.Options{Store: stuck{}, IDsAddr: taken})
	require.ErrorContains(t, err, "id_management: listen")
}

// TestClose lets a request that runs end, and refuses new ones.
func TestClose(t *testing.T) {
	t.Parallel()
	gate := &gated{entered: make(chan struct{}), leave: make(chan struct{})}
	s, err := services.Start(t.Context(), services.Options{Store: gate})
	require.NoError(t, err)
	answers := make(chan int)
	go func() {
		res, err := client.Get(s.IDsURL + "/ids/next?type=US&project=p")
		if err != nil {
			answers <- 0
			return
		}
		_ = res.Body.Close()
		answers <- res.StatusCode
	}()
	<-gate.entered
	closed := make(chan error)
	go func() { closed <- s.Close(t.Context()) }()
	require.Eventually(t, func() bool {
		res, err := client.Get(s.IDsURL + "/health")
		if err == nil {
			_ = res.Body.Close()
		}
		return err != nil
	}, 5*time.Second, time.Millisecond, "the listener closes")
	close(gate.leave)
	require.Equal(t, http.StatusOK, <-answers)
	require.NoError(t, <-closed)
}

// gated is a store that holds a caller until it is let go.
type gated struct {
	store.Store
	entered, leave chan struct{}
}

func (g *gated) Ping(context.Context) error { return nil }

func (g *gated) NextID(context.Context, string, string, time.Time) (store.Allocation, error) {
	close(g.entered)
	<-g.leave
	return store.Allocation{ID: "US-001"}, nil
}
