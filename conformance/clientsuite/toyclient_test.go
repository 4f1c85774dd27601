// The toy client is a small MCP client of both eras and both transports,
// written for one purpose: it obeys the specification, and it can be told to have
// one of many defects, so that a suite for clients can be shown to find them. It
// shares no code with the client of this module.
package clientsuite_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// toyConfig is one run.
type toyConfig struct {
	// Task is the task as JSON, and Lines takes a line for each step.
	Task  []byte
	Lines io.Writer
	// Dial reaches a server, Start starts one as a program.
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Start func(argv []string) (*toyChild, error)
	// Newest is the newest revision it speaks.
	Newest string
	// Defect is the one it has; empty for none.
	Defect string
}

// toyChild is a server that is a program.
type toyChild struct {
	Stdin          io.WriteCloser
	Stdout, Stderr io.ReadCloser
	Signal         func(name string)
	Done           <-chan struct{}
}

type task struct {
	Revision, Transport, URL string
	Negotiate, Tasks         bool
	Command                  []string
	Answers                  struct {
		Elicit, Sample json.RawMessage
		ElicitURL      string
		Roots          []string
	}
	Login *toyLoginWay
	Steps []step
}

type step struct {
	Call, Name, URI, URL                    string
	Arguments, Params                       json.RawMessage
	DeadlineMs, CancelAfterMs, Times, ForMs int
	Progress                                bool
}

// toyClient is one run of a task.
type toyClient struct {
	toyConfig
	task      task
	stateless bool
	way       way
	life      context.Context //nolint:containedctx // of the run
	// version is the one that is spoken, caps what the server declared.
	version string
	caps    members

	mu      sync.Mutex
	lastID  int
	waiting map[string]chan members
	queue   []string // ids in the order of their requests, for one of the defects
	tools   map[string]json.RawMessage
	outputs map[string]json.RawMessage
	leaked  json.RawMessage
	level   string // of log messages, in the stateless era
	// subscription is the one that is held.
	subscription *heard
	dead         bool
	serial       chan struct{} // a lock that virtual time can pass
}

type members map[string]json.RawMessage

// way carries messages to the server.
type way interface {
	// send carries a message; what comes back goes to client.receive. It returns
	// when nothing more will come, for requests over HTTP, else at once.
	send(ctx context.Context, m members) error
	// close ends the connection in an orderly way.
	close()
}

// runToy does the task.
func runToy(ctx context.Context, cfg toyConfig) {
	c := &toyClient{toyConfig: cfg, life: ctx, waiting: map[string]chan members{}, tools: map[string]json.RawMessage{}, outputs: map[string]json.RawMessage{}, serial: make(chan struct{}, 1)}
	if json.Unmarshal(cfg.Task, &c.task) != nil {
		return
	}
	switch {
	case c.is("session-only") && c.task.Revision >= "2026":
		c.task.Revision = "2025-11-25"
	case c.is("stateless-only"):
		c.task.Revision = c.Newest
	}
	c.version, c.stateless = c.task.Revision, c.task.Revision >= "2026"
	for i, s := range c.task.Steps {
		n := max(1, s.Times)
		var jobs sync.WaitGroup
		for k := range n {
			one := s
			if s.Times > 0 {
				var args map[string]any
				_ = json.Unmarshal(s.Arguments, &args)
				args["n"] = k
				one.Arguments, _ = json.Marshal(args)
			}
			jobs.Go(func() { c.step(ctx, i, k, one) })
		}
		jobs.Wait()
	}
	if c.is("never-ends") {
		<-ctx.Done()
	}
}

func (c *toyClient) is(defect string) bool { return c.Defect == defect }

type line struct {
	Step    int    `json:"step"`
	N       int    `json:"n,omitempty"`
	Outcome string `json:"outcome"`
	Code    int64  `json:"code,omitempty"`
	Result  any    `json:"result,omitempty"`
	Message string `json:"message,omitempty"`
}

func (c *toyClient) step(ctx context.Context, i, n int, s step) {
	if c.is("serial") {
		c.serial <- struct{}{}
		defer func() { <-c.serial }()
	}
	whole := ctx
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
	if c.is("waits-forever") {
		ctx = whole
	}
	result, err := c.do(ctx, s)
	l := line{Step: i, N: n, Outcome: "result", Result: result}
	if err != nil {
		l.Outcome, l.Message = "error", err.Error()
		var rpc *rpcError
		switch {
		case errors.As(err, &rpc) && !c.is("loses-codes"):
			l.Code = rpc.code
		case errors.Is(err, context.DeadlineExceeded):
			l.Outcome = "timeout"
		case errors.Is(err, context.Canceled):
			l.Outcome = "canceled"
		case errors.Is(err, errClosed):
			l.Outcome = "closed"
		}
		if c.is("swallows-errors") {
			l = line{Step: i, N: n, Outcome: "result"}
		}
	} else if raw, ok := result.(json.RawMessage); ok && string(object(raw)["isError"]) == "true" && !c.is("hides-is-error") {
		l.Outcome = "tool-error"
	}
	if c.is("loses-results") {
		l.Result = nil
	}
	text, _ := json.Marshal(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.Lines.Write(append(text, '\n'))
}

func (c *toyClient) do(ctx context.Context, s step) (any, error) {
	if !c.declared(s.Call) && !c.is("ungated") {
		return nil, errors.New("the server did not declare what " + s.Call + " needs")
	}
	switch s.Call {
	case "connect":
		if s.URL != "" {
			c.task.URL = s.URL
		}
		err := c.connect(ctx)
		c.dead = c.dead || err != nil && !c.is("ignores-refusal")
		return nil, err
	case "close":
		if c.way != nil {
			c.way.close()
		}
		return nil, nil
	case "tools/list", "resources/list", "prompts/list":
		return c.list(ctx, s.Call)
	case "tools/call":
		return c.callTool(ctx, s)
	case "resources/read":
		return c.call(ctx, s.Call, members{"uri": str(s.URI)}, s)
	case "prompts/get":
		return c.prompt(ctx, s)
	case "completion/complete":
		return c.complete(ctx, s)
	case "logging/setLevel":
		return c.setLevel(ctx, s)
	case "subscriptions/listen", "resources/subscribe":
		return c.subscribe(ctx, s)
	}
	return nil, errors.New("unsupported")
}

// connect reaches the server and, in the session era, opens a session.
func (c *toyClient) connect(ctx context.Context) error {
	if c.task.Transport == "stdio" {
		child, err := c.Start(c.task.Command)
		if err != nil {
			return err
		}
		c.way = newLines(c, child)
	} else {
		before, _ := c.way.(*httpWay)
		now := newHTTP(c)
		if before != nil && before.login != nil {
			now.login.after(before.login)
		}
		c.way = now
	}
	if c.task.Negotiate {
		return c.negotiate(ctx)
	}
	if c.stateless {
		result, err := c.call(ctx, "server/discover", nil, step{})
		if err != nil {
			return err
		}
		c.caps = object(object(result)["capabilities"])
		if c.is("newest-listed") {
			var versions []string
			_ = json.Unmarshal(object(result)["supportedVersions"], &versions)
			c.version = slices.Max(versions)
		}
		if c.is("pings") {
			_, _ = c.call(ctx, "ping", nil, step{})
		}
		return nil
	}
	if c.is("lists-first") {
		_, _ = c.call(ctx, "tools/list", members{}, step{})
	}
	return c.initialize(ctx)
}

func (c *toyClient) initialize(ctx context.Context) error {
	info := members{"name": str("toy"), "version": str("1")}
	if c.is("no-info-version") {
		delete(info, "version")
	}
	offer := c.task.Revision
	switch {
	case c.is("offers-unknown"):
		offer = "2099-01-01"
	case c.is("offers-old"), c.is("only-old"):
		offer = oldOffer
	}
	asked := c.task.Revision
	if c.is("only-old") {
		asked = oldOffer
	}
	params := members{"protocolVersion": str(offer), "capabilities": c.capabilities(), "clientInfo": info.raw()}
	if c.is("eager") {
		go func() {
			select {
			case <-time.After(10 * time.Millisecond): // after initialize was sent
			case <-ctx.Done():
			}
			_, _ = c.call(ctx, "tools/list", members{}, step{})
		}()
	}
	result, err := c.call(ctx, "initialize", params, step{})
	if err != nil {
		if !c.is("ignores-refusal") || ctx.Err() != nil {
			return err
		}
	} else if v := text(object(result)["protocolVersion"]); v != asked && !c.is("any-version") {
		c.dead = true
		return errors.New("version " + v)
	}
	c.caps = object(object(result)["capabilities"])
	if !c.is("no-initialized") {
		m := members{"jsonrpc": str("2.0"), "method": str("notifications/initialized")}
		if c.is("notification-ids") {
			m["id"] = json.RawMessage("99")
		}
		err := c.way.send(ctx, m)
		if c.is("initialized-twice") {
			err = c.way.send(ctx, m)
		}
		return err
	}
	return nil
}

// oldOffer is what a client of a past year offers.
const oldOffer = "2025-03-26"

func (m members) raw() json.RawMessage {
	raw, _ := json.Marshal(m)
	return raw
}

func object(raw json.RawMessage) members {
	var m members
	_ = json.Unmarshal(raw, &m)
	return m
}

func str(s string) json.RawMessage {
	raw, _ := json.Marshal(s)
	return raw
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func number(n int) json.RawMessage { return json.RawMessage(strconv.Itoa(n)) }

type rpcError struct {
	code int64
	text string
	data json.RawMessage
}

func (e *rpcError) Error() string { return e.text }

var errClosed = errors.New("the connection is closed")
