package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// server is an MCP server of the session era, written from the specification. It shares
// no code with any client or proxy in the table. Its faults are planned, and it keeps a
// record of what it did.
type server struct {
	record      *recorder
	work        time.Duration // how long pay takes, half before and half after its effect
	cut         string        // how the answer to the first pay is cut, "" for never
	cutOnce     sync.Once
	sessionIdle time.Duration // after which an HTTP session is forgotten, 0 for never
	tokenLife   time.Duration // of access tokens, 0 for a server without logins
}

// The ways in which an answer is cut after the tool ran.
const (
	cutReset  = "reset"  // the connection closes before the status line
	cutBody   = "body"   // the connection closes inside a JSON body
	cutStream = "stream" // the connection closes inside an event
	cutExit   = "exit"   // the program exits
)

// serve is the subcommand "server".
func serve(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("http", "", "serve HTTP on this address; stdio without it")
	path := flags.String("record", "", "append what happens to this file")
	start := flags.Duration("start", 0, "how long it takes to start")
	deaf := flags.Bool("deaf", false, "ignore the end of stdin, SIGINT and SIGTERM")
	s := &server{}
	flags.DurationVar(&s.work, "work", 20*time.Millisecond, "how long pay takes")
	flags.StringVar(&s.cut, "cut", "", "cut the answer to the first pay: reset, body, stream or exit")
	flags.DurationVar(&s.sessionIdle, "session-idle", 0, "forget sessions that are idle for this long")
	flags.DurationVar(&s.tokenLife, "token-life", 0, "require access tokens that live this long")
	if flags.Parse(args) != nil {
		return exitUsage
	}
	var err error
	if s.record, err = openRecorder(*path); err != nil {
		fmt.Fprintln(stderr, "server:", err)
		return exitUsage
	}
	s.record.add("pid", fmt.Sprint(os.Getpid()))
	if *deaf {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	}
	wait(ctx, *start)
	if *address == "" {
		s.stdio(ctx, os.Stdin, os.Stdout)
	} else if err := s.listen(ctx, *address); err != nil {
		fmt.Fprintln(stderr, "server:", err)
		return 1
	}
	if *deaf {
		<-ctx.Done() // signals are ignored: only SIGKILL ends it
	}
	return 0
}

// stdio serves one session until in ends, or the first pay if its answer is cut.
func (s *server) stdio(ctx context.Context, in io.Reader, out io.Writer) {
	var mu sync.Mutex
	exit := make(chan struct{})
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			lines <- slices.Clone(scan.Bytes())
		}
	}()
	for {
		select {
		case <-exit:
			return
		case line, more := <-lines:
			if !more {
				return
			}
			var m message
			if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" {
				continue
			}
			go func() {
				answer, cut := s.answer(ctx, &m)
				if cut {
					close(exit)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				_, _ = out.Write(append(answer, '\n')) // a host that is gone needs no answer
			}()
		}
	}
}

// message is a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

const newest = string(mcp.LatestSession)

const tools = `{"tools":[
{"name":"echo","description":"Returns the text.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},
{"name":"pay","description":"Pays once for each call.","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}]}`

// answer runs a request. Cut reports that its answer must be cut.
func (s *server) answer(ctx context.Context, m *message) (answer []byte, cut bool) {
	var in struct {
		ProtocolVersion string `json:"protocolVersion"`
		Name            string `json:"name"`
		Arguments       struct {
			Text string `json:"text"`
			ID   string `json:"id"`
		} `json:"arguments"`
	}
	_ = json.Unmarshal(m.Params, &in) // params of another shape lack what is asked for below
	text := in.Arguments.Text
	switch {
	case m.Method == "initialize":
		if in.ProtocolVersion > newest {
			in.ProtocolVersion = newest
		}
		return m.result(map[string]any{
			"protocolVersion": in.ProtocolVersion,
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]any{"name": "planned", "version": "1"},
		}), false
	case m.Method == "ping":
		return m.result(map[string]any{}), false
	case m.Method == "tools/list":
		return m.result(json.RawMessage(tools)), false
	case m.Method == "tools/call" && in.Name == "echo":
	case m.Method == "tools/call" && in.Name == "pay":
		wait(ctx, s.work/2)
		s.record.add("pay", in.Arguments.ID)
		if s.cut != "" {
			s.cutOnce.Do(func() { cut = true })
		}
		if cut {
			return nil, true
		}
		wait(ctx, s.work/2)
		text = "paid " + in.Arguments.ID
	default:
		return encode(outgoing{JSONRPC: "2.0", ID: m.ID, Error: &rpcError{-32601, "method or tool not found"}}), false
	}
	return m.result(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}), false
}

// outgoing is a message to send.
type outgoing struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

func (m *message) result(v any) []byte {
	return encode(outgoing{JSONRPC: "2.0", ID: m.ID, Result: v})
}

// encode encodes a message of ours, which cannot fail.
func encode(m outgoing) []byte {
	text, _ := json.Marshal(m) //nolint:errchkjson // strings, maps and valid raw JSON
	return text
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
