package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// served starts a service and returns clients of it, and what the handler saw.
func served(t *testing.T, h http.HandlerFunc) (*Tasks, *IDs) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	opts := Options{BaseURL: srv.URL + "/api/", APIKey: "k-1"}
	tasks, err := NewTasks(opts)
	require.NoError(t, err)
	ids, err := NewIDs(opts)
	require.NoError(t, err)
	t.Cleanup(tasks.Close)
	t.Cleanup(ids.Close)
	return tasks, ids
}

func failure(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	return e
}

func TestRequests(t *testing.T) {
	t.Parallel()
	var got []string
	tasks, ids := served(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s key=%q task=%q auth=%q %s", r.Method, r.RequestURI,
			r.Header.Get("Idempotency-Key"), r.Header.Get("X-Task-Id"), r.Header.Get("Authorization"), body))
		switch r.URL.Path {
		case "/api/tasks/batch":
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"success":true,"tasks_added":1,"task_ids":["TASK-012"]}`)
		case "/api/tasks":
			fmt.Fprint(w, `{"tasks":[{"task_id":"TASK-1","artifact_id":"HLS-1"},{"task_id":"TASK-2","artifact_id":"HLS-012","correlation_id":"other"},
				{"task_id":"TASK-3","artifact_id":"HLS-012","correlation_id":"w\n1"},{"task_id":"TASK-4","artifact_id":"HLS-012","correlation_id":"w"}]}`)
		case "/api/ids/next":
			fmt.Fprint(w, `{"next_id":"US-071"}`)
		case "/api/ids/reserve":
			fmt.Fprint(w, `{"reservation_id":"r","reserved_ids":["HLS-012","HLS-013"],"expires_at":"2025-10-20T15:00:00Z"}`)
		default:
			fmt.Fprint(w, `{"confirmed":true}`)
		}
	})
	ctx := t.Context()
	added, err := tasks.Add(ctx, "w\n1", "key", "a&b", []Task{{ArtifactID: "HLS-012"}})
	require.NoError(t, err)
	require.Equal(t, []string{"TASK-012"}, added)
	found, err := tasks.Find(ctx, "w\n1", "a&b", "HLS-012")
	require.NoError(t, err)
	require.Equal(t, "TASK-3", found)
	id, err := ids.Next(ctx, "w", "a&b", "US")
	require.NoError(t, err)
	require.Equal(t, "US-071", id)
	res, err := ids.Reserve(ctx, "w", "p", "HLS", 2)
	require.NoError(t, err)
	require.Equal(t, &Reservation{ID: "r", IDs: []string{"HLS-012", "HLS-013"}, ExpiresAt: time.Date(2025, 10, 20, 15, 0, 0, 0, time.UTC)}, res)
	require.NoError(t, ids.Confirm(ctx, "w", "r"))
	require.Equal(t, []string{
		`POST /api/tasks/batch key="key" task="w%0A1" auth="Bearer k-1" {"project_id":"a\u0026b","tasks":[{"artifact_id":"HLS-012","generator":"","status":"","task_id":"","inputs":null}]}`,
		`GET /api/tasks?artifact_id=HLS-012&project=a%26b key="" task="w%0A1" auth="Bearer k-1" `,
		`GET /api/ids/next?project=a%26b&type=US key="" task="w" auth="Bearer k-1" `,
		`POST /api/ids/reserve key="" task="w" auth="Bearer k-1" {"count":2,"project_id":"p","type":"HLS"}`,
		`POST /api/ids/confirm key="" task="w" auth="Bearer k-1" {"reservation_id":"r"}`,
	}, got)
}

// A correlation id is any text, and comes back out of X-Task-Id as it was.
func TestTaskHeader(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	_, ids := served(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("X-Task-Id")
		fmt.Fprint(w, `{"confirmed":true}`)
	})
	for id, want := range map[string]string{
		"wf-1,a/b+~!": "wf-1,a/b+~!", "Größe–1": "Gr%C3%B6%C3%9Fe%E2%80%931", "50%": "50%25", "%41": "%2541",
		"a\x00b\r\nX-Evil: 1\x7f": "a%00b%0D%0AX-Evil:%201%7F", " a ": "%20a%20", "  ": "%20%20",
	} {
		require.NoError(t, ids.Confirm(t.Context(), id, "r"))
		sent := <-got
		require.Equal(t, want, sent)
		back, err := url.PathUnescape(sent)
		require.NoError(t, err)
		require.Equal(t, id, back)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 500)
	for _, tc := range []struct {
		status    int
		body      string
		kind      Kind
		detail    string
		undecided bool
		attempts  int32
	}{
		{400, `{"detail":"bad\u001b[31m thing","error":"other"}`, Refused, "bad [31m thing", false, 1},
		{409, `{"error":"other"}`, Refused, "other", false, 1},
		{422, `{"detail":"` + long + `"}`, Refused, strings.Repeat("é", 300) + "…", false, 1},
		{400, `<html>`, Refused, "no reason given", false, 1},
		{401, `{"detail":"secret"}`, Denied, "", false, 1},
		{403, `{"detail":"secret"}`, Denied, "", false, 1},
		{404, `{"error":"gone"}`, Missing, "gone", false, 1},
		{408, ``, Timeout, "", false, 1},
		{429, ``, Unavailable, "", false, 1},
		{302, ``, Unavailable, "", false, 1},
		{500, `{"detail":"secret"}`, Unavailable, "", false, 3},
		{502, ``, Unavailable, "", true, 3},
		{504, ``, Unavailable, "", true, 3},
		{200, `not JSON`, Unavailable, "", true, 1},
		{200, `{"task_ids":[]}`, Unavailable, "", true, 1},
		{200, `"` + strings.Repeat("x", maxAnswer) + `"`, Unavailable, "", true, 1},
	} {
		t.Run(fmt.Sprint(tc.status, " ", tc.kind), func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			tasks, _ := served(t, func(w http.ResponseWriter, _ *http.Request) {
				n.Add(1)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			})
			_, err := tasks.Add(t.Context(), "w", "k", "p", make([]Task, 1))
			e := failure(t, err)
			require.Equal(t, tc.kind, e.Kind)
			require.Equal(t, tc.detail, e.Detail)
			require.Equal(t, tc.undecided, e.Undecided)
			require.Equal(t, tc.attempts, n.Load())
			require.NotContains(t, err.Error(), "secret")
			require.Contains(t, err.Error(), "Task Tracking service")
			require.Error(t, errors.Unwrap(err))
		})
	}
}

// What an attempt may have done stays open, until one is refused outright.
func TestUndecidedIsRemembered(t *testing.T) {
	t.Parallel()
	for last, want := range map[int]bool{503: true, 400: false, 401: true} {
		var n atomic.Int32
		tasks, _ := served(t, func(w http.ResponseWriter, _ *http.Request) {
			if n.Add(1) == 1 {
				panic(http.ErrAbortHandler) // the connection ends without an answer
			}
			w.WriteHeader(last)
		})
		_, err := tasks.Add(t.Context(), "w", "k", "p", make([]Task, 1))
		require.Equal(t, want, failure(t, err).Undecided, last)
	}
}

// C-22: what takes a number is not sent again, not even by net/http, which
// repeats a GET when a connection that it used before turns out to be closed.
func TestNextIsSentOnce(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	_, ids := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/ids/next" && n.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, `{"next_id":"US-071","reservation_id":"r","reserved_ids":["US-1"]}`)
	})
	_, err := ids.Next(t.Context(), "w", "p", "US")
	require.NoError(t, err)
	_, err = ids.Next(t.Context(), "w", "p", "US")
	e := failure(t, err)
	require.Equal(t, Unavailable, e.Kind)
	require.True(t, e.Undecided)
	require.Equal(t, int32(2), n.Load())
}

// The same for a range: an answer that was lost has taken one.
func TestReserveIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"lost": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"503":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"504":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) },
	} {
		var n atomic.Int32
		_, ids := served(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/ids/reserve" {
				n.Add(1)
				answer(w)
			}
			fmt.Fprint(w, `{}`)
		})
		require.NoError(t, ids.Confirm(t.Context(), "w", "r"), "so that there is a connection to use again")
		_, err := ids.Reserve(t.Context(), "w", "p", "US", 3)
		e := failure(t, err)
		require.Equal(t, Unavailable, e.Kind, name)
		require.Equal(t, name != "503", e.Undecided, name)
		require.Equal(t, int32(1), n.Load(), name)
	}
}

// Where nobody listens nothing was sent, so every call may be tried again.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	ids, err := NewIDs(Options{BaseURL: "http://" + l.Addr().String()})
	require.NoError(t, err)
	begin := time.Now()
	_, err = ids.Reserve(t.Context(), "w", "p", "HLS", 1)
	e := failure(t, err)
	require.Equal(t, Unavailable, e.Kind)
	require.False(t, e.Undecided)
	require.GreaterOrEqual(t, time.Since(begin), 300*time.Millisecond, "two waits")
	ids.Close()
}

type hang struct{}

func (hang) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// In virtual time: five seconds an attempt, and none after the caller has gone.
func TestTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks, err := NewTasks(Options{BaseURL: "http://x", HTTPClient: &http.Client{Transport: hang{}}})
		require.NoError(t, err)
		begin := time.Now()
		_, err = tasks.Add(t.Context(), "w", "k", "p", make([]Task, 1))
		require.Equal(t, Timeout, failure(t, err).Kind)
		require.Equal(t, 15300*time.Millisecond, time.Since(begin))

		for _, most := range []time.Duration{time.Second, 5050 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), most)
			begin = time.Now()
			_, err = tasks.Add(ctx, "w", "k", "p", make([]Task, 1))
			require.Equal(t, Timeout, failure(t, err).Kind)
			require.Equal(t, most, time.Since(begin))
			cancel()
		}
	})
}

// A service that does not name workflows is believed, one that does is not asked
// about others.
func TestFind(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"tasks":[]}`: "",
		`{"tasks":[{"task_id":"TASK-1","artifact_id":"HLS-012","correlation_id":"other"}]}`: "",
		`{"tasks":[{"task_id":"TASK-1","artifact_id":"HLS-0120","correlation_id":"w"}]}`:    "",
		`{"tasks":[{"task_id":"TASK-1","artifact_id":"HLS-012"}]}`:                          "TASK-1",
		`{"tasks":[{"task_id":"TASK-1","artifact_id":"HLS-012","correlation_id":"w"},
			{"task_id":"TASK-2","artifact_id":"HLS-012","correlation_id":"other"}]}`: "TASK-1",
	} {
		tasks, _ := served(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
		found, err := tasks.Find(t.Context(), "w", "p", "HLS-012")
		require.NoError(t, err)
		require.Equal(t, want, found, answer)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "x", "ftp://x", "http://", "http://user:secret@/", "://", "http://user:secret@%zz"} {
		_, err := NewTasks(Options{BaseURL: url})
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "secret")
	}
}
