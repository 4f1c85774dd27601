package artifact

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// idServiceScenarios judge the ID Management service of a server, where it can
// be reached, and what holds for both services.
func idServiceScenarios() []engine.Scenario {
	needs := workflowNeeds()
	needs.Fixture = surroundings.REST
	return []engine.Scenario{
		{ID: "S0-IDAPI-01", Needs: needs, Run: onREST(runIDNext)},
		{ID: "S0-IDAPI-03", Needs: needs, Run: onREST(runIDReserve)},
		{ID: "S0-IDAPI-11", Needs: needs, Run: onREST(runIDParallel)},
		{ID: "S0-IDAPI-05-CLOCK", Needs: wanting(needs, "a clock")},
		{ID: "S0-IDAPI-09", Needs: wanting(needs, "a barrier in the database")},
		{ID: "S0-TASKAPI-15", Starts: 1, Needs: logging(needs), Run: runServiceSettings},
	}
}

// ReserveBody is the body of a request for a range of ids.
func ReserveBody(prefix, project string, count int) map[string]any {
	return map[string]any{"type": prefix, "count": count, "project_id": project}
}

func runIDNext(t *engine.Trial, c *restClient) {
	project := newProject(t)
	first, err := c.do(t.Ctx, http.MethodGet, "/ids/next?type=US&project="+project, nil)
	t.NoError(err)
	second, err := c.do(t.Ctx, http.MethodGet, "/ids/next?type=US&project="+project, nil)
	said := func(r restReply, id, last string) bool {
		return r.status == http.StatusOK && string(r.members["success"]) == "true" && rawjson.Text(r.members["artifact_type"]) == "US" &&
			rawjson.Text(r.members["next_id"]) == id && string(r.members["last_assigned"]) == last
	}
	t.Check("S0-IDAPI-01/body", err == nil && said(first, "US-001", "null") && said(second, "US-002", `"US-001"`),
		"US-001 after null, US-002 after US-001", "%s, then %s", first.describe(nil), second.describe(err))
	t.Check("S0-IDAPI-01/store", first.header.Get("Cache-Control") == "no-store", "Cache-Control: no-store", "%q", first.header.Get("Cache-Control"))
	r, err := c.do(t.Ctx, http.MethodGet, "/ids/next?type=NOPE&project="+project, nil)
	ok := r.says(err, http.StatusBadRequest, "NOPE")
	for _, kind := range StoredTypes {
		ok = ok && r.says(err, http.StatusBadRequest, kind.Prefix)
	}
	t.Check("S0-IDAPI-02/type", ok, "400 Invalid artifact_type: NOPE, with the valid ones", "%s", r.describe(err))
	r, err = c.do(t.Ctx, http.MethodGet, "/ids/next?type=US", nil)
	t.Check("S0-IDAPI-02/project", r.says(err, http.StatusBadRequest, "project"), "400 Missing required parameter: project", "%s", r.describe(err))
	t.NoError(err)
}

// expiry is how long a reservation lives by the clock of its service, as far as
// two clocks in one answer can say.
func (r restReply) expiry() time.Duration {
	expires, err := time.Parse(time.RFC3339, rawjson.Text(r.members["expires_at"]))
	now, dateErr := http.ParseTime(r.header.Get("Date"))
	if err != nil || dateErr != nil {
		return -1
	}
	return expires.Sub(now)
}

// about reports whether a time is as long as it should be; the Date of an answer
// has whole seconds.
func about(got, want time.Duration) bool { return got > want-3*time.Second && got < want+3*time.Second }

func runIDReserve(t *engine.Trial, c *restClient) {
	project := newProject(t)
	r, err := c.do(t.Ctx, http.MethodPost, "/ids/reserve", ReserveBody("HLS", project, 3))
	id := rawjson.Text(r.members["reservation_id"])
	t.Check("S0-IDAPI-03/body", err == nil && r.status == http.StatusOK && uuid.Validate(id) == nil && rawjson.Text(r.members["artifact_type"]) == "HLS" &&
		slices.Equal(r.list("reserved_ids"), []string{"HLS-001", "HLS-002", "HLS-003"}), "HLS-001 to HLS-003", "%s", r.describe(err))
	t.NoError(err)
	t.Check("S0-IDAPI-03/expiry", about(r.expiry(), 15*time.Minute), "15m0s", "%s after %s", rawjson.Text(r.members["expires_at"]), r.header.Get("Date"))
	odd := ""
	for _, count := range []int{0, 101} {
		if r, err := c.do(t.Ctx, http.MethodPost, "/ids/reserve", ReserveBody("HLS", project, count)); !r.says(err, http.StatusBadRequest, "Invalid count: must be between 1 and 100") {
			odd = fmt.Sprintf("count %d: %s", count, r.describe(err))
		}
	}
	t.Check("S0-IDAPI-03/count", odd == "", "400 Invalid count: must be between 1 and 100", "%s", odd)
	confirm := func(id string) (restReply, error) {
		return c.do(t.Ctx, http.MethodPost, "/ids/confirm", map[string]any{"reservation_id": id})
	}
	for _, check := range []string{"S0-IDAPI-04/confirmed", "S0-IDAPI-04/again"} {
		r, err := confirm(id)
		t.Check(check, err == nil && r.status == http.StatusOK && string(r.members["confirmed"]) == "true" && rawjson.Text(r.members["reservation_id"]) == id,
			"200 with confirmed true", "%s", r.describe(err))
	}
	r, err = confirm(uuid.NewString())
	t.Check("S0-IDAPI-05/unknown", r.says(err, http.StatusNotFound, "Reservation expired or not found"), "404 Reservation expired or not found", "%s", r.describe(err))
	r, err = confirm("not-a-uuid")
	t.Check("S0-IDAPI-05/malformed", r.says(err, http.StatusBadRequest, ""), "400", "%s", r.describe(err))
	live, err := c.do(t.Ctx, http.MethodPost, "/ids/reserve", ReserveBody("HLS", project, 1))
	t.NoError(err)
	r, err = c.do(t.Ctx, http.MethodDelete, "/ids/reservations/expired", nil)
	kept := err == nil && r.status == http.StatusOK && r.members["deleted_count"] != nil
	for _, id := range []string{id, rawjson.Text(live.members["reservation_id"])} {
		again, err := confirm(id)
		kept = kept && err == nil && again.status == http.StatusOK
	}
	t.Check("S0-IDAPI-06/live", kept, "200 with deleted_count, and both reservations there", "%s", r.describe(err))
}

func runIDParallel(t *engine.Trial, c *restClient) {
	const callers = 50
	project := newProject(t)
	replies := make([]restReply, callers)
	errs := make([]error, callers)
	var group sync.WaitGroup
	for i := range replies {
		group.Go(func() {
			replies[i], errs[i] = c.do(t.Ctx, http.MethodPost, "/ids/reserve", ReserveBody("US", project, 2))
		})
	}
	group.Wait()
	var ids []string
	failed := ""
	for i, r := range replies {
		if errs[i] != nil || r.status != http.StatusOK {
			failed = r.describe(errs[i])
		}
		ids = append(ids, r.list("reserved_ids")...)
	}
	t.Check("S0-IDAPI-11", failed == "", "50 times 200", "%s", failed)
	t.Check("S0-IDAPI-11/ranges", len(ids) == 2*callers && inRow(inOrder(ids), "US"), "100 ids in a row", "%d: %v", len(ids), rawjson.Clip(fmt.Sprint(inOrder(ids)), 300))
}

// serviceEndpoints are the endpoints of both services.
var serviceEndpoints = []struct{ method, path string }{
	{http.MethodGet, "/tasks/next?project=x"},
	{http.MethodPut, "/tasks/TASK-001/status"},
	{http.MethodGet, "/tasks?project=x"},
	{http.MethodPost, "/tasks/batch"},
	{http.MethodGet, "/ids/next?type=US&project=x"},
	{http.MethodPost, "/ids/reserve"},
	{http.MethodPost, "/ids/confirm"},
	{http.MethodDelete, "/ids/reservations/expired"},
}

func runServiceSettings(t *engine.Trial) {
	s := t.Open("API_KEY="+ServiceKey, "RESERVATION_EXPIRATION_MINUTES=7")
	t.NoError(s.Handshake(t.Ctx, t.Rev.Asked))
	c := restOf(t, s)
	if !c.reach(t) {
		return
	}
	for _, each := range [][2]string{{"S0-TASKAPI-15/none", ""}, {"S0-TASKAPI-15/wrong", "Bearer wrong-" + ServiceKey}} {
		check, authorization := each[0], each[1]
		open := ""
		for _, e := range serviceEndpoints {
			var body any
			if e.method != http.MethodGet {
				body = map[string]any{}
			}
			r, err := c.send(t.Ctx, e.method, e.path, body, authorization)
			if err != nil || r.status != http.StatusUnauthorized {
				open = e.method + " " + e.path + ": " + r.describe(err)
			}
		}
		t.Check(check, open == "", "401 for all of them", "%s", open)
	}
	c.key = ServiceKey
	r, err := c.do(t.Ctx, http.MethodPost, "/ids/reserve", ReserveBody("US", newProject(t), 1))
	t.Check("S0-TASKAPI-15/right", err == nil && r.status == http.StatusOK, "200", "%s", r.describe(err))
	t.Check("S0-IDAPI-08", about(r.expiry(), 7*time.Minute), "expires_at in 7 minutes", "%s after %s", rawjson.Text(r.members["expires_at"]), r.header.Get("Date"))
	sick := ""
	for _, base := range []string{c.tasksURL, c.idsURL} {
		if r, err := c.send(t.Ctx, http.MethodGet, base+"/health", nil, ""); err != nil || r.status != http.StatusOK {
			sick = r.describe(err)
		}
	}
	t.Check("S0-TASKAPI-15/health", sick == "", "200", "%s", sick)
	done[nextID](t, s, ToolNextID, nextArguments("prd", newProject(t)))
	logged := false
	wire.WaitUntil(t.Ctx, min(s.Timeout, 2*wire.Lag), func() bool { // a log may lag behind the answer
		logged = slices.ContainsFunc(logLines(s.Conn.Stderr()), func(line map[string]json.RawMessage) bool {
			return rawjson.Text(line["event"]) == ToolNextID+"_invocation_completed"
		})
		return logged
	})
	t.Check("X-LOG-02/key", logged && !strings.Contains(s.Conn.Stderr(), ServiceKey), "a log without the key", "the key is in the log, or there is none")
}
