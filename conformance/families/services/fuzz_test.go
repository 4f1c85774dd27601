package services_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/api"
	"github.com/mainstay-mcp/mainstay/conformance/families/services/ids"
	"github.com/mainstay-mcp/mainstay/conformance/families/services/tasks"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// strict is a store that fails for what a database could not hold.
type strict struct {
	store.Store
	t *testing.T
}

func (s strict) AddTasks(_ context.Context, b store.Batch) ([]string, error) {
	require.NoError(s.t, b.Check())
	for _, n := range b.Tasks {
		require.True(s.t, n.Status.Known())
		for _, text := range []struct {
			value string
			most  int
		}{{b.Project, 100}, {n.ArtifactID, 20}, {n.Generator, 100}, {n.CorrelationID, 128}, {n.Description, 2000}} {
			require.True(s.t, store.Storable(text.value) && utf8.RuneCountInString(text.value) <= text.most, "%q", text.value)
		}
		raw, err := json.Marshal(n.Inputs)
		require.NoError(s.t, err)
		require.NotContains(s.t, string(raw), `\u0000`, "JSONB refuses it")
	}
	return []string{}, nil
}

func (s strict) ReserveIDs(_ context.Context, r store.ReserveRequest) (store.Reservation, error) {
	require.True(s.t, r.Count >= 1 && r.Count <= 100)
	require.True(s.t, store.Storable(r.Project) && utf8.RuneCountInString(r.Project) <= 100)
	require.Contains(s.t, store.Prefixes(), r.Type)
	return r.Reserved(int64(r.Count)), nil
}

func answered(t *testing.T, handler http.Handler, path, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+path, strings.NewReader(body)))
	require.Contains(t, []int{200, 201, 400, 413}, w.Code, w.Body.String())
	require.True(t, json.Valid(w.Body.Bytes()))
}

// FuzzBatch sends any body: an answer of the service's form, and nothing
// reaches the store that a database could not hold.
func FuzzBatch(f *testing.F) {
	f.Add(batch("p", "HLS-001", "HLS-002"))
	f.Add(`{"project":"p","tasks":[{"artifact_id":"HLS-001","generator":"g","inputs_json":"[` + strings.ReplaceAll(input, `"`, `\"`) + `]"}]}`)
	f.Add(`{"project_id":"\ud800","tasks":[{"artifact_id":"HLS-001","generator":"\u0000","inputs":[{"name":"a","classification":"mandatory","status":"\u0000"}]}]}`)
	f.Add(`{"project_id":"p","tasks":[null,{}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		answered(t, tasks.Handler(tasks.Options{Options: api.Options{}, Store: strict{t: t}}), "/tasks/batch", body)
	})
}

// FuzzReserve does the same for ranges.
func FuzzReserve(f *testing.F) {
	f.Add(`{"type":"US","count":3,"project_id":"p"}`)
	f.Add(`{"type":"US","count":1e2,"project":"\ud83d"}`)
	f.Add(`{"TYPE":"US","count":-0,"project":""}`)
	f.Fuzz(func(t *testing.T, body string) {
		answered(t, ids.Handler(ids.Options{Options: api.Options{}, Store: strict{t: t}}), "/ids/reserve", body)
	})
}
