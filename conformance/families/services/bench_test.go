package services_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// callers is how many callers the requirement names (p99 < 200 ms, S0).
const callers = 50

// BenchmarkREST measures each kind of request with 50 callers at once and
// reports the latencies: go test -run '^$' -bench REST -benchtime 2000x
func BenchmarkREST(b *testing.B) {
	for _, back := range []struct {
		name string
		open func(t testing.TB) store.Store
	}{
		{"sqlite", func(t testing.TB) store.Store { return openSQLite(t, t.TempDir()) }},
		{"postgres", openPostgres},
	} {
		b.Run(back.name, func(b *testing.B) {
			r := newRig(b, func(o *services.Options) {
				o.Store = back.open(b)
				o.Now = nil
			})
			var number atomic.Int64
			// Three tasks that depend on a document of their own.
			three := func() string {
				n := number.Add(3)
				body := batch("p", fmt.Sprintf("HLS-%03d", n), fmt.Sprintf("HLS-%03d", n+1), fmt.Sprintf("HLS-%03d", n+2))
				return strings.ReplaceAll(body, "PRD-006", fmt.Sprintf("PRD-%03d", n))
			}
			for range 300 { // a queue of 900
				require.Equal(b, http.StatusCreated, r.call("POST", "/tasks/batch", three()).status)
			}
			var reservations []string
			for range 300 {
				got := r.call("POST", "/ids/reserve", `{"type":"HLS","count":3,"project_id":"p"}`)
				require.Equal(b, http.StatusOK, got.status)
				reservations = append(reservations, fmt.Sprintf(`{"reservation_id":%q}`, got.body["reservation_id"]))
			}
			var confirmed atomic.Int64
			// A confirmation that is repeated writes its row again.
			confirm := func() string { return reservations[int(confirmed.Add(1))%len(reservations)] }
			for _, request := range []struct {
				name, method, path string
				body               func() string
			}{
				{"ids_next", "GET", r.IDsURL + "/ids/next?type=US&project=p", nil},
				{"ids_reserve", "POST", r.IDsURL + "/ids/reserve", func() string { return `{"type":"HLS","count":3,"project_id":"p"}` }},
				{"ids_confirm", "POST", r.IDsURL + "/ids/confirm", confirm},
				{"tasks_next", "GET", r.TasksURL + "/tasks/next?project=p", nil},
				{"tasks_by_input", "GET", r.TasksURL + "/tasks?project=p&input_artifact_id=PRD-300", nil},
				{"tasks_without_mandatory", "GET", r.TasksURL + "/tasks?project=p&without_mandatory=true", nil},
				{"tasks_page", "GET", r.TasksURL + "/tasks?project=p&status=pending&limit=50&offset=600", nil},
				{"tasks_batch", "POST", r.TasksURL + "/tasks/batch", three},
			} {
				b.Run(request.name, func(b *testing.B) {
					report(b, load(b, func(client *http.Client) error {
						body := ""
						if request.body != nil {
							body = request.body()
						}
						return send(b, client, request.method, request.path, body)
					}))
				})
			}
		})
	}
}

// load makes b.N requests by all callers together and returns how long each
// took, in order of length.
func load(b *testing.B, request func(client *http.Client) error) []time.Duration {
	transport := &http.Transport{MaxIdleConnsPerHost: callers}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	took := make([]time.Duration, b.N)
	var at atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for i := at.Add(1) - 1; i < int64(len(took)); i = at.Add(1) - 1 {
				begin := time.Now()
				if err := request(client); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(begin)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	return took
}

func send(t testing.TB, client *http.Client, method, url, body string) error {
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s: %s", res.Status, text)
	}
	return res.Body.Close()
}

func report(b *testing.B, took []time.Duration) {
	for name, share := range map[string]float64{"p50-ms": 0.50, "p95-ms": 0.95, "p99-ms": 0.99} {
		i := min(int(share*float64(len(took))), len(took)-1)
		b.ReportMetric(float64(took[i].Microseconds())/1000, name)
	}
}
