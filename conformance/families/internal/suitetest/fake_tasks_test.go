package suitetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/checks/tasks"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// fakeTasks is a server whose calls become tasks, in both eras. What a task is
// follows from the time, so that nothing runs but answers that wait.
type fakeTasks struct {
	mu      sync.Mutex
	out     io.Writer
	tasks   []*fakeTask
	waiting sync.WaitGroup
	ctx     context.Context
}

// fakeTask is one of its tasks.
type fakeTask struct {
	id, tool  string
	created   time.Time
	asks      bool // for input, which it has not got yet
	cancelled bool
	again     time.Time // when it got its input
}

const (
	fakeWork = 60 * time.Millisecond // how long a task takes
	fakeAsk  = 20 * time.Millisecond // when it asks
	fakePage = 2                     // tasks on a page of the list
)

// fakeTaskTools are its tools and how they support tasks.
var fakeTaskTools = []struct{ name, support string }{
	{"work", "optional"}, {"fails", "optional"}, {"wrong", "optional"}, {"only", "required"}, {"asks", "optional"}, {"plain", "forbidden"},
}

// serveTasks is a healthy server.
func serveTasks(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	f := &fakeTasks{out: out, ctx: ctx}
	defer f.waiting.Wait()
	defer cancel()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if message := wire.Received(bytes.TrimSpace(line), nil); message.IsResponse() {
			f.answered(message.ID())
		} else if m, ok := toFakeMessage(line); ok && m.id != nil {
			f.handle(m)
		}
		if err != nil {
			return nil
		}
	}
}

func (f *fakeTasks) write(message any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.out.Write(append(rawjson.Encode(message), '\n')) // a client that has gone reads nothing
}

// answered takes the answer to the question of a task, which has its id.
func (f *fakeTasks) answered(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, task := range f.tasks {
		if strconv.Quote(task.id) == id && task.asks {
			task.asks, task.again = false, time.Now()
		}
	}
}

func (f *fakeTasks) handle(m fakeMessage) {
	stateless := metaOf(m)[mcp.MetaProtocolVersion] != nil
	answer := f.answer(m, stateless)
	if answer == nil {
		return
	}
	if result, ok := answer["result"].(reply); ok && stateless {
		if result["resultType"] == nil {
			result["resultType"] = "complete"
		}
		result["_meta"] = reply{mcp.MetaServerInfo: reply{"name": "fake tasks", "version": "1"}}
	}
	f.write(answer)
}

// answer returns the answer to a request, nil when it comes later.
func (f *fakeTasks) answer(m fakeMessage, stateless bool) reply {
	switch m.method {
	case mcp.MethodInitialize:
		return success(m.id, reply{
			"protocolVersion": mcp.LatestSession, "serverInfo": reply{"name": "fake tasks", "version": "1"},
			"capabilities": reply{
				"tools": reply{}, "tasks": reply{"list": reply{}, "cancel": reply{}, "requests": reply{"tools": reply{"call": reply{}}}},
				"experimental": reply{"conformance": reply{"sideEffects": "all"}},
			},
		})
	case mcp.MethodDiscover:
		return success(m.id, reply{
			"supportedVersions": []any{mcp.Version2026_07_28}, "ttlMs": 0, "cacheScope": "private",
			"capabilities": reply{
				"tools": reply{}, "extensions": reply{mcp.ExtensionTasks: reply{}},
				"experimental": reply{"conformance": reply{"sideEffects": "all"}},
			},
		})
	case mcp.MethodPing:
		return success(m.id, reply{})
	case mcp.MethodToolsList:
		return success(m.id, f.tools(stateless))
	case mcp.MethodToolsCall:
		return f.call(m, stateless)
	case mcp.MethodSubscriptionsListen:
		return f.listen(m)
	case mcp.MethodTasksList:
		return f.list(m)
	case mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel, mcp.MethodTasksUpdate:
		return f.task(m, stateless)
	}
	return failure(m.id, wire.CodeMethodNotFound, "Method not found", nil)
}

func (f *fakeTasks) tools(stateless bool) reply {
	var tools []any
	for _, tool := range fakeTaskTools {
		entry := reply{"name": tool.name, "inputSchema": reply{"type": "object", "properties": reply{"loud": reply{"type": "boolean"}}}}
		if !stateless {
			entry["execution"] = reply{"taskSupport": tool.support}
		}
		tools = append(tools, entry)
	}
	result := reply{"tools": tools}
	if stateless {
		result["ttlMs"], result["cacheScope"] = 0, "private"
	}
	return result
}

// takes reports whether the client takes tasks, and whether it can be asked.
func takes(m fakeMessage) (tasks, questions bool) {
	declared, _ := metaOf(m)[mcp.MetaClientCapabilities].(map[string]any)
	extensions, _ := declared["extensions"].(map[string]any)
	return extensions[mcp.ExtensionTasks] != nil, declared["elicitation"] != nil
}

func undeclared32021(m fakeMessage) reply {
	return failure(m.id, mcp.CodeMissingRequiredClientCapability, "Missing required client capability",
		reply{"requiredCapabilities": reply{"extensions": reply{mcp.ExtensionTasks: reply{}}}})
}

func (f *fakeTasks) call(m fakeMessage, stateless bool) reply {
	at := slices.IndexFunc(fakeTaskTools, func(tool struct{ name, support string }) bool { return tool.name == m.call })
	if at < 0 {
		return failure(m.id, wire.CodeInvalidParams, "Unknown tool", nil)
	}
	support := fakeTaskTools[at].support
	wanted := m.params["task"] != nil
	asks := m.call == "asks"
	if stateless {
		tasks, questions := takes(m)
		if support == "required" && !tasks {
			return undeclared32021(m)
		}
		wanted, asks = tasks && support != "forbidden", asks && questions
	} else {
		// Only a client that was told of tasks with all switches on is asked.
		asks = asks && m.arguments["loud"] == true
		if wanted == (support == "forbidden") && support != "optional" {
			return failure(m.id, wire.CodeMethodNotFound, "Method not found", nil)
		}
	}
	task := &fakeTask{tool: m.call, created: time.Now(), asks: asks}
	if !wanted {
		return task.outcome(m.id, "")
	}
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	task.id = fmt.Sprintf("%x", random)
	f.mu.Lock()
	f.tasks = append(f.tasks, task)
	f.mu.Unlock()
	if stateless {
		result := task.state(true)
		delete(result, "result")
		delete(result, "error")
		result["resultType"] = "task"
		return success(m.id, result)
	}
	return success(m.id, reply{"task": task.state(false)})
}

func (t *fakeTask) status() string {
	began := t.created
	if !t.again.IsZero() {
		began = t.again
	}
	switch since := time.Since(began); {
	case t.cancelled:
		return "cancelled"
	case t.asks && since > fakeAsk:
		return "input_required"
	case t.asks || since < fakeWork:
		return "working"
	case t.tool == "fails":
		return "failed"
	}
	return "completed"
}

// outcome is what the call gives, "" for a call that is no task.
func (t *fakeTask) outcome(id json.RawMessage, task string) reply {
	if t.tool == "fails" || t.cancelled {
		return failure(id, wire.CodeInternal, "Internal error: it fails", nil)
	}
	result := reply{"content": []any{reply{"type": "text", "text": "done"}}, "isError": t.tool == "wrong"}
	if task != "" {
		result["_meta"] = reply{mcp.MetaRelatedTask: reply{"taskId": task}}
	}
	return success(id, result)
}

// state is the task as tasks/get has it.
func (t *fakeTask) state(stateless bool) reply {
	at := t.created.UTC().Format(time.RFC3339Nano)
	status := t.status()
	out := reply{"taskId": t.id, "status": status, "createdAt": at, "lastUpdatedAt": at}
	if !stateless {
		out["ttl"], out["pollInterval"] = 60_000, 20
		if status == "completed" && t.tool == "wrong" {
			out["status"] = "failed"
		}
		return out
	}
	out["ttlMs"], out["pollIntervalMs"] = 60_000, 20
	switch status {
	case "completed":
		out["result"] = t.outcome(nil, "")["result"]
	case "failed":
		out["error"] = t.outcome(nil, "")["error"]
	case "input_required":
		out["inputRequests"] = reply{"name": t.question()}
	}
	return out
}

func (t *fakeTask) question() reply {
	return reply{"method": mcp.MethodElicitationCreate, "params": reply{
		"message": "Your name?", "requestedSchema": reply{"type": "object", "properties": reply{"name": reply{"type": "string"}}},
	}}
}

func (f *fakeTasks) task(m fakeMessage, stateless bool) reply {
	if tasks, _ := takes(m); stateless && !tasks {
		return undeclared32021(m)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(f.tasks, func(task *fakeTask) bool { return task.id == m.params["taskId"] })
	if at < 0 || stateless == (m.method == mcp.MethodTasksResult) && stateless {
		return failure(m.id, wire.CodeInvalidParams, "Task not found", nil)
	}
	task := f.tasks[at]
	over := tasks.IsFinal(task.status())
	switch m.method {
	case mcp.MethodTasksCancel:
		if over && !stateless {
			return failure(m.id, wire.CodeInvalidParams, "Task is over", nil)
		}
		task.cancelled = task.cancelled || !over
		if stateless {
			return success(m.id, reply{})
		}
	case mcp.MethodTasksUpdate:
		responses, _ := m.params["inputResponses"].(map[string]any)
		if responses["name"] != nil && task.asks {
			task.asks, task.again = false, time.Now()
		}
		return success(m.id, reply{})
	case mcp.MethodTasksResult:
		if !over {
			f.waiting.Go(func() { f.resultOf(task, m.id) })
			return nil
		}
		return task.outcome(m.id, task.id)
	}
	return success(m.id, task.state(stateless))
}

// resultOf answers tasks/result when the task is over.
func (f *fakeTasks) resultOf(task *fakeTask, id json.RawMessage) {
	told := false
	for {
		f.mu.Lock()
		status, answer := task.status(), task.outcome(id, task.id)
		f.mu.Unlock()
		switch {
		case tasks.IsFinal(status):
			f.write(answer)
			return
		case status == "input_required" && !told:
			told = true
			question := task.question()
			question["jsonrpc"], question["id"] = "2.0", task.id
			question["params"].(reply)["_meta"] = reply{mcp.MetaRelatedTask: reply{"taskId": task.id}}
			f.write(reply{"jsonrpc": "2.0", "method": mcp.MethodTasksStatus, "params": task.state(false)})
			f.write(question)
		}
		if wire.Pause(f.ctx, 5*time.Millisecond) != nil {
			return
		}
	}
}

func (f *fakeTasks) list(m fakeMessage) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := 0
	if cursor, there := m.params["cursor"]; there {
		text, _ := cursor.(string)
		n, err := strconv.Atoi(text)
		if err != nil || n > len(f.tasks) {
			return failure(m.id, wire.CodeInvalidParams, "Invalid cursor", nil)
		}
		from = n
	}
	to := min(from+fakePage, len(f.tasks))
	tasks := []any{}
	for _, task := range f.tasks[from:to] {
		tasks = append(tasks, task.state(false))
	}
	result := reply{"tasks": tasks}
	if to < len(f.tasks) {
		result["nextCursor"] = strconv.Itoa(to)
	}
	return success(m.id, result)
}

// listen tells of tasks until they are over.
func (f *fakeTasks) listen(m fakeMessage) reply {
	if tasks, _ := takes(m); !tasks {
		return undeclared32021(m)
	}
	filter, _ := m.params["notifications"].(map[string]any)
	ids, _ := filter["taskIds"].([]any)
	meta := reply{mcp.MetaSubscriptionID: m.id}
	f.write(reply{"jsonrpc": "2.0", "method": mcp.MethodSubscriptionsAcknowledged, "params": reply{"notifications": reply{"taskIds": ids}, "_meta": meta}})
	f.waiting.Go(func() {
		last := ""
		for !tasks.IsFinal(last) {
			f.mu.Lock()
			at := slices.IndexFunc(f.tasks, func(task *fakeTask) bool { return slices.Contains(ids, any(task.id)) })
			if at < 0 {
				f.mu.Unlock()
				return
			}
			state := f.tasks[at].state(true)
			f.mu.Unlock()
			if status := state["status"].(string); status != last {
				last = status
				state["_meta"] = meta
				f.write(reply{"jsonrpc": "2.0", "method": mcp.MethodTasks, "params": state})
			}
			if wire.Pause(f.ctx, 5*time.Millisecond) != nil {
				return
			}
		}
	})
	return nil
}
