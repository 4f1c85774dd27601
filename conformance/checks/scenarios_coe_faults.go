package checks

import (
	"errors"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The methods of a server that lets a test break it (tools.md §3.4).
const (
	methodInject = "_test/inject"
	methodReset  = "_test/reset"
)

// needsFaults is what a server lacks that does not let a test break it.
const needsFaults = "needs a server that serves " + methodInject

// faultSwitch keeps a table to servers that let a test break them.
func faultSwitch(r *tableRun) (string, error) {
	doc, err := r.exchange(&step{tool: methodInject, direct: true, args: members{"clear": false}})
	if err != nil {
		return "", err
	}
	if _, there := lookup(doc, "payload.faults"); !there {
		return needsFaults, nil
	}
	return "", nil
}

// arm arms a fault.
func arm(tool, kind string, times int, more members) step {
	return step{tool: methodInject, direct: true, args: members{"tool": tool, "kind": kind, "times": times}.with(more), want: wants(has("payload.faults"))}
}

// disarm forgets all faults.
func disarm() step {
	return step{tool: methodInject, direct: true, args: members{"clear": true}, want: wants(has("payload.faults"))}
}

// coeFaultScenarios are the rows of tools.md §3.4, for servers that let a test
// break them, and what stands on an emptied plan.
func coeFaultScenarios() []conformance.Scenario {
	ticket := members{"title": "suite $nonce", "type": "bug"}
	list := []table{
		coeTable("S1-NEXT-11", "a queue that is not there", coeNeeds(),
			arm(toolNext, "unavailable", 1, nil),
			step{word: "code", title: "getNextTask answers 503", tool: toolNext, want: numeric(503)},
			step{word: "back", title: "it works again when the queue is back", tool: toolNext, want: succeeds(has("payload.task"))},
		),
		coeTable("S1-ERR-01-500", "a failure within a tool of v1.0", coeNeeds(toolDone),
			arm(toolDone, "internal", 1, nil),
			step{req: "S1-ERR-01", word: "500", title: "it is answered with 500", tool: toolDone, args: members{"taskId": "$task", "status": "done"}, want: numeric(500)},
			step{req: "S1-ERR-01", word: "500-again", title: "it has changed nothing", tool: toolDone, args: members{"taskId": "$task", "status": "done"}, want: succeeds(is("payload.status", "done"))},
		),
		coeTable("S1-STAT-05", "a cascade that breaks in the middle", coeNeeds(toolStatus, toolTicket, toolTestFailure),
			step{tool: toolTestFailure, args: failureOf("$task"), want: succeeds(), keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"}},
			step{tool: toolTicket, args: members{"title": "investigate $nonce", "type": "investigation", "task_id": "$blocker"}, want: succeeds()},
			arm(toolStatus, "unblock", 1, nil),
			step{
				word: "envelope", title: "it is INTERNAL_ERROR with a cascade of 0 and 0", tool: toolStatus, args: members{"task_id": "$blocker", "status": "done"},
				want: envelope("INTERNAL_ERROR", is("payload.cascaded.ticketsResolved", 0), is("payload.cascaded.tasksUnblocked", 0)),
			},
			step{
				req: "S1-ERR-04", word: "internal", title: "INTERNAL_ERROR is CRITICAL, not retryable, P1_BLOCKED and logged as ERROR",
				want: defaults("CRITICAL", false, "P1_BLOCKED", "ERROR"),
			},
			step{
				req: "S1-STAT-06", word: "again", title: "everything was undone: the same report again resolves 1 and unblocks 1", tool: toolStatus,
				args: members{"task_id": "$blocker", "status": "done"},
				want: succeeds(is("payload.cascaded.ticketsResolved", 1), is("payload.cascaded.tasksUnblocked", 1)),
			},
		),
		coeTable("S1-TICKET-03", "a database that is locked for a while", coeNeeds(toolTicket),
			arm(toolTicket, "db_locked", 3, nil),
			step{tool: methodInject, direct: true, want: wants(has("payload.writes")), keep: map[string]string{"writes": "payload.writes"}},
			step{word: "success", title: "after three busy errors the ticket is created", tool: toolTicket, args: ticket, want: succeeds(like("payload.ticket.id", `^TK-\d{3,}$`))},
			step{word: "writes", title: "it took four writes", tool: methodInject, direct: true, want: wants(more("payload.writes", "writes", 4))},
		),
		coeTable("S1-TICKET-04", "a database that stays locked", coeNeeds(toolTicket),
			arm(toolTicket, "db_locked", 0, nil),
			step{tool: methodInject, direct: true, want: wants(has("payload.writes")), keep: map[string]string{"writes": "payload.writes"}},
			step{
				word: "envelope", title: "it is DB_LOCKED, retryable after 2 s", tool: toolTicket, args: ticket,
				want: envelope("DB_LOCKED", is("payload.error.retryable", true), is("payload.error.retry_after_seconds", 2)),
			},
			step{req: "S1-ERR-04", word: "locked", title: "DB_LOCKED is MEDIUM, retryable, P2_DELAYED and logged as WARN", want: defaults("MEDIUM", true, "P2_DELAYED", "WARN")},
			step{word: "retries", title: "it was tried at most five times more", tool: methodInject, direct: true, want: wants(that("2 to 6 writes", func(doc any, kept map[string]any) bool {
				n := numberAt(doc, "payload.writes") - numberAt(kept, "writes")
				return n >= 2 && n <= 6
			}))},
			disarm(),
		),
		coeTable("S1-TICKET-05", "a database that is gone", coeNeeds(toolTicket),
			arm(toolTicket, "db_down", 1, nil),
			step{
				word: "envelope", title: "it is RESOURCE_NOT_FOUND, retryable, with a fallback", tool: toolTicket, args: ticket,
				want: envelope("RESOURCE_NOT_FOUND", is("payload.error.retryable", true), is("payload.error.fallback_suggested", true)),
			},
			disarm(),
			step{word: "back", title: "tickets are created again when it is back", tool: toolTicket, args: members{"title": "after $nonce"}, want: succeeds(is("payload.success", true))},
		),
		coeTable("S1-IMM-02", "an answer that comes too late", coeReading(toolImmediate),
			arm(toolImmediate, "delay", 1, members{"delay": "35s"}),
			step{
				word: "timeout", title: "after max_wait_seconds it is TIMEOUT, HIGH and not retryable", tool: toolImmediate, args: members{"query": plannedQuestion, "max_wait_seconds": 1},
				want: envelope("TIMEOUT", is("payload.error.severity", "HIGH"), is("payload.error.retryable", false)),
			},
			step{word: "members", title: "answer, source and timeout stand beside the envelope", want: wants(is("payload.answer", ""), isNull("payload.source"), is("payload.timeout", true))},
		),
		coeTable("X-SEC-03", "a bug in a tool", coeNeeds(toolTicket),
			arm(toolNext, "panic", 1, nil),
			step{word: "numeric", title: "a panic is answered with -32603", tool: toolNext, want: rpcCode(wire.CodeInternal)},
			arm(toolTicket, "panic", 1, nil),
			step{word: "envelope", title: "a panic in a later tool is answered with -32603 or INTERNAL_ERROR", tool: toolTicket, args: ticket, want: wants(that("-32603 or INTERNAL_ERROR", func(doc any, _ map[string]any) bool {
				return numberAt(doc, "error.code") == wire.CodeInternal || textAt(doc, "payload.error.code") == "INTERNAL_ERROR"
			}))},
			step{word: "alive", title: "the server goes on", tool: toolTicket, args: ticket, want: succeeds(is("payload.success", true))},
		),
	}
	for i := range list {
		list[i].suits = faultSwitch
	}
	all := append(tables(list...),
		conformance.Scenario{
			ID: "S1-INJ-02", Area: areaCOE, Title: "the switch for faults", Needs: coeReading(),
			Checks: []conformance.Check{must("S1-INJ-02", "S1-INJ-02", methodInject+" is refused unless it was allowed")},
			Run:    runInjectRefused,
		},
		conformance.Scenario{
			ID: "S1-NEXT-02", Area: areaCOE, Title: "a plan worked through to its end", Needs: coeNeeds(toolDone),
			Checks: []conformance.Check{
				must("S1-NEXT-02/empty", "S1-NEXT-02", "an empty queue is task null, queueLength 0 and no preview"),
				must("S1-NEXT-05/drained", "S1-NEXT-05", "tasks come by priority, unless a dependency was cleared by the one before"),
				must("S1-NEXT-07/drained", "S1-NEXT-07", "none of them has an open dependency"),
				must("S1-DONE-07/drained", "S1-DONE-07", "nextTaskId is null or absent when nothing is left"),
				must("S1-TRANS-08/reset", "S1-TRANS-08", "a reset brings the plan back to where it started"),
			},
			Run: runDrain,
		},
	)
	for i := range all { // a method of no revision has no place where every result has a type (DISC-12)
		all[i].Until = mcp.LatestSession
	}
	return all
}

func runInjectRefused(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	a, err := s.Request(t.Ctx, methodInject, map[string]any{})
	if err != nil {
		return err
	}
	if _, armed := lookup(outcomeOf(a), "payload.faults"); armed {
		t.Skip("S1-INJ-02", conformance.SkipControl, "the server was started with the switch on")
		return nil
	}
	t.Check("S1-INJ-02", a.HasCode(nil, wire.CodeMethodNotFound), "error -32601", "%s", a.Describe())
	return nil
}

// maxPlan bounds the walk through a plan.
const maxPlan = 200

// runDrain works through the plan of a server that can be set back.
func runDrain(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	r := &tableRun{Trial: t, table: &table{}, s: s, kept: map[string]any{"nonce": ""}}
	reset := func() (bool, error) {
		doc, err := r.exchange(&step{tool: methodReset, direct: true})
		return err == nil && textAt(doc, "error.message") == "" && doc["payload"] != nil, err
	}
	if ok, err := reset(); err != nil || !ok {
		if err == nil {
			r.skipRest(conformance.SkipControl, "needs a server that serves "+methodReset)
		}
		return err
	}
	start, err := r.prepare(toolNext, nil)
	if err != nil {
		return err
	}
	order, open, end, err := r.drain(start)
	if err != nil {
		return err
	}
	t.Check("S1-NEXT-05/drained", order == "", "critical, high, medium, low", "%s", order)
	t.Check("S1-NEXT-07/drained", open == "", "no open dependency", "%s", open)
	next, there := lookup(end, "payload.nextTaskId")
	t.Check("S1-DONE-07/drained", !there || next == nil, "null or absent", "%v", next)
	empty, err := r.prepare(toolNext, nil)
	if err != nil {
		return err
	}
	task, named := lookup(empty, "payload.task")
	ok := named && task == nil && empty["isError"] == false && numberAt(empty, "payload.queueLength") == 0 && len(arrayAt(empty, "payload.nextTasksPreview")) == 0
	if _, there := lookup(empty, "payload.nextTasksPreview"); !there {
		ok = false
	}
	t.Check("S1-NEXT-02/empty", ok, "success, task null, queueLength 0, nextTasksPreview []", "%s", rawjson.Clip(string(rawjson.Encode(empty)), 300))
	if ok, err := reset(); err != nil || !ok {
		return errors.Join(err, errors.New("the second reset failed"))
	}
	again, err := r.prepare(toolNext, nil)
	if err != nil {
		return err
	}
	t.Check("S1-TRANS-08/reset", string(rawjson.Encode(again["payload"])) == string(rawjson.Encode(start["payload"])), "the first task of before",
		"%s", rawjson.Clip(string(rawjson.Encode(again)), 300))
	return nil
}

// drain ends task after task until none is left. It says what was wrong with
// their order and their dependencies, and returns the last answer.
func (r *tableRun) drain(doc map[string]any) (order, open string, end map[string]any, err error) {
	rank, unblocked := 0, false
	for range maxPlan {
		id := textAt(doc, "payload.task.taskId")
		if id == "" {
			return order, open, end, nil
		}
		if got := priorityRank(textAt(doc, "payload.task.priority")); got < rank && !unblocked && order == "" {
			order = id + " comes after a task less urgent"
		} else {
			rank = got
		}
		if n := len(arrayAt(doc, "payload.task.blockedBy")); n > 0 && open == "" {
			open = id + " waits for others"
		}
		if end, err = r.prepare(toolDone, members{"taskId": id, "status": "done"}); err != nil {
			return order, open, end, err
		}
		if _, failed := end["error"]; failed {
			return order, open, end, errors.New(toolDone + ": " + rawjson.Clip(string(rawjson.Encode(end)), 200))
		}
		ready := numberAt(doc, "payload.queueLength")
		if doc, err = r.prepare(toolNext, nil); err != nil {
			return order, open, end, err
		}
		unblocked = numberAt(doc, "payload.queueLength") >= ready
	}
	return order, open, end, errors.New("the plan does not end")
}
