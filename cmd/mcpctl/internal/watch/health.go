package watch

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/healthhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// failureFor is how long a failed contact with a server counts. Afterwards the proxy reports
// that it is ready: without requests nobody would find out that the server is back.
const failureFor = 30 * time.Second

// Health is the health and the figures of a proxy. The zero Health is ready for use once Safe is
// set. Its methods may be called from several goroutines.
type Health struct {
	// Stats counts what is open; give it to the proxy.
	Stats proxy.Stats
	// Safe hides secrets in the text of an error.
	Safe func(string) string

	mu       sync.Mutex
	servers  []*server
	requests map[request]uint64
	took     map[string]*histogram // by method
	restarts uint64
}

// server is one server of the proxy, as its clients see it.
type server struct {
	health *Health
	name   string

	mu      sync.Mutex
	clients []*client.Client
	failed  error // of the last contact, nil if that worked
	since   time.Time
}

// request is what a counter of requests is for. Both are of closed lists.
type request struct {
	method  string
	outcome proxy.Outcome
}

// buckets are the upper bounds of the histogram in seconds.
var buckets = [...]float64{0.01, 0.1, 1, 10, 60}

type histogram struct {
	counts [len(buckets)]uint64 // of the requests in each bucket alone
	count  uint64
	sum    float64
}

// Watch returns a target that is part of the health. name is for a proxy of several servers.
func (h *Health) Watch(name string, to proxy.Target) proxy.Target {
	s := &server{health: h, name: name}
	h.mu.Lock()
	h.servers = append(h.servers, s)
	h.mu.Unlock()
	return func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
		c, err := to(ctx, slices.Concat(opts, []client.Option{client.OnEvent(s.event), client.WithMeter(meter{server: s})})...)
		if ctx.Err() == nil {
			s.contact(err)
		}
		if err == nil {
			s.mu.Lock()
			s.clients = append(s.open(), c)
			s.mu.Unlock()
		}
		return c, err
	}
}

// meter notes whether the calls of a client reach the server.
type meter struct {
	client.NoMeter
	server *server
}

// CallEnded implements [client.Meter].
func (m meter) CallEnded(r client.CallRecord) {
	switch {
	case r.Err == nil || r.Err.RPC != nil:
		m.server.contact(nil)
	case r.Attempts > 0 && broken(r.Err.Kind):
		m.server.contact(r.Err)
	}
}

// broken reports whether an error shows that the server does not work. The others show nothing
// about it: a limit of the client, or a host that cancels.
func broken(kind mcperrors.Kind) bool {
	switch kind {
	case mcperrors.KindTransport, mcperrors.KindTimeout, mcperrors.KindServer, mcperrors.KindAuth, mcperrors.KindProtocol, mcperrors.KindVersion,
		mcperrors.KindSessionLost:
		return true
	case mcperrors.KindCanceled, mcperrors.KindUnsupported, mcperrors.KindNotFound, mcperrors.KindInvalidArguments, mcperrors.KindInputRequired,
		mcperrors.KindCircuitOpen, mcperrors.KindOverloaded, mcperrors.KindClosed, mcperrors.KindTool, mcperrors.KindApp, mcperrors.KindTooLarge:
	}
	return false
}

// contact notes whether the server could be reached.
func (s *server) contact(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.since = err, time.Now()
}

// event counts restarts. The new process is a contact that worked.
func (s *server) event(_ context.Context, e client.Event) {
	if _, restarted := e.(client.Restarted); !restarted {
		return
	}
	s.contact(nil)
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	s.health.restarts++
}

// open returns the clients that are not closed. Requires s.mu.
func (s *server) open() []*client.Client {
	s.clients = slices.DeleteFunc(s.clients, func(c *client.Client) bool { return c.State() == client.StateClosed })
	return s.clients
}

// Server is the health of one server in the answer of /readyz.
type Server struct {
	Name   string              `json:"name,omitempty"`
	Status client.HealthStatus `json:"status"`
	// Reason is why it is not ok.
	Reason string `json:"reason,omitempty"`
}

// look returns the health of the server. It does not wait, and may begin the recovery of a
// client in the background.
func (s *server) look() Server {
	s.mu.Lock()
	open := slices.Clone(s.open())
	failed, since := s.failed, s.since
	s.mu.Unlock()
	out := Server{Name: s.name}
	reason := ""
	if failed != nil {
		reason = s.health.Safe(failed.Error())
	}
	if failed != nil && time.Since(since) < failureFor {
		out.Status, out.Reason = client.HealthUnavailable, reason
	}
	healthy := 0
	for _, c := range open {
		if c.Healthy() {
			healthy++
		} else if outage, down := c.Outage(); down && outage.Cause != nil {
			reason = s.health.Safe(outage.Cause.Error())
		}
	}
	if len(open) > 0 && healthy == 0 {
		out.Status, out.Reason = client.HealthUnavailable, cmp.Or(reason, "the server does not answer")
	}
	return out
}

// status is the health of all: one server of several that works is enough to be ready.
func (h *Health) status() (client.HealthStatus, []Server) {
	h.mu.Lock()
	servers := slices.Clone(h.servers)
	h.mu.Unlock()
	out := make([]Server, len(servers))
	bad := 0
	for i, s := range servers {
		if out[i] = s.look(); out[i].Status != client.HealthOK {
			bad++
		}
	}
	switch bad {
	case 0:
		return client.HealthOK, out
	case len(servers):
		return client.HealthUnavailable, out
	}
	return client.HealthDegraded, out
}

// Add counts a record. It is a function for [proxy.OnRequest].
func (h *Health) Add(_ context.Context, r proxy.Record) {
	method := known(r.Method)
	seconds := r.Duration.Seconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.requests == nil {
		h.requests, h.took = map[request]uint64{}, map[string]*histogram{}
	}
	h.requests[request{method, r.Outcome}]++
	took := h.took[method]
	if took == nil {
		took = &histogram{}
		h.took[method] = took
	}
	took.count++
	took.sum += seconds
	if i := slices.IndexFunc(buckets[:], func(bound float64) bool { return seconds <= bound }); i >= 0 {
		took.counts[i]++
	}
}

// known returns a method of the specification unchanged, and "other" for the rest: labels are
// never a peer's text.
func known(method string) string {
	for _, v := range mcp.Versions() {
		if info, ok := mcp.LookupMethod(method, v); ok && !info.Notification && info.Sender != mcp.FromServer {
			return method
		}
	}
	return "other"
}

// Handler serves /livez, /readyz and /metrics. With loopback it refuses other names of this
// machine, under which web pages could read it.
func (h *Health) Handler(loopback bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n")) // if it fails, nobody is left to tell
	})
	mux.Handle("/readyz", healthhttp.Handler(client.HealthUnavailable, h.status))
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(h.metrics())
	})
	if !loopback {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Loopback(hostname(r.Host)) {
			http.Error(w, "this Host is not allowed", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// Loopback reports whether a host is this machine and nothing else.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// metrics returns the figures in the text format of Prometheus.
func (h *Health) metrics() []byte {
	var out []byte
	family := func(name, kind, help string) {
		out = fmt.Appendf(out, "# HELP mainstay_proxy_%s %s\n# TYPE mainstay_proxy_%[1]s %[3]s\n", name, help, kind)
	}
	value := func(name string, v any) { out = fmt.Appendf(out, "mainstay_proxy_%s %v\n", name, v) }
	h.mu.Lock()
	defer h.mu.Unlock()
	family("requests_total", "counter", "Requests of hosts that were answered.")
	for _, key := range sorted(h.requests, func(a, b request) int {
		return cmp.Or(cmp.Compare(a.method, b.method), cmp.Compare(a.outcome, b.outcome))
	}) {
		value(fmt.Sprintf("requests_total{method=%q,outcome=%q}", key.method, key.outcome), h.requests[key])
	}
	family("open_requests", "gauge", "Requests of hosts that wait for their answers.")
	value("open_requests", h.Stats.Requests())
	family("sessions", "gauge", "Hosts of the session era.")
	value("sessions", h.Stats.Sessions())
	family("restarts_total", "counter", "Programs that were started again.")
	value("restarts_total", h.restarts)
	family("request_duration_seconds", "histogram", "Time from a request of a host to its answer.")
	for _, method := range sorted(h.took, cmp.Compare[string]) {
		took, below := h.took[method], uint64(0)
		for i, bound := range buckets {
			below += took.counts[i]
			value(fmt.Sprintf("request_duration_seconds_bucket{method=%q,le=%q}", method, strconv.FormatFloat(bound, 'g', -1, 64)), below)
		}
		value(fmt.Sprintf(`request_duration_seconds_bucket{method=%q,le="+Inf"}`, method), took.count)
		value(fmt.Sprintf("request_duration_seconds_sum{method=%q}", method), took.sum)
		value(fmt.Sprintf("request_duration_seconds_count{method=%q}", method), took.count)
	}
	return out
}

func sorted[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return compare(keys[i], keys[j]) < 0 })
	return keys
}
