package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Services plays the two services the artifact family stands on, Task Tracking
// and ID Management, for one server: it does what they
// do, in memory, remembers what it was asked, and fails where a scenario wants
// it to. It is safe for concurrent use.
type Services struct {
	url  string
	http *http.Server
	done chan struct{}

	mu    sync.Mutex
	asked []restRequest
	// fault answers in place of the service when it returns an answer.
	fault func(r restRequest) *RestAnswer
	last  map[string]int // the numbers given out, by project and prefix
	tasks int
	keys  map[string]RestAnswer // by Idempotency-Key
}

// The environment of a server whose services the suite plays. The key is there
// to be looked for where it must not be.
const (
	ServiceProject = "conform-stand-in"
	ServiceKey     = "planted-key-c0ffee-do-not-log"
)

// restRequest is a request to a service.
type restRequest struct {
	method, path string
	query        url.Values
	header       http.Header
	body         map[string]json.RawMessage
	at           time.Time
}

// RestAnswer is the answer of a service.
type RestAnswer struct {
	Status int
	Header http.Header
	body   any
	// lose closes the connection in place of answering, after does so once the
	// service has done what it was asked.
	lose, after bool
	// hold is waited for before the answer.
	hold <-chan struct{}
}

// NewServices starts the services on a free port of the loopback interface.
func NewServices() (*Services, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, engine.SuiteError(err)
	}
	s := &Services{
		url: "http://" + listener.Addr().String(), done: make(chan struct{}),
		last: map[string]int{}, keys: map[string]RestAnswer{},
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // until it is closed
	}()
	return s, nil
}

// Close ends the services.
func (s *Services) Close() {
	_ = s.http.Close() // its clients have gone
	<-s.done
}

// Environ tells a program where its services are.
func (s *Services) Environ() []string {
	return []string{
		"TASK_TRACKING_API_URL=" + s.url, "ID_MANAGEMENT_API_URL=" + s.url,
		"PROJECT_ID=" + ServiceProject, "API_KEY=" + ServiceKey,
	}
}

// playedFor returns the services that the suite plays for the server of a scenario.
func playedFor(t *engine.Trial) *Services { return surroundings.Of(t).Services.(*Services) } // the gate has looked

// begin forgets what was asked and sets the faults of a scenario; nil is none.
func (s *Services) begin(fault func(r restRequest) *RestAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.fault = nil, fault
}

// requests returns what was asked of an endpoint, such as "POST /ids/reserve",
// or of all with "".
func (s *Services) requests(endpoint string) []restRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []restRequest
	for _, r := range s.asked {
		if endpoint == "" || r.endpoint() == endpoint {
			out = append(out, r)
		}
	}
	return out
}

func (r restRequest) endpoint() string { return r.method + " " + r.path }

// tasks returns the tasks of a batch.
func (r restRequest) tasks() []restTask {
	var out []restTask
	_ = json.Unmarshal(r.body["tasks"], &out) // none: the scenario reports it
	return out
}

// restTask is a task in a batch.
type restTask struct {
	ArtifactID  string      `json:"artifact_id"`
	Generator   string      `json:"generator"`
	Status      string      `json:"status"`
	TaskID      string      `json:"task_id"`
	Description string      `json:"description"`
	Inputs      []restInput `json:"inputs"`
}

// restInput is an input of a task. Services take resource_uri for
// mcp_resource_uri.
type restInput struct {
	Name           string `json:"name"`
	Classification string `json:"classification"`
	ArtifactType   string `json:"artifact_type"`
	ArtifactID     string `json:"artifact_id"`
	ResourcePath   string `json:"resource_path"`
	MCPResourceURI string `json:"mcp_resource_uri"`
	ResourceURI    string `json:"resource_uri,omitempty"`
	Status         string `json:"status"`
}

// ServeHTTP implements http.Handler.
func (s *Services) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r := restRequest{method: req.Method, path: req.URL.Path, query: req.URL.Query(), header: req.Header.Clone(), at: time.Now()}
	if data, err := io.ReadAll(io.LimitReader(req.Body, wire.MaxFrame)); err == nil {
		r.body, _ = rawjson.Object(data)
	}
	s.mu.Lock()
	s.asked = append(s.asked, r)
	fault := s.fault
	s.mu.Unlock()
	var planned *RestAnswer
	if fault != nil {
		planned = fault(r)
	}
	if planned != nil && planned.hold != nil {
		select {
		case <-planned.hold:
		case <-req.Context().Done():
			return
		}
	}
	var out RestAnswer
	if planned == nil || planned.after || planned.Status == 0 && !planned.lose {
		out = s.serve(r)
	}
	if planned != nil && (planned.lose || planned.after) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close() // that is the answer
		}
		return
	}
	if planned != nil && planned.Status != 0 {
		out = *planned
	}
	maps.Copy(w.Header(), out.Header)
	w.Header().Set("Content-Type", wire.MediaJSON)
	w.WriteHeader(out.Status)
	_, _ = w.Write(rawjson.Encode(out.body)) // a server that has gone reads nothing
}

// restRefusal is how a service says no: with the keys of both seeds.
func restRefusal(status int, detail string) RestAnswer {
	return RestAnswer{Status: status, body: map[string]any{"success": false, "error": detail, "detail": detail, "status_code": status}}
}

func (s *Services) serve(r restRequest) RestAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.header.Get("Idempotency-Key")
	if known, again := s.keys[key]; key != "" && again {
		return known
	}
	var out RestAnswer
	var err error
	switch r.endpoint() {
	case "GET /ids/next":
		out, err = s.nextID(r)
	case "POST /ids/reserve":
		out, err = s.reserve(r)
	case "POST /ids/confirm":
		out = RestAnswer{Status: http.StatusOK, body: map[string]any{"success": true, "reservation_id": r.body["reservation_id"], "confirmed": true}}
	case "POST /tasks/batch":
		out = s.batch(r)
	default:
		err = errors.New("no such endpoint")
	}
	if err != nil {
		return restRefusal(http.StatusBadRequest, err.Error())
	}
	if key != "" {
		s.keys[key] = out
	}
	return out
}

func (s *Services) nextID(r restRequest) (RestAnswer, error) {
	prefix, project := r.query.Get("type"), r.query.Get("project")
	if prefix == "" || project == "" {
		return RestAnswer{}, errors.New("type and project are required")
	}
	ids := s.give(project, prefix, 1)
	return RestAnswer{Status: http.StatusOK, body: map[string]any{"success": true, "artifact_type": prefix, "next_id": ids[0], "last_assigned": nil}}, nil
}

func (s *Services) reserve(r restRequest) (RestAnswer, error) {
	count := 0
	prefix, project := rawjson.Text(r.body["type"]), rawjson.Text(r.body["project_id"])
	if json.Unmarshal(r.body["count"], &count) != nil || count < 1 || count > 100 || prefix == "" || project == "" {
		return RestAnswer{}, errors.New("count must be between 1 and 100")
	}
	return RestAnswer{Status: http.StatusOK, body: map[string]any{
		"success": true, "reservation_id": uuid.NewString(), "artifact_type": prefix, "reserved_ids": s.give(project, prefix, count),
		"expires_at": time.Now().Add(15 * time.Minute).UTC().Format(time.RFC3339),
	}}, nil
}

// give hands out the next numbers of a sequence.
func (s *Services) give(project, prefix string, count int) []string {
	sequence := project + "/" + prefix
	ids := make([]string, count)
	for i := range ids {
		s.last[sequence]++
		ids[i] = fmt.Sprintf("%s-%03d", prefix, s.last[sequence])
	}
	return ids
}

// given returns the last number of a type in the project of approvals.
func (s *Services) given(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[ServiceProject+"/"+prefix]
}

// made returns how many tasks there are, lastTask the id of the last.
func (s *Services) made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks
}

func (s *Services) lastTask() string { return fmt.Sprintf("TASK-%03d", s.made()) }

func (s *Services) batch(r restRequest) RestAnswer {
	ids := []string{}
	for range r.tasks() {
		s.tasks++
		ids = append(ids, fmt.Sprintf("TASK-%03d", s.tasks))
	}
	return RestAnswer{Status: http.StatusCreated, body: map[string]any{"success": true, "tasks_added": len(ids), "task_ids": ids}}
}

// breaking makes a fault of the requests to one endpoint.
func breaking(endpoint string, answer RestAnswer) func(restRequest) *RestAnswer {
	return func(r restRequest) *RestAnswer {
		if r.endpoint() != endpoint {
			return nil
		}
		return &answer
	}
}

// uri returns the URI of an input under either name.
func (in restInput) uri() string {
	if in.MCPResourceURI != "" {
		return in.MCPResourceURI
	}
	return in.ResourceURI
}

// describeRequests says in a line what a service was asked.
func describeRequests(requests []restRequest) string {
	said := make([]string, len(requests))
	for i, r := range requests {
		said[i] = r.endpoint()
		if r.body != nil {
			said[i] += " " + rawjson.Clip(string(rawjson.Encode(r.body)), 160)
		}
	}
	return fmt.Sprintf("%d requests: %s", len(requests), rawjson.Clip(strings.Join(said, "; "), 400))
}
