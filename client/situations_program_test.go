package client_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// TestSituationProgram is not a test: with the name of a program behind "--" it
// is that program, for [TestSituations].
func TestSituationProgram(*testing.T) {
	for i, arg := range os.Args {
		if arg == "--" && i+1 < len(os.Args) {
			situationPrograms[os.Args[i+1]]()
			exit(0)
		}
	}
}

// lifelineEnv names the variable with the address that a grandchild holds a
// connection to while it lives.
const lifelineEnv = "MAINSTAY_TEST_LIFELINE"

var situationPrograms = map[string]func(){
	"good": func() { serveLines(nil) },
	"ignores the probe": func() {
		serveSilently(func(req jsonrpc.Request) (string, bool) { return wellAnswered(req), req.Method != "server/discover" })
	},
	"exits on the probe": func() {
		serveSilently(func(req jsonrpc.Request) (string, bool) {
			if req.Method == "server/discover" {
				exit(1)
			}
			return wellAnswered(req), true
		})
	},
	"stops reading": func() {
		serveSilently(func(req jsonrpc.Request) (string, bool) {
			if req.Method == "tools/call" {
				<-time.After(time.Minute)
			}
			return wellAnswered(req), true
		})
	},
	"exits on anything": func() {
		serveSilently(func(jsonrpc.Request) (string, bool) {
			fmt.Fprintln(os.Stderr, "fatal: API key is missing")
			exit(3)
			return "", false
		})
	},
	"ends in a call": func() {
		serveSilently(func(req jsonrpc.Request) (string, bool) {
			if req.Method == "tools/call" {
				fmt.Fprintln(os.Stderr, "panic: out of luck")
				exit(4)
			}
			return wellAnswered(req), true
		})
	},
	"logs to stdout": func() {
		serveSilently(func(req jsonrpc.Request) (string, bool) {
			if req.Method == "tools/call" {
				fmt.Println("2026-01-01 12:00:00 INFO calling the tool")
				fmt.Println(`{"level":"info","msg":"calling the tool"}`)
			}
			return wellAnswered(req), true
		})
	},
	"closes stdout": func() { serveOnce(func() { _ = os.Stdout.Close(); <-time.After(time.Minute) }) },
	"closes stdin": func() {
		serveOnce(func() {
			_ = os.Stdin.Close()
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"deaf"}}`)
			<-time.After(time.Minute)
		})
	},
	"kills itself": func() {
		serveOnce(func() {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			<-time.After(time.Minute)
		})
	},
	"leaves a grandchild": func() {
		argv := situationArgv("grandchild")
		grandchild := exec.Command(argv[0], argv[1:]...)
		if err := grandchild.Start(); err != nil {
			exit(9)
		}
		serveLines(nil)
	},
	"grandchild": func() {
		conn, err := net.Dial("tcp", os.Getenv(lifelineEnv))
		if err != nil {
			exit(9)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute)) // nobody is left behind by a failed test
		_, _ = io.Copy(io.Discard, conn)
	},
}

// serveSilently answers requests for which answer returns true, and ignores the others.
func serveSilently(answer func(jsonrpc.Request) (string, bool)) {
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
		if req, ok := m.(jsonrpc.Request); ok {
			if text, say := answer(req); say {
				fmt.Println(text)
			}
		}
	}
}

func situationArgv(name string) []string {
	return []string{os.Args[0], "-test.run=^TestSituationProgram$", "--", name}
}

func situationCommand(name string, env ...string) *transport.Command {
	return &transport.Command{
		Argv: situationArgv(name), Env: append([]string{"GORACE=atexit_sleep_ms=0"}, env...),
		StopGrace: 100 * time.Millisecond, KillGrace: time.Second,
	}
}

// dialSituation starts a program and negotiates its era, unless an option pins it. It
// remembers no era.
func dialSituation(t *testing.T, name string, opts ...client.Option) (*client.Client, error) {
	t.Helper()
	return connectSituation(t, situationCommand(name), opts...)
}

func connectSituation(t *testing.T, command *transport.Command, opts ...client.Option) (*client.Client, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	base := []client.Option{client.WithProtocolVersion(client.AutoVersion), client.WithEraStore(nil)}
	c, err := client.Connect(ctx, command, append(base, opts...)...)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	require.NoError(t, ctx.Err(), "connecting hung")
	return c, err
}

// lifeline is a listener that a process connects to and holds on to.
type lifeline struct{ net.Listener }

func newLifeline(t *testing.T) lifeline {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return lifeline{l}
}

func (l lifeline) env() string { return lifelineEnv + "=" + l.Addr().String() }

func (l lifeline) accept(t *testing.T) net.Conn {
	t.Helper()
	require.NoError(t, l.Listener.(*net.TCPListener).SetDeadline(time.Now().Add(20*time.Second)))
	conn, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// requireGone waits for the end of the process that holds the connection.
func (l lifeline) requireGone(t *testing.T, conn net.Conn) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err := conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the grandchild lives on after Close")
}
