// Command taskclient is our client as our own conformance suite for clients
// wants it (docs/conformance-clients.md): it finds its task in the environment,
// does the steps with package client and nothing more, and writes a line for
// each, so that both what it sends and what it concludes can be judged.
//
// Exit 0: the steps were done, however they ended; 2: there is no task.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// envTask holds the task as JSON.
const envTask = "MAINSTAY_CONFORM_TASK"

const exitUsage = 2

// task is what there is to do.
type task struct {
	Revision  string   `json:"revision"`
	Negotiate bool     `json:"negotiate"`
	Tasks     bool     `json:"tasks"`
	Transport string   `json:"transport"`
	URL       string   `json:"url"`
	Command   []string `json:"command"`
	Login     *login   `json:"login"`
	Answers   answers  `json:"answers"`
	Steps     []step   `json:"steps"`
}

type step struct {
	Call          string          `json:"call"`
	Name          string          `json:"name"`
	URI           string          `json:"uri"`
	Arguments     json.RawMessage `json:"arguments"`
	Params        json.RawMessage `json:"params"`
	ForMs         int             `json:"forMs"`
	DeadlineMs    int             `json:"deadlineMs"`
	CancelAfterMs int             `json:"cancelAfterMs"`
	Progress      bool            `json:"progress"`
	Times         int             `json:"times"`
}

func main() {
	os.Exit(run(context.Background(), os.Getenv(envTask), os.Stdout, os.Stderr))
}

// run does the task and returns the exit code.
func run(ctx context.Context, text string, stdout, stderr io.Writer) int {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil || len(t.Steps) == 0 {
		fmt.Fprintf(stderr, "%s holds no task: %v\n", envTask, err)
		return exitUsage
	}
	p := &player{task: t, out: json.NewEncoder(stdout)}
	for i, s := range t.Steps {
		p.play(ctx, i, s)
	}
	if p.client != nil {
		_ = p.client.Close() // again, or a task without a close
	}
	return 0
}

// player does the steps of one task.
type player struct {
	task   task
	client *client.Client

	mu  sync.Mutex
	out *json.Encoder
}

// play does a step, as often as it says, and writes its lines.
func (p *player) play(ctx context.Context, i int, s step) {
	if s.Times == 0 {
		p.once(ctx, i, 0, s)
		return
	}
	var jobs sync.WaitGroup
	for n := range s.Times {
		one := s
		one.Arguments = withN(s.Arguments, n)
		jobs.Go(func() { p.once(ctx, i, n, one) })
	}
	jobs.Wait()
}

func (p *player) once(ctx context.Context, i, n int, s step) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.DeadlineMs > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(s.DeadlineMs)*time.Millisecond)
		defer stop()
	}
	if s.CancelAfterMs > 0 {
		timer := time.AfterFunc(time.Duration(s.CancelAfterMs)*time.Millisecond, cancel)
		defer timer.Stop()
	}
	result, err := p.do(ctx, s)
	l := conclude(result, err)
	l.Step, l.N = i, n
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Encode(l) // a suite that has left does not read it
}

// do does a step once.
func (p *player) do(ctx context.Context, s step) (any, error) {
	switch {
	case s.Call == "connect":
		return nil, p.connect(ctx)
	case p.client == nil:
		return nil, errNotConnected
	case s.Call == "close":
		return nil, p.client.Close()
	}
	return p.call(ctx, s)
}

// probeTime is more than a server of the suite needs to answer a probe.
const probeTime = 2 * time.Second

// connect connects as the task says: to the revision that it names and no other,
// unless that is to be found out.
func (p *player) connect(ctx context.Context) error {
	options := append(p.task.Answers.options(),
		client.WithRequiredCapabilities(), // some servers of the suite declare nothing
		// The suite sees results and errors, and no events.
		client.WithValidation(client.Validation{Results: client.ValidateStrict}))
	if p.task.Login != nil {
		options = append(options, p.task.Login.option())
	}
	if p.task.Tasks {
		options = append(options, client.WithTasks())
	}
	if p.task.Negotiate {
		options = append(options, client.WithProbe(client.Probe{Timeout: probeTime}))
	} else {
		options = append(options, client.WithProtocolVersion(p.task.Revision))
	}
	var err error
	if p.task.Transport == "stdio" {
		command := &transport.Command{Argv: p.task.Command, StopGrace: time.Second, KillGrace: time.Second}
		p.client, err = client.Connect(ctx, command, options...)
	} else {
		p.client, err = client.Dial(ctx, p.task.URL, options...)
	}
	return err
}

// withN adds the argument n.
func withN(arguments json.RawMessage, n int) json.RawMessage {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(arguments, &members) // none: only n
	members["n"], _ = json.Marshal(n)       // a number
	out, _ := json.Marshal(members)         // of JSON
	return out
}
