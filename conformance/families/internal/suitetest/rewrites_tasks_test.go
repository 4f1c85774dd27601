package suitetest

import (
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/checks/tasks"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// tasked has a rewritten server be one whose calls become tasks.
func tasked(r rewritten) rewritten {
	r.server = serveTasks
	return r
}

// taskChanged changes the results of a method of tasks.
func taskChanged(method string, change func(result reply)) rewritten {
	return tasked(changed(method, func(_ fakeMessage, result reply) { change(result) }))
}

// taskMade changes the tasks that calls become, in either form.
func taskMade(change func(task reply)) rewritten {
	return taskChanged(mcp.MethodToolsCall, func(result reply) {
		if task, ok := result["task"].(reply); ok {
			change(task)
		} else if result["resultType"] == "task" {
			change(result)
		}
	})
}

// notFound answers a method as if every task were there.
func notFound(method string) rewritten {
	return tasked(servedInstead(asksFor(method)))
}

// renumbered gives tasks ids that count, outside; the server keeps its own.
func renumbered(id func(n int64, made string) string) rewritten {
	var n atomic.Int64
	return taskMade(func(task reply) { task["taskId"] = id(n.Add(1), task["taskId"].(string)) })
}

// relapsing has a task that is over be asked for once, and then be another.
func relapsing(status string) rewritten {
	over := map[any]bool{}
	return tasked(changed(mcp.MethodTasksGet, func(m fakeMessage, result reply) {
		id := m.params["taskId"]
		if over[id] {
			result["status"] = status
		}
		over[id] = over[id] || tasks.IsFinal(result["status"].(string))
	}))
}

func related(task string) reply { return reply{mcp.MetaRelatedTask: reply{"taskId": task}} }

func coreTaskRewrites() map[string]rewritten {
	const get, result, cancel, list = mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel, mcp.MethodTasksList
	called := func(tool string, as bool) func(m fakeMessage) bool {
		return func(m fakeMessage) bool { return m.call == tool && (m.params["task"] != nil) == as }
	}
	done := func(m fakeMessage) []any { return []any{(&fakeTask{}).outcome(m.id, "")} }
	running := func(when func(m fakeMessage) bool) rewritten {
		return tasked(rewritten{first: func(m fakeMessage) ([]any, bool) { return done(m), m.id != nil && when(m) }})
	}
	all := map[string]rewritten{
		"TASK-01/created":     running(called("work", true)),
		"TASK-01/working":     taskMade(func(task reply) { task["status"] = "submitted" }),
		"TASK-01/times":       taskMade(func(task reply) { task["createdAt"] = "yesterday" }),
		"TASK-01/ttl":         taskMade(func(task reply) { delete(task, "ttl") }),
		"TASK-01/unique":      renumbered(func(int64, string) string { return "the-task-there-is-of-mine" }),
		"TASK-01/unguessable": renumbered(func(n int64, _ string) string { return "task-" + strconv.FormatInt(n, 10) }),

		"TASK-02/get":  taskChanged(get, func(task reply) { task["taskId"] = "another" }),
		"TASK-02/ttl":  taskChanged(get, func(task reply) { task["ttl"] = "1 min" }),
		"TASK-02/path": taskChanged(get, func(task reply) { task["status"] = "running" }),
		"TASK-02/times": taskChanged(get, func(task reply) {
			task["createdAt"] = "2020-01-01T00:00:00Z"
		}),
		"TASK-02/final": relapsing("working"),
		"TASK-02/meta": taskChanged(get, func(task reply) {
			task["_meta"] = related(task["taskId"].(string))
		}),
		"TASK-02/parameter": tasked(rewritten{first: func(m fakeMessage) ([]any, bool) {
			return []any{failure(m.id, wire.CodeInvalidParams, "Task not found", nil)}, m.method == get && metaOf(m)[mcp.MetaRelatedTask] != nil
		}}),
		"TASK-02/unknown": notFound(get),

		"TASK-03/blocks":  running(asksFor(result)),
		"TASK-03/result":  taskChanged(result, func(r reply) { delete(r, "content") }),
		"TASK-03/same":    tasked(rewritten{first: func(m fakeMessage) ([]any, bool) { return done(m), called("fails", false)(m) }}),
		"TASK-03/unknown": notFound(result),
		"META-09/result":  taskChanged(result, func(r reply) { r["_meta"] = related("another") }),
		"TASK-05/failed": taskChanged(get, func(task reply) {
			task["status"] = map[bool]any{true: "completed", false: task["status"]}[task["status"] == "failed"]
		}),
		"META-09/asks":    tasked(noting(mcp.MethodElicitationCreate, func(params reply) { delete(params, "_meta") })),
		"META-09/status":  tasked(noting(mcp.MethodTasksStatus, func(params reply) { params["_meta"] = related(params["taskId"].(string)) })),
		"TASK-02/resumes": tasked(rewritten{line: func(line []byte) ([]any, bool) { return nil, wire.Received(line, nil).IsResponse() }}),

		"TASK-04/cancelled": taskChanged(cancel, func(task reply) { task["status"] = "working" }),
		"TASK-04/again":     notFound(cancel),
		"TASK-04/unknown":   notFound(cancel),
		"TASK-04/over":      notFound(cancel),
		"TASK-04/result": tasked(rewritten{first: func(m fakeMessage) ([]any, bool) {
			return []any{failure(m.id, wire.CodeMethodNotFound, "Method not found", nil)}, m.method == result
		}}),
		"TASK-04/stays": taskChanged(get, func(task reply) {
			if task["status"] == "cancelled" {
				task["status"] = "completed"
			}
		}),
		"TASK-04/listed":       taskChanged(list, func(r reply) { r["tasks"] = r["tasks"].([]any)[1:] }),
		"TASK-04/list-ends":    taskChanged(list, func(r reply) { r["nextCursor"] = "0" }),
		"TASK-04/list-entries": taskChanged(list, func(r reply) { delete(r["tasks"].([]any)[0].(reply), "createdAt") }),
		"TASK-04/list-cursor":  notFound(list),

		"TOOL-14/values": taskChanged(mcp.MethodToolsList, func(r reply) {
			r["tools"].([]any)[0].(reply)["execution"] = reply{"taskSupport": "sometimes"}
		}),
		"TOOL-14/required":  running(called("only", false)),
		"TOOL-14/forbidden": running(called("plain", true)),
		"TOOL-14/ignored": {first: func(m fakeMessage) ([]any, bool) {
			return []any{failure(m.id, wire.CodeMethodNotFound, "no tasks", nil)}, m.call != "" && m.params["task"] != nil
		}},
	}
	n := 0
	all["TASK-03/again"] = taskChanged(result, func(r reply) {
		n++
		r["content"] = []any{reply{"type": "text", "text": fmt.Sprint(n)}}
	})
	all["TASK-02/input"] = taskChanged(get, func(task reply) {
		if task["status"] == "input_required" {
			task["status"] = "working"
		}
	})
	// It asks when it is asked for anything, so that nobody has to wait for it.
	asking := all["TASK-02/input"]
	asking.first = func(m fakeMessage) ([]any, bool) {
		if m.method != get {
			return nil, false
		}
		return []any{
			reply{"jsonrpc": "2.0", "id": "question", "method": mcp.MethodElicitationCreate, "params": (&fakeTask{}).question()["params"]},
			success(m.id, reply{
				"taskId": m.params["taskId"], "status": "completed", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": nil,
			}),
		}, true
	}
	all["TASK-02/input"] = asking
	return all
}

func extensionTaskRewrites() map[string]rewritten {
	const get, update, cancel, listen = mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel, mcp.MethodSubscriptionsListen
	const missing = mcp.CodeMissingRequiredClientCapability
	undeclaredIs := func(code float64, when func(m fakeMessage) bool) rewritten {
		return tasked(failing(missing, func(m fakeMessage, e reply) {
			if when(m) {
				e["code"] = code
			}
		}))
	}
	news := func(change func(params reply)) rewritten { return tasked(noting(mcp.MethodTasks, change)) }
	empty := func(method string) rewritten {
		return taskChanged(method, func(r reply) { r["taskId"] = "some" })
	}
	inputs := func(change func(requests reply)) rewritten {
		return taskChanged(get, func(task reply) {
			if requests, ok := task["inputRequests"].(reply); ok {
				change(requests)
			}
		})
	}
	all := map[string]rewritten{
		"TASK-06/call": tasked(rewritten{first: func(m fakeMessage) ([]any, bool) {
			tasks, _ := takes(m)
			state := (&fakeTask{id: "0123456789abcdef0123456789abcdef"}).state(true)
			state["resultType"] = "task"
			return []any{success(m.id, state)}, m.call == "work" && !tasks
		}}),
		"TASK-06/needed": undeclaredIs(wire.CodeInvalidRequest, asksFor(mcp.MethodToolsCall)),
		"TASK-06/get":    undeclaredIs(wire.CodeInvalidParams, asksFor(get)),
		"TASK-06/update": undeclaredIs(wire.CodeInvalidParams, asksFor(update)),
		"TASK-06/cancel": undeclaredIs(wire.CodeInvalidParams, asksFor(cancel)),
		"TASK-06/listen": undeclaredIs(wire.CodeInvalidParams, asksFor(listen)),
		"TASK-06/data": tasked(failing(missing, func(_ fakeMessage, e reply) {
			e["data"] = reply{"requiredCapabilities": []any{mcp.ExtensionTasks}}
		})),

		"TASK-07/flat":        taskMade(func(task reply) { task["status"] = "queued" }),
		"TASK-07/times":       taskMade(func(task reply) { task["lastUpdatedAt"] = 17 }),
		"TASK-07/ttl":         taskMade(func(task reply) { task["ttlMs"] = "1 min" }),
		"TASK-07/durable":     tasked(refusedInstead(asksFor(get))),
		"TASK-07/unique":      renumbered(func(int64, string) string { return "the-task-there-is-of-mine" }),
		"TASK-07/unguessable": renumbered(func(n int64, _ string) string { return "task-" + strconv.FormatInt(n, 10) }),

		"TASK-08/get":            taskChanged(get, func(task reply) { task["taskId"] = "another" }),
		"TASK-13/complete":       taskChanged(get, func(task reply) { task["resultType"] = "task" }),
		"TASK-08/path":           relapsing("working"),
		"TASK-08/result":         taskChanged(get, func(task reply) { delete(task, "result") }),
		"TASK-08/error":          taskChanged(get, func(task reply) { delete(task, "error") }),
		"TASK-08/unknown":        notFound(get),
		"TASK-08/unknown-update": notFound(update),
		"TASK-08/unknown-cancel": notFound(cancel),

		"TASK-09/requests": inputs(func(requests reply) { requests["name"].(reply)["method"] = mcp.MethodRootsList }),
		"TASK-09/ignored": tasked(rewritten{first: func(m fakeMessage) ([]any, bool) {
			responses, _ := m.params["inputResponses"].(map[string]any)
			return []any{failure(m.id, wire.CodeInvalidParams, "who asked?", nil)}, m.method == update && responses["mainstay-nobody-asked"] != nil
		}}),
		"TASK-09/ack": empty(update),
		"TASK-10/ack": empty(cancel),
		"TASK-10/path": taskChanged(get, func(task reply) {
			if task["status"] == "cancelled" {
				task["status"] = "cancelling"
			}
		}),

		"TASK-12/agreed": tasked(noting(mcp.MethodSubscriptionsAcknowledged, func(params reply) {
			params["notifications"] = reply{"taskIds": []any{"another"}}
		})),
		"TASK-12/whole": news(func(params reply) { delete(params, "result") }),
		"TASK-12/only": tasked(rewritten{note: func(n reply) []any {
			params, _ := n["params"].(reply)
			if n["method"] != mcp.MethodTasks {
				return []any{n}
			}
			return []any{reply{"jsonrpc": "2.0", "method": mcp.MethodMessage, "params": reply{"level": "info", "data": "busy", "_meta": params["_meta"]}}, n}
		}}),
	}
	n := 0
	all["TASK-09/keys"] = inputs(func(requests reply) {
		n++
		requests["name"].(reply)["params"].(reply)["message"] = fmt.Sprint("Question ", n)
	})
	last, gone := map[any]reply{}, map[any]bool{}
	all["TASK-09/answered"] = tasked(changed(get, func(m fakeMessage, task reply) {
		id := m.params["taskId"]
		if task["status"] == "input_required" {
			last[id] = maps.Clone(task)
		} else if waiting := last[id]; waiting != nil {
			clear(task)
			maps.Copy(task, waiting)
			if !gone[id] {
				task["status"] = "working"
				delete(task, "inputRequests")
			}
			gone[id] = true
		}
	}))
	return all
}
