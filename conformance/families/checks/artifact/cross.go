package artifact

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// crossScenarios judge what holds across the tools of servers that announce our
// error profiles: paths, an orderly end, and how long calls take.
func crossScenarios() []engine.Scenario {
	needs := workflowNeeds()
	stdio := onServices()
	stdio.Transport = conformance.TransportStdio
	return []engine.Scenario{
		{ID: "X-WIRE-07-FAMILIES", Needs: engine.Needs{Capability: "tools", Profile: engine.AnyProfile}, Run: runAnnounced},
		{ID: "X-SEC-01", Needs: reading(needs), Run: runClimbing},
		{ID: "X-SHUT-01-CALL", Starts: 1, Needs: stdio, Run: runEndInCall},
		{ID: "X-PERF-01", Needs: needs, Run: runLatency},
	}
}

func runAnnounced(t *engine.Trial) {
	if !t.NeedsProfile("X-WIRE-07/announced") {
		return
	}
	profiles, _ := rawjson.Object(t.Rev.Capabilities.At("experimental.errorProfiles"))
	var missing []string
	for _, name := range rawjson.SortedKeys(profiles) {
		// One of the official fixtures comes and goes.
		if !fixture.IsTool(name) && !slices.ContainsFunc(t.Rev.Tools, func(tool wire.Tool) bool { return tool.Name == name }) {
			missing = append(missing, name)
		}
	}
	t.Check("X-WIRE-07/announced", len(missing) == 0, "all of them in tools/list", "not listed: %s", strings.Join(missing, ", "))
	t.NoError(t.Rev.ToolsErr)
}

// climbing are ids that lead elsewhere when they become part of a path.
var climbing = []string{"../../etc/passwd", "/etc/passwd", `..\..\PRD-001`, "%2e%2e%2fPRD-001", "PRD-001/../PRD-002", "PRD-001\x00"}

func runClimbing(t *engine.Trial) {
	s := t.Shared()
	input := approvedPRD(t, s)
	through, queued, bare := "", "", ""
	for _, id := range climbing {
		a, err := tryApprove(t, s, id)
		t.NoError(err)
		data, _ := rawjson.Object(a.ErrorData())
		if !a.HasCode(nil, wire.CodeInvalidParams) {
			through = id + ": " + a.Describe()
		} else if strings.Contains(id, "..") && rawjson.Text(data["validation_failed"]) != "path_traversal_check" {
			bare = id + ": " + a.Describe()
		}
		a, err = t.Call(s, ToolAddTask, addArguments(newTask(id, input)))
		t.NoError(err)
		if !a.HasCode(nil, wire.CodeInvalidParams) {
			queued = id + ": " + a.Describe()
		}
	}
	t.Check("X-SEC-01/approve", through == "", "error -32602", "%s", through)
	t.Check("X-SEC-01/task", queued == "", "error -32602", "%s", queued)
	t.Check("X-SEC-01/data", bare == "", `data.validation_failed "path_traversal_check"`, "%s", bare)
	read := ""
	for _, uri := range []string{
		"mcp://resources/artifacts/prds/../../../../../../etc/passwd", "mcp://resources/artifacts/prds/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
		"mcp://resources/validation/../../../../../etc/passwd", "mcp://resources/artifacts//etc/passwd",
	} {
		t.Step(s)
		a, err := s.Request(t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
		t.NoError(err)
		if a.Err == nil {
			read = uri + ": " + a.Describe()
		}
	}
	t.Check("X-SEC-01/read", read == "", "an error", "%s", read)
}

func runEndInCall(t *engine.Trial) {
	services := playedFor(t)
	release := make(chan struct{})
	services.begin(breaking("GET /ids/next", RestAnswer{hold: release}))
	letGo := sync.OnceFunc(func() { close(release) })
	t.OnFinish(func() { letGo(); services.begin(nil) })
	s := t.Fresh()
	id, err := s.Post(t.Ctx, mcp.MethodToolsCall, engine.CallParams(ToolNextID, nextArguments("prd", newProject(t))))
	arrived := err == nil && wire.WaitUntil(t.Ctx, s.Timeout, func() bool { return len(services.requests("GET /ids/next")) == 1 })
	w, ok := s.Conn.(interface{ CloseInput() error })
	if !ok || !arrived {
		t.Stop(errors.Join(err, fmt.Errorf("the call did not reach its service: %v", arrived)))
	}
	s.Closed = true // what follows is the end that was asked for
	t.NoError(w.CloseInput())
	letGo()
	a, err := s.Await(t.Ctx, id)
	t.Check("X-SHUT-01/call", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
	end := s.Close()
	t.Check("X-SHUT-01/ends", end.Prompt, "an end within "+wire.EndGrace.String(), "it had to be stopped")
}

// pace is how long calls took, and beside each of them a control: work of the same
// kind that no fault of a tool makes slow.
type pace struct{ calls, controls []time.Duration }

// measure times n calls, and a control after each.
func measure(t *engine.Trial, s *wire.Session, n int, call func() error) (pace, error) {
	var p pace
	for range n {
		for _, m := range []struct {
			to *[]time.Duration
			do func() error
		}{{&p.calls, call}, {&p.controls, func() error { return control(t, s) }}} {
			begin := time.Now()
			if err := m.do(); err != nil {
				return p, err
			}
			*m.to = append(*m.to, time.Since(begin))
		}
	}
	slices.Sort(p.calls)
	slices.Sort(p.controls)
	return p, nil
}

// control is a ping and a file written to the disk, where the artifacts are.
func control(t *engine.Trial, s *wire.Session) error {
	if _, err := s.Ping(t.Ctx); err != nil {
		return err
	}
	dir := ""
	if surroundings.Of(t).Own {
		dir = filepath.Dir(surroundings.Of(t).Artifacts)
	}
	f, err := os.CreateTemp(dir, "control-")
	if err != nil {
		return engine.SuiteError(err)
	}
	_, err = f.Write(make([]byte, 4<<10))
	return engine.SuiteError(errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name())))
}

// busy is how many times a control may fit into what a call took before the machine
// cannot be what made the call slow.
const busy = 4

// judgeWithin judges a duration by its limit. Where the control was slow, too, it may be
// that of a busy machine, and nothing is known.
func judgeWithin(t *engine.Trial, id, what string, took, control, limit time.Duration) {
	if took >= limit && control*busy >= took {
		t.Inconclusive(id, fmt.Sprintf("%s took %s, and a ping and a file written beside it %s: the machine is too busy to tell", what, took, control))
		return
	}
	t.Check(id, took < limit, "less than "+limit.String(), "%s took %s, and a ping and a file written beside it %s", what, took, control)
}

func runLatency(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, threeStories)
	calling := func(tool string, arguments map[string]any) func() error {
		return func() error {
			a, err := t.Call(s, tool, arguments)
			if err == nil && a.Err != nil && tool != ToolAddTask {
				err = errors.New(a.Describe())
			}
			return err
		}
	}
	for _, c := range []struct {
		check, tool string
		arguments   map[string]any
		calls       int
		limit       time.Duration
	}{
		{"X-PERF-01/validate", ToolValidate, validateArguments(prd(), idPRD), 20, 500 * time.Millisecond},
		{"X-PERF-01/store", ToolStore, storeArguments(d.text()), 20, 500 * time.Millisecond},
		{"S0-APPROVE-30", ToolApprove, approveArguments(d.id), 1, 2 * time.Second},
	} {
		p, err := measure(t, s, c.calls, calling(c.tool, c.arguments))
		if err != nil {
			t.Stop(fmt.Errorf("%s: %w", c.tool, err))
		}
		at := c.calls - 1 - c.calls/20 // the slowest but for one in twenty
		judgeWithin(t, c.check, c.tool, p.calls[at], p.controls[at], c.limit)
	}
	judgingTime(t, s)
}

// judgingTime measures batches that are refused for their last task, so that
// only their judgement takes time.
func judgingTime(t *engine.Trial, s *wire.Session) {
	input := approvedPRD(t, s)
	for _, c := range []struct {
		tasks int
		limit time.Duration
	}{{1, 50 * time.Millisecond}, {10, 200 * time.Millisecond}, {100, time.Second}} {
		var tasks []map[string]any
		for range c.tasks {
			tasks = append(tasks, newTask(unusedID(t, "HLS"), input))
		}
		tasks[c.tasks-1]["generator"] = "mainstay-no-such-generator"
		p, err := measure(t, s, 3, func() error {
			_, err := t.Call(s, ToolAddTask, addArguments(tasks...))
			return err
		})
		t.NoError(err)
		if p.calls[0] >= c.limit {
			judgeWithin(t, "S0-ADD-24", fmt.Sprintf("%d tasks", c.tasks), p.calls[0], p.controls[0], c.limit)
			return
		}
	}
	t.Pass("S0-ADD-24")
}
