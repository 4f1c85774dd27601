package coe

import (
	_ "embed" // the tables
	"errors"
	"math"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The methods of a server that lets a test break it.
const (
	MethodInject = "_test/inject"
	MethodReset  = "_test/reset"
)

// needsFaults is what a server lacks that does not let a test break it.
const needsFaults = "needs a server that serves " + MethodInject

// faultSwitch keeps a table to servers that let a test break them.
func faultSwitch(r *table.Run) (string, error) {
	doc, err := r.Exchange(&table.Step{Tool: MethodInject, Direct: true, Args: table.Members{"clear": false}})
	if err != nil {
		return "", err
	}
	if _, there := table.Lookup(doc, "payload.faults"); !there {
		return needsFaults, nil
	}
	return "", nil
}

// faults are the checks of servers that let a test break them.
//
//go:generate gzip -9nkf faults.txt
//go:embed faults.txt.gz
var faults string

// coeFaultScenarios are about the ways to fail, about the switch for faults, and about an
// emptied plan. They apply to revisions with sessions: where every result has a type, a method
// of no revision has no place (DISC-12).
func coeFaultScenarios() []engine.Scenario {
	all := append(read(faults, faultJudgements, map[string]func(r *table.Run) (string, error){"": faultSwitch}),
		engine.Scenario{ID: "S1-INJ-02", Needs: coeReading(), Run: runInjectRefused},
		engine.Scenario{ID: "S1-NEXT-02", Needs: coeNeeds(ToolDone), Run: runDrain},
	)
	for i := range all {
		all[i].Until = mcp.LatestSession
	}
	return all
}

// faultJudgements are what these tables ask of whole answers, by their words.
var faultJudgements = map[string]func(doc any, kept map[string]any) bool{
	"2 to 6 writes": func(doc any, kept map[string]any) bool {
		n := table.NumberAt(doc, "payload.writes") - table.NumberAt(kept, "writes")
		return n >= 2 && n <= 6
	},
	"-32603 or INTERNAL_ERROR": func(doc any, _ map[string]any) bool {
		return table.NumberAt(doc, "error.code") == wire.CodeInternal || table.TextAt(doc, "payload.error.code") == "INTERNAL_ERROR"
	},
}

func runInjectRefused(t *engine.Trial) {
	s := t.Shared()
	a, err := s.Request(t.Ctx, MethodInject, map[string]any{})
	t.NoError(err)
	if _, armed := table.Lookup(table.Outcome(a), "payload.faults"); armed {
		t.Skip("S1-INJ-02", conformance.SkipControl, "the server was started with the switch on")
		return
	}
	t.Check("S1-INJ-02", a.HasCode(nil, wire.CodeMethodNotFound), "error -32601", "%s", a.Describe())
}

// maxPlan bounds the walk through a plan.
const maxPlan = 200

// runDrain works through the plan of a server that can be set back.
func runDrain(t *engine.Trial) {
	s := t.Shared()
	r := &table.Run{Trial: t, Table: &table.Table{}, Session: s, Kept: map[string]any{"nonce": ""}}
	reset := func() (bool, error) {
		doc, err := r.Exchange(&table.Step{Tool: MethodReset, Direct: true})
		return err == nil && table.TextAt(doc, "error.message") == "" && doc["payload"] != nil, err
	}
	if ok, err := reset(); err != nil || !ok {
		if err == nil {
			r.SkipRest(conformance.SkipControl, "needs a server that serves "+MethodReset)
		}
		t.NoError(err)
		return
	}
	start, err := r.Prepare(ToolNext, nil)
	t.NoError(err)
	order, open, end, err := drain(r, start)
	t.NoError(err)
	t.Check("S1-NEXT-05/drained", order == "", "critical, high, medium, low", "%s", order)
	t.Check("S1-NEXT-07/drained", open == "", "no open dependency", "%s", open)
	next, there := table.Lookup(end, "payload.nextTaskId")
	t.Check("S1-DONE-07/drained", !there || next == nil, "null or absent", "%v", next)
	empty, err := r.Prepare(ToolNext, nil)
	t.NoError(err)
	task, named := table.Lookup(empty, "payload.task")
	ok := named && task == nil && empty["isError"] == false && table.NumberAt(empty, "payload.queueLength") == 0 && len(table.ArrayAt(empty, "payload.nextTasksPreview")) == 0
	if _, there := table.Lookup(empty, "payload.nextTasksPreview"); !there {
		ok = false
	}
	t.Check("S1-NEXT-02/empty", ok, "success, task null, queueLength 0, nextTasksPreview []", "%s", rawjson.Clip(string(rawjson.Encode(empty)), 300))
	if ok, err := reset(); err != nil || !ok {
		t.NoError(errors.Join(err, errors.New("the second reset failed")))
		return
	}
	again, err := r.Prepare(ToolNext, nil)
	t.NoError(err)
	t.Check("S1-TRANS-08/reset", string(rawjson.Encode(again["payload"])) == string(rawjson.Encode(start["payload"])), "the first task of before",
		"%s", rawjson.Clip(string(rawjson.Encode(again)), 300))
}

// drain ends task after task until none is left. It says what was wrong with
// their order and their dependencies, and returns the last answer.
func drain(r *table.Run, doc map[string]any) (order, open string, end map[string]any, err error) {
	rank, unblocked, blocked := 0, false, math.Inf(1)
	for range maxPlan {
		id := table.TextAt(doc, "payload.task.taskId")
		if id == "" {
			return order, open, end, nil
		}
		if got := priorityRank(table.TextAt(doc, "payload.task.priority")); got < rank && !unblocked && order == "" {
			order = id + " comes after a task less urgent"
		} else {
			rank = got
		}
		if n := len(table.ArrayAt(doc, "payload.task.blockedBy")); n > 0 && open == "" {
			open = id + " waits for others"
		}
		if end, err = r.Prepare(ToolDone, table.Members{"taskId": id, "status": "done"}); err != nil {
			return order, open, end, err
		}
		if _, failed := end["error"]; failed {
			return order, open, end, errors.New(ToolDone + ": " + rawjson.Clip(string(rawjson.Encode(end)), 200))
		}
		waiting := table.NumberAt(end, "payload.dashboardUpdate.blockedCount")
		unblocked, blocked = waiting < blocked, waiting
		if doc, err = r.Prepare(ToolNext, nil); err != nil {
			return order, open, end, err
		}
	}
	return order, open, end, errors.New("the plan does not end")
}
