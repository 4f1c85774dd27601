package coe

import (
	"errors"
	"math"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/table"
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

// arm arms a fault.
func arm(tool, kind string, times int, more table.Members) table.Step {
	return table.Step{Tool: MethodInject, Direct: true, Args: table.Members{"tool": tool, "kind": kind, "times": times}.With(more), Want: table.Wants(table.Has("payload.faults"))}
}

// disarm forgets all faults.
func disarm() table.Step {
	return table.Step{Tool: MethodInject, Direct: true, Args: table.Members{"clear": true}, Want: table.Wants(table.Has("payload.faults"))}
}

// coeFaultScenarios are the ways to fail of servers that let a test
// break them, and what stands on an emptied plan.
func coeFaultScenarios() []engine.Scenario {
	ticket := table.Members{"title": "suite $nonce", "type": "bug"}
	list := []table.Table{
		coeTable("S1-NEXT-11", "a queue that is not there", coeNeeds(),
			arm(ToolNext, "unavailable", 1, nil),
			table.Step{Word: "code", Title: "getNextTask answers 503", Tool: ToolNext, Want: numeric(503)},
			table.Step{Word: "back", Title: "it works again when the queue is back", Tool: ToolNext, Want: table.Succeeds(table.Has("payload.task"))},
		),
		coeTable("S1-ERR-01-500", "a failure within a tool of v1.0", coeNeeds(ToolDone),
			arm(ToolDone, "internal", 1, nil),
			table.Step{Requirement: "S1-ERR-01", Word: "500", Title: "it is answered with 500", Tool: ToolDone, Args: table.Members{"taskId": "$task", "status": "done"}, Want: numeric(500)},
			table.Step{Requirement: "S1-ERR-01", Word: "500-again", Title: "it has changed nothing", Tool: ToolDone, Args: table.Members{"taskId": "$task", "status": "done"}, Want: table.Succeeds(table.Is("payload.status", "done"))},
		),
		coeTable("S1-STAT-05", "a cascade that breaks in the middle", coeNeeds(toolStatus, ToolTicket, toolTestFailure),
			table.Step{Tool: toolTestFailure, Args: failureOf("$task"), Want: table.Succeeds(), Keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"}},
			table.Step{Tool: ToolTicket, Args: table.Members{"title": "investigate $nonce", "type": "investigation", "task_id": "$blocker"}, Want: table.Succeeds()},
			arm(toolStatus, "unblock", 1, nil),
			table.Step{
				Word: "envelope", Title: "it is INTERNAL_ERROR with a cascade of 0 and 0", Tool: toolStatus, Args: table.Members{"task_id": "$blocker", "status": "done"},
				Want: envelope("INTERNAL_ERROR", table.Is("payload.cascaded.ticketsResolved", 0), table.Is("payload.cascaded.tasksUnblocked", 0)),
			},
			table.Step{
				Requirement: "S1-ERR-04", Word: "internal", Title: "INTERNAL_ERROR is CRITICAL, not retryable, P1_BLOCKED and logged as ERROR",
				Want: defaults("CRITICAL", false, "P1_BLOCKED", "ERROR"),
			},
			table.Step{
				Requirement: "S1-STAT-06", Word: "again", Title: "everything was undone: the same report again resolves 1 and unblocks 1", Tool: toolStatus,
				Args: table.Members{"task_id": "$blocker", "status": "done"},
				Want: table.Succeeds(table.Is("payload.cascaded.ticketsResolved", 1), table.Is("payload.cascaded.tasksUnblocked", 1)),
			},
		),
		coeTable("S1-TICKET-03", "a database that is locked for a while", coeNeeds(ToolTicket),
			arm(ToolTicket, "db_locked", 3, nil),
			table.Step{Tool: MethodInject, Direct: true, Want: table.Wants(table.Has("payload.writes")), Keep: map[string]string{"writes": "payload.writes"}},
			table.Step{Word: "success", Title: "after three busy errors the ticket is created", Tool: ToolTicket, Args: ticket, Want: table.Succeeds(table.Like("payload.ticket.id", `^TK-\d{3,}$`))},
			table.Step{Word: "writes", Title: "it took four writes", Tool: MethodInject, Direct: true, Want: table.Wants(table.More("payload.writes", "writes", 4))},
		),
		coeTable("S1-TICKET-04", "a database that stays locked", coeNeeds(ToolTicket),
			arm(ToolTicket, "db_locked", 0, nil),
			table.Step{Tool: MethodInject, Direct: true, Want: table.Wants(table.Has("payload.writes")), Keep: map[string]string{"writes": "payload.writes"}},
			table.Step{
				Word: "envelope", Title: "it is DB_LOCKED, retryable after 2 s", Tool: ToolTicket, Args: ticket,
				Want: envelope("DB_LOCKED", table.Is("payload.error.retryable", true), table.Is("payload.error.retry_after_seconds", 2)),
			},
			table.Step{Requirement: "S1-ERR-04", Word: "locked", Title: "DB_LOCKED is MEDIUM, retryable, P2_DELAYED and logged as WARN", Want: defaults("MEDIUM", true, "P2_DELAYED", "WARN")},
			table.Step{Word: "retries", Title: "it was tried at most five times more", Tool: MethodInject, Direct: true, Want: table.Wants(table.That("2 to 6 writes", func(doc any, kept map[string]any) bool {
				n := table.NumberAt(doc, "payload.writes") - table.NumberAt(kept, "writes")
				return n >= 2 && n <= 6
			}))},
			disarm(),
		),
		coeTable("S1-TICKET-05", "a database that is gone", coeNeeds(ToolTicket),
			arm(ToolTicket, "db_down", 1, nil),
			table.Step{
				Word: "envelope", Title: "it is RESOURCE_NOT_FOUND, retryable, with a fallback", Tool: ToolTicket, Args: ticket,
				Want: envelope("RESOURCE_NOT_FOUND", table.Is("payload.error.retryable", true), table.Is("payload.error.fallback_suggested", true)),
			},
			disarm(),
			table.Step{Word: "back", Title: "tickets are created again when it is back", Tool: ToolTicket, Args: table.Members{"title": "after $nonce"}, Want: table.Succeeds(table.Is("payload.success", true))},
		),
		coeTable("S1-IMM-02", "an answer that comes too late", coeReading(toolImmediate),
			arm(toolImmediate, "delay", 1, table.Members{"delay": "35s"}),
			table.Step{
				Word: "timeout", Title: "after max_wait_seconds it is TIMEOUT, HIGH and not retryable", Tool: toolImmediate, Args: table.Members{"query": plannedQuestion, "max_wait_seconds": 1},
				Want: envelope("TIMEOUT", table.Is("payload.error.severity", "HIGH"), table.Is("payload.error.retryable", false)),
			},
			table.Step{Word: "members", Title: "answer, source and timeout stand beside the envelope", Want: table.Wants(table.Is("payload.answer", ""), table.IsNull("payload.source"), table.Is("payload.timeout", true))},
		),
		coeTable("X-SEC-03", "a bug in a tool", coeNeeds(ToolTicket),
			arm(ToolNext, "panic", 1, nil),
			table.Step{Word: "numeric", Title: "a panic is answered with -32603", Tool: ToolNext, Want: table.RPCCode(wire.CodeInternal)},
			arm(ToolTicket, "panic", 1, nil),
			table.Step{Word: "envelope", Title: "a panic in a later tool is answered with -32603 or INTERNAL_ERROR", Tool: ToolTicket, Args: ticket, Want: table.Wants(table.That("-32603 or INTERNAL_ERROR", func(doc any, _ map[string]any) bool {
				return table.NumberAt(doc, "error.code") == wire.CodeInternal || table.TextAt(doc, "payload.error.code") == "INTERNAL_ERROR"
			}))},
			table.Step{Word: "alive", Title: "the server goes on", Tool: ToolTicket, Args: ticket, Want: table.Succeeds(table.Is("payload.success", true))},
		),
	}
	for i := range list {
		list[i].Suits = faultSwitch
	}
	all := append(table.Scenarios(list...),
		engine.Scenario{ID: "S1-INJ-02", Needs: coeReading(), Run: runInjectRefused},
		engine.Scenario{ID: "S1-NEXT-02", Needs: coeNeeds(ToolDone), Run: runDrain},
	)
	for i := range all { // a method of no revision has no place where every result has a type (DISC-12)
		all[i].Until = mcp.LatestSession
	}
	return all
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
