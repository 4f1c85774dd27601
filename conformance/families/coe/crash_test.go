package coe

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/limit"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// childEnv makes this test binary another process on a data folder; it holds the
// job.
const childEnv = "MAINSTAY_TEST_COE_CHILD"

// childJob is what a child does.
type childJob struct {
	Dir string
	// Calls are made one after another, by Agent; at a step of the last one the
	// child waits for its end.
	Agent  string
	Calls  [][2]string
	StopAt string
	// Pullers are agents that pull tasks from a plan of Tasks until there is none.
	Pullers []string
	Tasks   int
}

// child does a job and says on out what came of it.
func child(job string, in io.Reader, out io.Writer) int {
	var j childJob
	if err := json.Unmarshal([]byte(job), &j); err != nil {
		fmt.Fprintln(out, "job:", err)
		return 2
	}
	opts := Options{DataDir: j.Dir, Rates: &limit.Rates{}}
	if j.Tasks > 0 {
		opts.Seed = many(j.Tasks)
	}
	armed := false
	opts.reached = func(step string) {
		if armed && step == j.StopAt {
			fmt.Fprintln(out, "step", step)
			_, _ = io.Copy(io.Discard, in) // until the kill
		}
	}
	srv, err := newServer(opts)
	if err != nil {
		fmt.Fprintln(out, "new:", err)
		return 2
	}
	fam := srv.family()
	for i, c := range j.Calls {
		armed = i == len(j.Calls)-1
		text, err := rawCall(fam, j.Agent, c[0], c[1])
		fmt.Fprintln(out, "answer", text, err)
	}
	var pulling sync.WaitGroup
	var lines sync.Mutex
	for _, agent := range j.Pullers {
		pulling.Go(func() {
			pull(fam, agent, func(line string) { lines.Lock(); defer lines.Unlock(); fmt.Fprintln(out, line) })
		})
	}
	pulling.Wait()
	if err := srv.close(context.Background()); err != nil { //nolint:forbidigo // it is the main function of a process
		fmt.Fprintln(out, "close:", err)
		return 2
	}
	fmt.Fprintln(out, "end")
	return 0
}

// pull gets tasks and ends them until there is none.
func pull(fam *family.Family, agent string, say func(string)) {
	for {
		text, err := rawCall(fam, agent, "getNextTask", `{"includeDetailedPrompt":false}`)
		if err != nil { // locked for longer than it waits
			say("retry " + err.Error())
			continue
		}
		var answer struct {
			Task *struct {
				TaskID string `json:"taskId"`
			} `json:"task"`
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			say("bad " + text)
			return
		}
		if answer.Task == nil {
			return
		}
		say("got " + agent + " " + answer.Task.TaskID)
		for done := false; !done; {
			_, err = rawCall(fam, agent, "reportTaskDone", `{"taskId":"`+answer.Task.TaskID+`","status":"done"}`)
			if done = err == nil; done {
				say("done " + agent + " " + answer.Task.TaskID)
			} else if !strings.Contains(err.Error(), "Service Unavailable") {
				say("bad " + err.Error())
				return
			}
		}
	}
}

func rawCall(fam *family.Family, agent, tool, args string) (string, error) {
	c := family.NewCall(tool, json.RawMessage(args), slog.New(slog.DiscardHandler))
	c.Origin = family.Origin{Agent: agent, Transport: "stdio"}
	for i := range fam.Tools {
		if t := &fam.Tools[i]; t.Name == tool {
			res, err := t.Handle(context.Background(), c) //nolint:forbidigo // it is called from a main function
			if err != nil {
				return "", err
			}
			if answer, ok := res.(*family.Result); ok {
				res = answer.Payload
			}
			raw, err := family.Encode(res)
			return string(raw), err
		}
	}
	return "", fmt.Errorf("no tool %s", tool)
}

// spawned is a child and what it says.
type spawned struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func spawn(t *testing.T, job childJob) *spawned {
	t.Helper()
	raw, err := json.Marshal(job)
	require.NoError(t, err)
	c := &spawned{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(raw))
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.lines = bufio.NewScanner(out)
	c.lines.Buffer(nil, 1<<20)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(c.kill)
	return c
}

// until reads what the child says up to a line that begins so.
func (c *spawned) until(t *testing.T, begin string) string {
	t.Helper()
	var said []string
	for c.lines.Scan() {
		if strings.HasPrefix(c.lines.Text(), begin) {
			return c.lines.Text()
		}
		said = append(said, c.lines.Text())
	}
	require.Fail(t, begin+" never came", "%v %v", said, c.lines.Err())
	return ""
}

// kill ends the child as kill -9 does.
func (c *spawned) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()
	_ = c.stdin.Close()
}

// state is all that a folder holds, without times.
func state(t *testing.T, dir string) string {
	t.Helper()
	r := newRig(t, func(o *Options) { o.DataDir = dir })
	var b strings.Builder
	for _, task := range r.srv.plan.View().Queue(plan.FilterAll, plan.Holder{}) {
		fmt.Fprintln(&b, task.ID, task.Title, task.Priority, task.State, task.Hold, task.Dependencies, task.Progress, task.Holder.Agent)
	}
	fmt.Fprintf(&b, "%+v\n", r.srv.plan.View().Counts())
	recs, _, err := r.srv.ledger.Records(t.Context(), ledger.RecordQuery{})
	require.NoError(t, err)
	for _, rec := range recs {
		fmt.Fprintln(&b, rec.ID, rec.Tool, rec.TaskID, rec.Agent, string(rec.Body))
	}
	for _, ticket := range r.tickets() {
		fmt.Fprintln(&b, ticket.Number, ticket.Title, ticket.Open)
	}
	require.NoError(t, r.srv.close(t.Context()))
	return b.String()
}

// A server that is killed at any step of a write leaves all of it or nothing;
// the same call again does it then.
func TestCrash_KilledAtEachStep(t *testing.T) {
	t.Parallel()
	for i, calls := range [][][2]string{
		{{"getNextTask", `{}`}},
		{{"getNextTask", `{}`}, {"reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress","progress_percent":10}`}},
		{
			{"createTicket", `{"title":"why?","type":"investigation","task_id":"TASK-004"}`},
			{"reportTaskDone", `{"taskId":"TASK-004","status":"done","observations":["a","b"],"followUpTasks":[{"title":"t","why":"w"}]}`},
		},
		{{"reportTaskCompleted", `{"task_id":"TASK-003","status":"success"}`}},
		{{"reportObservation", observationExample}},
		{{"reportObservation", `{"observation":"quick"}`}},
		{{"reportTestFailure", fmt.Sprintf(failureArgs, "passing_before", true, "")}},
		{
			{"reportTaskDone", `{"taskId":"TASK-001","status":"done"}`},
			{"reportVerificationResult", fmt.Sprintf(verifyArgs, "TASK-VERIFY-001", "failed", `"failedItems":[{"item":"i","issue":"j","why":"w"}],`, "needs_rework")},
		},
		{{"reportIssue", `{"issue_description":"x","severity":1}`}},
		{{"createTicket", `{"title":"one"}`}},
	} {
		t.Run(fmt.Sprintf("%d %s", i, calls[len(calls)-1][0]), func(t *testing.T) {
			t.Parallel()
			run := func(dir string, calls [][2]string) {
				r := newRig(t, func(o *Options) { o.DataDir = dir })
				r.agent = "ann"
				for _, c := range calls {
					r.call(c[0], c[1]).ok()
				}
				require.NoError(t, r.srv.close(t.Context()))
			}
			before, after := t.TempDir(), t.TempDir()
			run(before, calls[:len(calls)-1])
			run(after, calls)
			want := map[string]string{ledger.StepBegun: state(t, before), ledger.StepWritten: state(t, before), ledger.StepCommitted: state(t, after)}
			for step, wanted := range want {
				dir := t.TempDir()
				c := spawn(t, childJob{Dir: dir, Agent: "ann", Calls: calls, StopAt: step})
				c.until(t, "step "+step)
				c.kill()
				require.Equal(t, wanted, state(t, dir), step)
				if step != ledger.StepCommitted {
					run(dir, calls[len(calls)-1:])
					require.Equal(t, want[ledger.StepCommitted], state(t, dir), step)
				}
			}
		})
	}
}

// Processes and goroutines pull tasks from one folder: nobody gets a task that
// another one got, and none is forgotten, also when a process is killed.
func TestCrash_EachTaskOnce(t *testing.T) {
	t.Parallel()
	const processes, agents, tasks = 4, 5, 120
	dir := t.TempDir()
	var children []*spawned
	for p := range processes {
		job := childJob{Dir: dir, Tasks: tasks}
		for a := range agents {
			job.Pullers = append(job.Pullers, fmt.Sprintf("agent-%d-%d", p, a))
		}
		children = append(children, spawn(t, job))
	}
	var mu sync.Mutex
	got, done := map[string]string{}, map[string]string{}
	var readers sync.WaitGroup
	for i, c := range children {
		readers.Go(func() {
			n, ended := 0, false
			for c.lines.Scan() {
				word := strings.Fields(c.lines.Text())
				mu.Lock()
				switch word[0] {
				case "got":
					if by, twice := got[word[2]]; twice && by != word[1] {
						t.Errorf("%s was handed out to %s and to %s", word[2], by, word[1])
					}
					got[word[2]] = word[1]
				case "done":
					if by, twice := done[word[2]]; twice {
						t.Errorf("%s was done by %s and by %s", word[2], by, word[1])
					}
					done[word[2]] = word[1]
				case "end":
					ended = true
				case "retry":
				default:
					t.Error(c.lines.Text())
				}
				mu.Unlock()
				if n++; i == 0 && n == 7 {
					_ = c.cmd.Process.Kill()
				}
			}
			if !ended && i > 0 {
				t.Errorf("process %d did not end", i)
			}
		})
	}
	readers.Wait()

	// What the killed agents had and had not done is still theirs, and nobody else's.
	r := newRig(t, func(o *Options) { o.DataDir, o.Seed = dir, many(tasks) })
	v := r.srv.plan.View()
	left, waiting := map[string]string{}, 0
	for _, task := range v.Queue(plan.FilterAll, plan.Holder{}) {
		if v.Status(task) == plan.StatusBlocked { // by one of those that are left
			require.Zero(t, task.Holder)
			waiting++
			continue
		}
		require.Regexp(t, `^agent-0-\d$`, task.Holder.Agent, task.ID)
		require.Equal(t, plan.StatusReady, v.Status(task))
		left[task.Holder.Agent] = task.ID
	}
	require.LessOrEqual(t, len(left), agents)
	require.Equal(t, tasks, v.Counts().Completed+len(left)+waiting)
	recs := r.records(ledger.Report)
	require.Len(t, recs, v.Counts().Completed, "one report each")
	for _, rec := range recs {
		if by, known := done[rec.TaskID]; known {
			require.Equal(t, by, rec.Agent)
		}
	}
	r.agent = "somebody"
	require.Nil(t, r.nextID())
	for agent, task := range left {
		r.agent = agent
		require.Equal(t, task, r.nextID(), "who comes back under its name gets it again")
	}
}

// In one process without a folder it is the same.
func TestHandOut_EachTaskOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Seed = many(200) })
	var mu sync.Mutex
	got := map[string]int{}
	var pulling sync.WaitGroup
	for a := range 20 {
		pulling.Go(func() {
			pull(r.fam, fmt.Sprint("agent-", a), func(line string) {
				mu.Lock()
				defer mu.Unlock()
				if word := strings.Fields(line); word[0] == "got" {
					got[word[2]]++
				}
			})
		})
	}
	pulling.Wait()
	require.Len(t, got, 200)
	for task, times := range got {
		require.Equal(t, 1, times, task)
	}
}
