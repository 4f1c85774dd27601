package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// restClient speaks to the services of a server, Task Tracking and ID
// Management. It belongs to one trial.
type restClient struct {
	tasksURL, idsURL, key string
	wait                  time.Duration
	trace                 *wire.Trace
	http                  *http.Client
}

// restReply is what a service answered.
type restReply struct {
	status  int
	header  http.Header
	members map[string]json.RawMessage
	raw     string
}

// maxService bounds the answer of a service.
const maxService = 4 << 20

// onREST is a scenario that speaks to the server's services. If nothing tells where they
// are, its checks are skipped.
func onREST(run func(t *engine.Trial, c *restClient)) func(*engine.Trial) {
	return func(t *engine.Trial) {
		f := surroundings.Of(t)
		c := &restClient{tasksURL: f.TasksURL, idsURL: f.IDsURL, key: f.APIKey}
		if c.tasksURL == "" || c.idsURL == "" {
			c = restOf(t, t.Shared())
		}
		if c.reach(t) {
			run(t, c)
		}
	}
}

// restOf returns a client of the services of one session's program.
func restOf(t *engine.Trial, s *wire.Session) *restClient {
	c := &restClient{}
	c.learn(t.Ctx, s)
	return c
}

// reach prepares the client for a trial, and reports whether the services are known. If
// not, it skips the checks that are not decided.
func (c *restClient) reach(t *engine.Trial) bool {
	if c.tasksURL == "" || c.idsURL == "" {
		t.SkipRest(conformance.SkipControl, "no log line services_started says where the services are")
		return false
	}
	c.wait, c.trace, c.http = t.Rev.Opts.Answer, wire.NewTrace(), &http.Client{Transport: &http.Transport{}}
	t.OnFinish(c.http.CloseIdleConnections)
	t.Trace, t.EvidenceFrom = c.trace, 0
	return true
}

// learn reads where a program's services are from the line it logs when it has
// started them.
func (c *restClient) learn(ctx context.Context, s *wire.Session) {
	wire.WaitUntil(ctx, wire.Lag, func() bool {
		for _, line := range logLines(s.Conn.Stderr()) {
			if rawjson.Text(line["event"]) == "services_started" {
				c.tasksURL, c.idsURL = rawjson.Text(line["tasks_url"]), rawjson.Text(line["ids_url"])
			}
		}
		return c.tasksURL != ""
	})
}

// do sends one request; path begins with /tasks or /ids or is, for the health of one
// of them, a whole URL.
func (c *restClient) do(ctx context.Context, method, path string, body any) (restReply, error) {
	return c.send(ctx, method, path, body, c.authorization())
}

func (c *restClient) authorization() string {
	if c.key == "" {
		return ""
	}
	return "Bearer " + c.key
}

// send is do with an Authorization header of the caller's own, "" for none.
func (c *restClient) send(ctx context.Context, method, path string, body any, authorization string) (restReply, error) {
	var data []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		data = b
	default:
		data = rawjson.Encode(b)
	}
	address := path
	switch {
	case strings.HasPrefix(path, "/tasks"):
		address = c.tasksURL + path
	case strings.HasPrefix(path, "/ids"):
		address = c.idsURL + path
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(data))
	if err != nil {
		return restReply{}, err
	}
	if data != nil {
		req.Header.Set("Content-Type", wire.MediaJSON)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	c.trace.Add(conformance.ToServer, data, &conformance.HTTPInfo{Method: method}, method+" "+path)
	resp, err := c.http.Do(req)
	if err != nil {
		return restReply{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or of no more use
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxService))
	if err != nil {
		return restReply{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	c.trace.Add(conformance.FromServer, raw, &conformance.HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type")}, "")
	out := restReply{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	out.members, _ = rawjson.Object(raw)
	return out, nil
}

// describe says in a line what a service answered.
func (r restReply) describe(err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", r.status, rawjson.Clip(strings.TrimSpace(r.raw), 200))
}

// says reports whether the answer is a refusal with a status and a text in the
// keys of both seeds.
func (r restReply) says(err error, status int, part string) bool {
	return err == nil && r.status == status && strings.Contains(rawjson.Text(r.members["detail"]), part) &&
		strings.Contains(rawjson.Text(r.members["error"]), part) && string(r.members["success"]) == "false"
}

// list reads a member that is a list of strings.
func (r restReply) list(member string) []string {
	var out []string
	_ = json.Unmarshal(r.members[member], &out) // no list: the check reports it
	return out
}

// member reads a member that is an object.
func (r restReply) member(name string) map[string]json.RawMessage {
	m, _ := rawjson.Object(r.members[name])
	return m
}

// taskServiceScenarios judge the Task Tracking service of a server, where it
// can be reached. Each works in projects of its own.
func taskServiceScenarios() []engine.Scenario {
	needs := workflowNeeds()
	needs.Fixture = surroundings.REST
	return []engine.Scenario{
		{ID: "S0-TASKAPI-01", Needs: needs, Run: onREST(runTaskNext)},
		{ID: "S0-TASKAPI-04", Needs: needs, Run: onREST(runTaskStatus)},
		{ID: "S0-TASKAPI-07", Needs: needs, Run: onREST(runTaskList)},
		{ID: "S0-TASKAPI-08", Needs: needs, Run: onREST(runTaskBatch)},
		{ID: "S0-TASKAPI-16", Needs: needs, Run: onREST(runTaskWorkers)},
		{ID: "S0-TASKAPI-12", Needs: wanting(needs, "a look into the database")},
		{ID: "S0-TASKAPI-14-DOWN", Needs: wanting(needs, "a database that can be taken away")},
	}
}

// restInputs are the inputs of a task that depends on one artifact.
func restInputs(id string) []map[string]any {
	return []map[string]any{{
		"name": "prd", "classification": "mandatory", "artifact_type": "prd", "artifact_id": id,
		"resource_path": "artifacts/prds/" + id + "_v1.md", "mcp_resource_uri": uriOf(id, 1), "status": "Approved",
	}}
}

func restBatch(project string, inputs []map[string]any, artifacts ...string) map[string]any {
	tasks := []map[string]any{}
	for _, id := range artifacts {
		tasks = append(tasks, map[string]any{
			"artifact_id": id, "generator": "hls-generator", "status": "pending", "task_id": TaskID, "description": "Generate " + id, "inputs": inputs,
		})
	}
	return map[string]any{"project_id": project, "tasks": tasks}
}

// queue adds tasks for artifacts and returns their ids.
func queue(t *engine.Trial, c *restClient, project string, artifacts ...string) []string {
	r, err := c.do(t.Ctx, http.MethodPost, "/tasks/batch", restBatch(project, restInputs("PRD-006"), artifacts...))
	ids := r.list("task_ids")
	if err != nil || r.status != http.StatusCreated || len(ids) != len(artifacts) {
		t.Stop(fmt.Errorf("POST /tasks/batch: %s", r.describe(err)))
	}
	return ids
}

func (c *restClient) setStatus(t *engine.Trial, id, status string) (restReply, error) {
	return c.do(t.Ctx, http.MethodPut, "/tasks/"+id+"/status", map[string]any{"status": status, "completion_notes": "notes: größe"})
}

func runTaskNext(t *engine.Trial, c *restClient) {
	project := newProject(t)
	artifacts := []string{unusedID(t, "HLS"), unusedID(t, "HLS")}
	var ids []string
	for i, p := range []string{newProject(t), project, project} {
		got := queue(t, c, p, []string{unusedID(t, "HLS"), artifacts[0], artifacts[1]}[i])
		ids = append(ids, got...)
	}
	r, err := c.do(t.Ctx, http.MethodGet, "/tasks/next?project="+project, nil)
	task := r.member("task")
	t.Check("S0-TASKAPI-01/oldest", err == nil && r.status == http.StatusOK && rawjson.Text(task["task_id"]) == ids[1] && rawjson.Text(task["artifact_id"]) == artifacts[0],
		"200 with "+ids[1], "%s", r.describe(err))
	t.NoError(err)
	missing := missingMembers(task, "task_id", "project_id", "artifact_id", "generator", "status", "description", "inputs_json", "created_at")
	t.Check("S0-TASKAPI-01/members", missing == "" && rawjson.Text(task["status"]) == "pending", "the members of a pending task", "no %s in %s", missing, r.describe(nil))
	r, err = c.do(t.Ctx, http.MethodGet, "/tasks/next?project="+newProject(t), nil)
	t.Check("S0-TASKAPI-02", err == nil && r.status == http.StatusOK && string(r.members["task"]) == "null" && string(r.members["success"]) == "true" &&
		rawjson.Text(r.members["message"]) == "No pending tasks for project", `200 with task null and "No pending tasks for project"`, "%s", r.describe(err))
	r, err = c.do(t.Ctx, http.MethodGet, "/tasks/next", nil)
	t.Check("S0-TASKAPI-03", r.says(err, http.StatusBadRequest, "Missing required parameter: project"), `400 "Missing required parameter: project"`, "%s", r.describe(err))
	t.NoError(err)
}

func runTaskStatus(t *engine.Trial, c *restClient) {
	project := newProject(t)
	ids := queue(t, c, project, unusedID(t, "HLS"))
	const transition = "Invalid status transition"
	r, err := c.setStatus(t, ids[0], "completed")
	t.Check("S0-TASKAPI-05/skip", r.says(err, http.StatusBadRequest, transition), "400 "+transition, "%s", r.describe(err))
	r, err = c.setStatus(t, ids[0], "mainstay-no-such-status")
	t.Check("S0-TASKAPI-05/unknown", r.says(err, http.StatusBadRequest, ""), "400", "%s", r.describe(err))
	r, err = c.do(t.Ctx, http.MethodGet, "/tasks/next?project="+project, nil)
	pending := err == nil && rawjson.Text(r.member("task")["task_id"]) == ids[0]

	r, err = c.setStatus(t, ids[0], "in_progress")
	task := r.member("updated_task")
	t.Check("S0-TASKAPI-04/started", err == nil && r.status == http.StatusOK && rawjson.Text(task["status"]) == "in_progress" && rawjson.Text(task["started_at"]) != "",
		"200 with started_at", "%s", r.describe(err))
	r, err = c.setStatus(t, ids[0], "completed")
	task = r.member("updated_task")
	t.Check("S0-TASKAPI-04/completed", err == nil && rawjson.Text(task["status"]) == "completed" && rawjson.Text(task["completed_at"]) != "" && rawjson.Text(task["completion_notes"]) == "notes: größe",
		"completed_at and the notes", "%s", r.describe(err))
	r, err = c.setStatus(t, ids[0], "pending")
	t.Check("S0-TASKAPI-05/back", r.says(err, http.StatusBadRequest, transition), "400 "+transition, "%s", r.describe(err))
	r, err = c.do(t.Ctx, http.MethodGet, "/tasks?project="+project+"&status=completed", nil)
	t.Check("S0-TASKAPI-05/unchanged", err == nil && pending && string(r.members["count"]) == "1", "pending, and later completed", "%s", r.describe(err))
	r, err = c.setStatus(t, "TASK-999999999", "in_progress")
	t.Check("S0-TASKAPI-06", r.says(err, http.StatusNotFound, "Task not found: TASK-999999999"), "404 Task not found: TASK-999999999", "%s", r.describe(err))
	t.NoError(err)
}

// artifactsOf reads the artifacts of a list of tasks, sorted.
func (r restReply) artifactsOf() []string {
	var tasks []restTask
	_ = json.Unmarshal(r.members["tasks"], &tasks) // no list: none
	out := []string{}
	for _, task := range tasks {
		out = append(out, task.ArtifactID)
	}
	slices.Sort(out)
	return out
}

func runTaskList(t *engine.Trial, c *restClient) {
	project, input := newProject(t), unusedID(t, "PRD")
	a, b, other, depends := unusedID(t, "HLS"), unusedID(t, "HLS"), unusedID(t, "HLS"), unusedID(t, "HLS")
	ids := queue(t, c, project, a, b)
	queue(t, c, newProject(t), other)
	if r, err := c.do(t.Ctx, http.MethodPost, "/tasks/batch", restBatch(project, restInputs(input), depends)); err != nil || r.status != http.StatusCreated {
		t.Stop(fmt.Errorf("POST /tasks/batch: %s", r.describe(err)))
	}
	if r, err := c.setStatus(t, ids[1], "in_progress"); err != nil || r.status != http.StatusOK {
		t.Stop(fmt.Errorf("PUT /tasks/…/status: %s", r.describe(err)))
	}
	for _, q := range []struct {
		check, query string
		want         []string
	}{
		{"S0-TASKAPI-07/project", "", []string{a, b, depends}},
		{"S0-TASKAPI-07/status", "&status=in_progress", []string{b}},
		{"S0-TASKAPI-11", "&input_artifact_id=" + input, []string{depends}},
	} {
		r, err := c.do(t.Ctx, http.MethodGet, "/tasks?project="+project+q.query, nil)
		t.Check(q.check, err == nil && r.status == http.StatusOK && slices.Equal(r.artifactsOf(), q.want) && string(r.members["count"]) == fmt.Sprint(len(q.want)),
			fmt.Sprintf("count %d and %v", len(q.want), q.want), "%s", r.describe(err))
	}
}

func runTaskBatch(t *engine.Trial, c *restClient) {
	project := newProject(t)
	first := unusedID(t, "HLS")
	r, err := c.do(t.Ctx, http.MethodPost, "/tasks/batch", restBatch(project, restInputs("PRD-006"), first, unusedID(t, "HLS")))
	ids := r.list("task_ids")
	t.Check("S0-TASKAPI-08/created", err == nil && r.status == http.StatusCreated && string(r.members["tasks_added"]) == "2" && len(ids) == 2 && string(r.members["success"]) == "true",
		"201 with tasks_added 2", "%s", r.describe(err))
	t.NoError(err)
	more := queue(t, c, newProject(t), first)
	t.Check("S0-TASKAPI-08/unique", distinct(append(ids, more...)), "three ids", "%v", append(ids, more...))

	fine := unusedID(t, "HLS")
	r, err = c.do(t.Ctx, http.MethodPost, "/tasks/batch", restBatch(project, restInputs("PRD-006"), fine, "bad id"))
	refused := err == nil && r.status == http.StatusBadRequest
	list, listErr := c.do(t.Ctx, http.MethodGet, "/tasks?project="+project+"&artifact_id="+fine, nil)
	t.Check("S0-TASKAPI-09", refused && listErr == nil && string(list.members["count"]) == "0", "400, and no task", "%s, then %s", r.describe(err), list.describe(listErr))

	r, err = c.do(t.Ctx, http.MethodPost, "/tasks/batch", restBatch(project, restInputs("PRD-006"), first))
	want := "Task validation failed: artifact_id " + first + " already exists in queue"
	t.Check("S0-TASKAPI-10", r.says(err, http.StatusBadRequest, want), "400 "+want, "%s", r.describe(err))
	r, err = c.do(t.Ctx, http.MethodPost, "/tasks/batch", []byte(`{"project_id": "x", "tasks": [`))
	t.Check("S0-TASKAPI-14/malformed", r.says(err, http.StatusBadRequest, ""), "400", "%s", r.describe(err))
	t.NoError(err)
}

func runTaskWorkers(t *engine.Trial, c *restClient) {
	ids := queue(t, c, newProject(t), unusedID(t, "HLS"))
	replies := make([]restReply, 2)
	errs := make([]error, 2)
	var workers sync.WaitGroup
	for i := range replies {
		workers.Go(func() {
			replies[i], errs[i] = c.do(t.Ctx, http.MethodPut, "/tasks/"+ids[0]+"/status", map[string]any{"status": "in_progress", "worker": fmt.Sprintf("worker-%d", i)})
		})
	}
	workers.Wait()
	won, lost := 0, 0
	for i, r := range replies {
		switch {
		case errs[i] != nil:
			t.NoError(errs[i])
			return
		case r.status == http.StatusOK:
			won++
		case r.status == http.StatusConflict || r.status == http.StatusBadRequest:
			lost++
		}
	}
	t.Check("S0-TASKAPI-16", won == 1 && lost == 1, "one 200 and one 409 or 400", "%s; %s", replies[0].describe(nil), replies[1].describe(nil))
}
