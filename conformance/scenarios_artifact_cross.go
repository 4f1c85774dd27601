package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// crossScenarios judge what holds across the tools of servers that announce our
// error profiles: paths, an orderly end, and how long calls take.
func crossScenarios() []Scenario {
	needs := workflowNeeds()
	stdio := onServices()
	stdio.Transport = TransportStdio
	perf := func(id, requirement, title string) Check {
		c := must(id, requirement, title)
		c.Level = Advice // a slow machine is no broken server
		return c
	}
	return []Scenario{
		{
			ID: "X-WIRE-07-FAMILIES", Area: "tools", Title: "the tools of the announced families", Needs: Needs{Capability: "tools"},
			Checks: []Check{houseRule("X-WIRE-07/announced", "every tool with an announced error profile is listed", Spec{Seed: "X-WIRE-07"})},
			run:    runAnnounced,
		},
		{
			ID: "X-SEC-01", Area: areaApprove, Title: "ids and URIs that climb", Needs: reading(needs),
			Checks: []Check{
				must("X-SEC-01/approve", "X-SEC-01", "an id with .., /, %2e or NUL is refused by approve_artifact with -32602"),
				must("X-SEC-01/task", "X-SEC-01", "and by add_task as the artifact of a task"),
				must("X-SEC-01/read", "X-SEC-01", "a resource URI that climbs is refused"),
				must("X-SEC-01/data", "X-SEC-01", `the refusal of an id that climbs has data.validation_failed "path_traversal_check"`),
			},
			run: runClimbing,
		},
		{
			ID: "X-SHUT-01-CALL", Area: "stdio", Title: "a tool call under way when the input ends", Needs: stdio,
			Checks: []Check{
				must("X-SHUT-01/call", "X-SHUT-01", "a call that waits for a service is answered after the input has ended"),
				must("X-SHUT-01/ends", "X-SHUT-01", "the server ends by itself after it"),
			},
			run: runEndInCall,
		},
		{
			ID: "X-PERF-01", Area: areaApprove, Title: "how long calls take", Needs: needs,
			Checks: []Check{
				perf("X-PERF-01/validate", "X-PERF-01", "validate_artifact takes less than 500 ms, 19 times in 20"),
				perf("X-PERF-01/store", "X-PERF-01", "store_artifact takes less than 500 ms, 19 times in 20"),
				perf("S0-APPROVE-30", "S0-APPROVE-30", "an approval takes less than 2 s"),
				perf("S0-ADD-24", "S0-ADD-24", "judging 1, 10 and 100 tasks takes less than 50, 200 and 1000 ms"),
			},
			run: runLatency,
		},
	}
}

func runAnnounced(t *trial) error {
	if !t.forHouse("X-WIRE-07/announced") {
		return nil
	}
	profiles, _ := object(t.leg.capabilities.at("experimental.errorProfiles"))
	var missing []string
	for _, name := range sortedKeys(profiles) {
		// One of the official fixtures comes and goes.
		if !isOfficial(name) && !slices.ContainsFunc(t.leg.tools, func(tool tool) bool { return tool.Name == name }) {
			missing = append(missing, name)
		}
	}
	t.check("X-WIRE-07/announced", len(missing) == 0, "all of them in tools/list", "not listed: %s", strings.Join(missing, ", "))
	return t.leg.toolsErr
}

// climbing are ids that lead elsewhere when they become part of a path.
var climbing = []string{"../../etc/passwd", "/etc/passwd", `..\..\PRD-001`, "%2e%2e%2fPRD-001", "PRD-001/../PRD-002", "PRD-001\x00"}

func runClimbing(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	input, err := t.approvedPRD(s)
	if err != nil {
		return err
	}
	through, queued, bare := "", "", ""
	for _, id := range climbing {
		a, err := t.tryApprove(s, id)
		if err != nil {
			return err
		}
		data, _ := object(a.errorData())
		if !a.hasCode(nil, codeInvalidParams) {
			through = id + ": " + a.describe()
		} else if strings.Contains(id, "..") && text(data["validation_failed"]) != "path_traversal_check" {
			bare = id + ": " + a.describe()
		}
		if a, err = t.call(s, toolAddTask, addArguments(newTask(id, input))); err != nil {
			return err
		}
		if !a.hasCode(nil, codeInvalidParams) {
			queued = id + ": " + a.describe()
		}
	}
	t.check("X-SEC-01/approve", through == "", "error -32602", "%s", through)
	t.check("X-SEC-01/task", queued == "", "error -32602", "%s", queued)
	t.check("X-SEC-01/data", bare == "", `data.validation_failed "path_traversal_check"`, "%s", bare)
	read := ""
	for _, uri := range []string{
		"mcp://resources/artifacts/prds/../../../../../../etc/passwd", "mcp://resources/artifacts/prds/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
		"mcp://resources/validation/../../../../../etc/passwd", "mcp://resources/artifacts//etc/passwd",
	} {
		t.step(s)
		a, err := s.request(t.ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
		if err != nil {
			return err
		}
		if a.err == nil {
			read = uri + ": " + a.describe()
		}
	}
	t.check("X-SEC-01/read", read == "", "an error", "%s", read)
	return nil
}

func runEndInCall(t *trial) error {
	services := t.leg.services
	release := make(chan struct{})
	services.begin(breaking("GET /ids/next", restAnswer{hold: release}))
	t.onFinish(func() { services.begin(nil) })
	s, err := t.fresh()
	if err != nil {
		close(release)
		return err
	}
	id, err := s.post(t.ctx, mcp.MethodToolsCall, callParams(toolNextID, nextArguments("prd", t.project())))
	arrived := err == nil && eventually(t.ctx, s.wait, func() bool { return len(services.requests("GET /ids/next")) == 1 })
	w, ok := s.wire.(interface{ closeInput() error })
	if !ok || !arrived {
		close(release)
		return errors.Join(err, fmt.Errorf("the call did not reach its service: %v", arrived))
	}
	s.ended = true // what follows is the end that was asked for
	err = w.closeInput()
	close(release)
	if err != nil {
		return err
	}
	a, err := s.await(t.ctx, id)
	t.check("X-SHUT-01/call", err == nil && a.err == nil, "a result", "%s", a.orError(err))
	end := s.close()
	t.check("X-SHUT-01/ends", end.prompt, "an end within "+endGrace.String(), "it had to be stopped")
	return nil
}

// slowest returns how long the slowest of n calls took but for one in twenty.
func slowest(n int, call func() error) (time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		begin := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return took[n-1-n/20], nil
}

func runLatency(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	d, err := t.storedPRD(s, threeStories)
	if err != nil {
		return err
	}
	calling := func(tool string, arguments map[string]any) func() error {
		return func() error {
			a, err := t.call(s, tool, arguments)
			if err == nil && a.err != nil && tool != toolAddTask {
				err = errors.New(a.describe())
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
		{"X-PERF-01/validate", toolValidate, validateArguments(prd(), idPRD), 20, 500 * time.Millisecond},
		{"X-PERF-01/store", toolStore, storeArguments(d.text()), 20, 500 * time.Millisecond},
		{"S0-APPROVE-30", toolApprove, approveArguments(d.id), 1, 2 * time.Second},
	} {
		took, err := slowest(c.calls, calling(c.tool, c.arguments))
		if err != nil {
			return fmt.Errorf("%s: %w", c.tool, err)
		}
		t.check(c.check, took < c.limit, "less than "+c.limit.String(), "%s", took)
	}
	return t.judgingTime(s)
}

// judgingTime measures batches that are refused for their last task, so that
// only their judgement takes time.
func (t *trial) judgingTime(s *session) error {
	input, err := t.approvedPRD(s)
	if err != nil {
		return err
	}
	slow := ""
	for _, c := range []struct {
		tasks int
		limit time.Duration
	}{{1, 50 * time.Millisecond}, {10, 200 * time.Millisecond}, {100, time.Second}} {
		var tasks []map[string]any
		for range c.tasks {
			tasks = append(tasks, newTask(t.unused("HLS"), input))
		}
		tasks[c.tasks-1]["generator"] = "mainstay-no-such-generator"
		best := time.Hour
		for range 3 {
			begin := time.Now()
			if _, err := t.call(s, toolAddTask, addArguments(tasks...)); err != nil {
				return err
			}
			best = min(best, time.Since(begin))
		}
		if best >= c.limit {
			slow = fmt.Sprintf("%d tasks in %s", c.tasks, best)
		}
	}
	t.check("S0-ADD-24", slow == "", "less than 50, 200 and 1000 ms", "%s", slow)
	return nil
}

// closeInput ends what the server reads, and nothing else.
func (w *lineWire) closeInput() error { return w.in.Close() }
