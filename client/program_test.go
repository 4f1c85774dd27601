package client_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// TestProgram is not a test: with the name of a program behind "--" it is that
// program, for the tests that start one.
func TestProgram(*testing.T) {
	for i, arg := range os.Args {
		if arg == "--" && i+1 < len(os.Args) {
			programs[os.Args[i+1]]()
			exit(0)
		}
	}
}

// dialProgram connects to a program of this binary. It is given a minute to
// live, and little time to end.
func dialProgram(t *testing.T, name string, opts ...client.Option) (*client.Client, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	command := &transport.Command{
		Argv: programArgv(name), Env: []string{"GORACE=atexit_sleep_ms=0"},
		StopGrace: 100 * time.Millisecond, KillGrace: time.Second,
		Limits: transport.Limits{MessageBytes: 64 << 10},
	}
	c, err := client.Connect(ctx, command, append([]client.Option{sessionEra, wired(t)}, opts...)...)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	require.NoError(t, ctx.Err(), "connecting hung")
	return c, err
}

func programArgv(name string) []string {
	return []string{os.Args[0], "-test.run=^TestProgram$", "--", name}
}

// programs are servers over stdio, good and bad.
var programs = map[string]func(){
	"good":   func() { serveLines(nil) },
	"gossip": gossipProgram,
	"exit": func() {
		fmt.Fprintln(os.Stderr, "fatal: API key is missing")
		exit(3)
	},
	"tells its key": func() {
		fmt.Fprintf(os.Stderr, "the key %s is not valid\n", os.Getenv("KEY"))
		exit(3)
	},
	"dies when called": func() {
		serveLines(func(req jsonrpc.Request) string {
			if req.Method == "tools/call" {
				exit(1)
			}
			return ""
		})
	},
	"chatters": func() {
		serveLines(func(req jsonrpc.Request) string {
			if req.Method == "ping" {
				go func() {
					for {
						fmt.Println("chatter")
					}
				}()
			}
			return ""
		})
	},
	"chatty": func() {
		serveLines(func(jsonrpc.Request) string {
			fmt.Println("a word")
			fmt.Fprintln(os.Stderr, "another")
			return ""
		})
	},
	"journal": serveJournal,
	"silent":  func() { <-time.After(time.Minute) },
	"banner":  func() { fmt.Println("Welcome to the server\n[INFO] ready"); serveLines(nil) },
	"HTML":    func() { fmt.Println("<html><body>Sign in</body></html>") },
	"truncated": func() {
		serveLines(func(req jsonrpc.Request) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025`, req.ID.AppendJSON(nil))
		})
	},
	"huge": func() {
		serveLines(func(req jsonrpc.Request) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"x":"%s"}}`, req.ID.AppendJSON(nil), strings.Repeat("x", 100<<10))
		})
	},
	"broken tools": func() {
		serveLines(func(req jsonrpc.Request) string {
			id := req.ID.AppendJSON(nil)
			switch {
			case req.Method != "tools/call":
				return ""
			case strings.Contains(string(req.Params), "huge"):
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, strings.Repeat("x", 100<<10))
			case strings.Contains(string(req.Params), "truncated"):
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"ty`, id)
			}
			return ""
		})
	},
	"orphan": func() {
		argv := programArgv("silent")
		child := exec.Command(argv[0], argv[1:]...)
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			exit(9)
		}
		serveLines(func(req jsonrpc.Request) string {
			if req.Method == "tools/call" {
				exit(1)
			}
			return ""
		})
	},
}

// serveLines answers lines of stdin on stdout: with the result of reply, or with a good
// answer if reply returns none.
func serveLines(reply func(jsonrpc.Request) string) {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(line)
		if err != nil {
			exit(98)
		}
		req, ok := m.(jsonrpc.Request)
		if !ok {
			continue
		}
		answer := ""
		if reply != nil {
			answer = reply(req)
		}
		if answer == "" {
			answer = wellAnswered(req)
		}
		fmt.Println(answer)
	}
}

// wellAnswered is what a server with the tool echo answers.
func wellAnswered(req jsonrpc.Request) string {
	resp := jsonrpc.Response{ID: req.ID, Result: []byte(`{}`)}
	switch req.Method {
	case "initialize":
		resp.Result = []byte(initResult)
	case "tools/list":
		resp.Result = []byte(oneTool)
	case "tools/call":
		resp.Result = []byte(`{"content":[{"type":"text","text":"done"}]}`)
	}
	return string(resp.AppendJSON(nil))
}

// exit ends the program that this is.
func exit(status int) { os.Exit(status) } //nolint:forbidigo // a program, not a test
