package artifact

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// artifactIDScenarios judge get_next_available_id and reserve_id_range. Each
// counts in a project of its own.
func artifactIDScenarios() []engine.Scenario {
	needs := workflowNeeds()
	return []engine.Scenario{
		{ID: "S0-NEXT-01", Needs: needs, Run: runNextIDs},
		{ID: "S0-NEXT-04", Needs: needs, Run: runNextUnknown},
		{ID: "S0-NEXT-05", Needs: needs, Run: runNextParallel},
		{ID: "S0-RES-01", Needs: needs, Run: runReserve},
		{ID: "S0-RES-02", Needs: needs, Run: runReserveSizes},
		{ID: "S0-RES-03", Needs: needs, Run: runReserveParallel},
		{ID: "S0-RES-04", Needs: needs, Run: runReserveMixed},
		{ID: "S0-NEXT-07", Needs: onServices(), Run: runNextFails},
		{ID: "S0-DEP-01", Needs: needs, Run: runDeprecated},
	}
}

// nextID is the result of get_next_available_id.
type nextID struct {
	Success bool   `json:"success"`
	Type    string `json:"artifact_type"`
	ID      string `json:"next_id"`
}

// reserved is the result of reserve_id_range.
type reserved struct {
	Success     bool     `json:"success"`
	Reservation string   `json:"reservation_id"`
	Type        string   `json:"artifact_type"`
	IDs         []string `json:"reserved_ids"`
}

func nextArguments(kind, project string) map[string]any {
	return map[string]any{"artifact_type": kind, "project_id": project, "task_id": TaskID}
}

func reserveArguments(kind, project string, count any) map[string]any {
	arguments := nextArguments(kind, project)
	arguments["count"] = count
	return arguments
}

func giveNextID(t *engine.Trial, s *wire.Session, kind, project string) (nextID, wire.Answer, error) {
	t.Step(s)
	return called[nextID](t, s, ToolNextID, nextArguments(kind, project))
}

// reserve reserves ids of high-level stories.
func reserve(t *engine.Trial, s *wire.Session, project string, count int) (reserved, wire.Answer, error) {
	t.Step(s)
	return called[reserved](t, s, ToolReserve, reserveArguments("hls", project, count))
}

func runNextIDs(t *engine.Trial) {
	s := t.Shared()
	const kind = "backlog_story"
	project := newProject(t)
	expect := func(check, want string) {
		got, a, err := giveNextID(t, s, kind, project)
		t.Check(check, err == nil && got.Success && got.Type == kind && got.ID == want, fmt.Sprintf("%s of %s", want, kind), "%s", a.OrError(err))
		t.NoError(err)
	}
	skipTo := func(count int) {
		done[reserved](t, s, ToolReserve, reserveArguments(kind, project, count))
	}
	expect("S0-NEXT-02", "US-001")
	skipTo(69)
	expect("S0-NEXT-01/result", "US-071")
	expect("S0-NEXT-01/registry", "US-072")
	other := done[nextID](t, s, ToolNextID, nextArguments(kind, newProject(t)))
	hls := done[nextID](t, s, ToolNextID, nextArguments("hls", project))
	t.Check("S0-NEXT-06", other.ID == "US-001" && hls.ID == "HLS-001", "US-001 and HLS-001", "%s and %s", other.ID, hls.ID)
	for _, count := range []int{100, 100, 100, 100, 100, 100, 100, 100, 100, 27} {
		skipTo(count)
	}
	expect("S0-NEXT-03", "US-1000")
}

func runNextUnknown(t *engine.Trial) {
	s := t.Shared()
	refused(t, s, "S0-NEXT-04/refused", ToolNextID, nextArguments("mainstay_no_such_type", newProject(t)), wire.CodeInvalidParams, "")
	refused(t, s, "S0-NEXT-04/reserve", ToolReserve, reserveArguments("mainstay_no_such_type", newProject(t), 3), wire.CodeInvalidParams, "")
}

// allocated reads the ids of answers of both tools, in their order.
func allocated(answers []wire.Answer) ([]string, error) {
	var ids []string
	for _, a := range answers {
		members, err := a.Payload()
		if err != nil {
			return nil, err
		}
		if id := rawjson.Text(members["next_id"]); id != "" {
			ids = append(ids, id)
			continue
		}
		ids = append(ids, restReply{members: members}.list("reserved_ids")...)
	}
	return ids, nil
}

// inOrder sorts ids by their numbers.
func inOrder(ids []string) []string {
	out := slices.Clone(ids)
	slices.SortFunc(out, engine.Compare)
	return out
}

func repeated(n int, arguments map[string]any) []map[string]any {
	return slices.Repeat([]map[string]any{arguments}, n)
}

func runNextParallel(t *engine.Trial) {
	s := t.Shared()
	answers := together(t, s, ToolNextID, repeated(50, nextArguments("task", newProject(t)))...)
	ids, err := allocated(answers)
	sorted := inOrder(ids)
	t.Check("S0-NEXT-05", err == nil && len(sorted) == 50 && inRow(sorted, "TASK") && sorted[0] == "TASK-001", "TASK-001 to TASK-050", "%v %v", err, sorted)
}

// UUIDText is a UUID as everybody writes it.
var UUIDText = lazyregexp.New(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func runReserve(t *engine.Trial) {
	s := t.Shared()
	project := newProject(t)
	if _, a, err := reserve(t, s, project, 11); err != nil {
		t.Fail("S0-RES-01/ids", "a range", "%s", a.OrError(err))
		t.Stop(err)
	}
	got, a, err := reserve(t, s, project, 3)
	t.Check("S0-RES-01/ids", err == nil && slices.Equal(got.IDs, []string{"HLS-012", "HLS-013", "HLS-014"}), "HLS-012 to HLS-014", "%s", a.OrError(err))
	t.Check("S0-RES-01/result", err == nil && got.Success && got.Type == "hls" && UUIDText.MatchString(strings.ToLower(got.Reservation)),
		`success, a UUID and "hls"`, "%s", a.OrError(err))
	t.NoError(err)
}

func runReserveSizes(t *engine.Trial) {
	s := t.Shared()
	project := newProject(t)
	for _, c := range []struct {
		check  string
		counts []any
	}{{"S0-RES-02/outside", []any{0, 101, -1}}, {"S0-RES-02/type", []any{1.5, "3"}}} {
		odd := ""
		for _, count := range c.counts {
			t.Step(s)
			a, err := t.Call(s, ToolReserve, reserveArguments("hls", project, count))
			t.NoError(err)
			if !a.HasCode(nil, wire.CodeInvalidParams) {
				odd = fmt.Sprintf("count %v: %s", count, a.Describe())
			}
		}
		t.Check(c.check, odd == "", "error -32602", "%s", odd)
	}
	one, a, err := reserve(t, s, project, 1)
	if err == nil {
		var hundred reserved
		hundred, a, err = reserve(t, s, project, 100)
		t.Check("S0-RES-02/inside", err == nil && len(one.IDs) == 1 && len(hundred.IDs) == 100, "1 id and 100 ids", "%s", a.OrError(err))
	} else {
		t.Fail("S0-RES-02/inside", "1 id", "%s", a.OrError(err))
	}
}

func runReserveParallel(t *engine.Trial) {
	s := t.Shared()
	project := newProject(t)
	answers := together(t, s, ToolReserve, repeated(5, reserveArguments("hls", project, 6))...)
	broken := ""
	for _, a := range answers {
		ids, err := allocated([]wire.Answer{a})
		if err != nil || len(ids) != 6 || !inRow(ids, "HLS") {
			broken = fmt.Sprintf("%v %v", err, ids)
		}
	}
	ids, err := allocated(answers)
	if broken == "" && (err != nil || !distinct(ids)) {
		broken = fmt.Sprint(inOrder(ids))
	}
	t.Check("S0-RES-03/ranges", broken == "", "5 ranges of 6 in a row, disjoint", "%s", broken)
	next, a, err := giveNextID(t, s, "hls", project)
	t.Check("S0-RES-03/counter", err == nil && next.ID == "HLS-031", "HLS-031", "%s", a.OrError(err))
}

func runReserveMixed(t *engine.Trial) {
	s := t.Shared()
	project := newProject(t)
	sent := map[string]bool{}
	for i := range 20 {
		tool, arguments := ToolNextID, nextArguments("prd", project)
		if i%2 == 1 {
			tool, arguments = ToolReserve, reserveArguments("prd", project, 3)
		}
		id, err := s.Post(t.Ctx, mcp.MethodToolsCall, engine.CallParams(tool, arguments))
		t.NoError(err)
		sent[id] = true
	}
	var answers []wire.Answer
	for id := range sent {
		a, err := s.Await(t.Ctx, id)
		t.NoError(err)
		answers = append(answers, a)
	}
	ids, err := allocated(answers)
	t.Check("S0-RES-04", err == nil && len(ids) == 40 && inRow(inOrder(ids), "PRD"), "40 ids, each once", "%v %v", err, inOrder(ids))
}

func runNextFails(t *engine.Trial) {
	s, services := playing(t, breaking("GET /ids/next", restRefusal(http.StatusInternalServerError, httpBody)))
	a, err := t.Call(s, ToolNextID, nextArguments("prd", newProject(t)))
	t.Check("S0-NEXT-07/error", saysCode(a, err, wire.CodeInternal, "Internal error"), `error -32603 "Internal error: …"`, "%s", a.OrError(err))
	t.NoError(err)
	n := len(services.requests("GET /ids/next"))
	t.Check("S0-NEXT-07/once", n == 1, "1 request", "%d", n)
	for _, c := range []struct {
		check, tool string
		arguments   map[string]any
	}{
		{"S0-NEXT-04/no-request", ToolNextID, nextArguments("mainstay_no_such_type", newProject(t))},
		{"S0-RES-02/no-request", ToolReserve, reserveArguments("prd", newProject(t), 101)},
	} {
		services.begin(nil)
		t.Step(s)
		_, err := t.Call(s, c.tool, c.arguments)
		t.NoError(err)
		all := services.requests("")
		t.Check(c.check, len(all) == 0, "no request", "%s", describeRequests(all))
	}
}

func runDeprecated(t *engine.Trial) {
	const old = "resolve_artifact_path"
	s := t.Shared()
	i := slices.IndexFunc(t.Rev.Tools, func(tool wire.Tool) bool { return tool.Name == old })
	description := "not listed"
	if i >= 0 {
		description = rawjson.Text(t.Rev.Tools[i].Members["description"])
	}
	t.Check("S0-DEP-01/list", i < 0 || strings.Contains(strings.ToLower(description), "deprecated"), "no such tool, or one that is deprecated", "%s", rawjson.Clip(description, 200))
	a, err := t.Call(s, old, map[string]any{})
	ok := a.HasCode(err, wire.CodeInvalidParams) && (i < 0 || saysCode(a, err, wire.CodeInvalidParams, ToolApprove))
	t.Check("S0-DEP-01/call", ok, "error -32602", "%s", a.OrError(err))
	t.NoError(err)
}
