package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/interop/hosts/orders"
)

// uselessName makes the test program a host that does nothing: it answers with an error, or that it
// cannot.
const uselessName = "MAINSTAY_USELESS_HOST"

// TestUselessHost is that host when the variable is set.
func TestUselessHost(t *testing.T) {
	answer := os.Getenv(uselessName)
	if answer == "" {
		t.Skip("the tests below run it")
	}
	require.NoError(t, orders.Serve(t.Context(), os.Stdin, os.Stdout, func(context.Context, orders.Order) (orders.Answer, error) {
		if answer == "none" {
			return orders.Answer{None: "useless"}, nil
		}
		return orders.Answer{}, errors.New("no")
	}))
}

func useless(t *testing.T, answer string) *row {
	t.Helper()
	t.Setenv(uselessName, answer)
	self, err := os.Executable()
	require.NoError(t, err)
	return &row{
		where: places{work: t.TempDir()}, front: direct,
		host:   host{name: "useless", command: []string{self, "-test.run", "^TestUselessHost$"}, lacks: []string{"roots"}},
		server: server{name: "a server", title: "server", echo: order{tool: "echo", want: "hi"}},
	}
}

// TestCancellationNobodySees leaves calls of a host that never tells the server: the step fails
// while there is time left for the orders after it.
func TestCancellationNobodySees(t *testing.T) {
	require.Less(t, (&places{patient: true}).leftTime()+leftTime, patience)

	r := useless(t, "error")
	r.front, r.server.canceled = overHTTP, "canceled"
	d, err := start(r.host.command, newMark(), filepath.Join(r.where.work, "host.log"))
	require.NoError(t, err)
	t.Cleanup(d.kill)
	r.driver = d
	require.NoError(t, os.WriteFile(r.log(), []byte("tools/call\n"), 0o600))

	began := time.Now()
	require.ErrorContains(t, cancel(t.Context(), r), "did not see")
	require.Less(t, time.Since(began), 4*leftTime, "each try waited as long as all of them may")
}

// TestEveryStepCanFail plays the steps with a host that fails in all of them.
func TestEveryStepCanFail(t *testing.T) {
	r := useless(t, "error")
	r.play(t.Context())
	require.Len(t, r.cells, len(steps))
	bad := 0
	for i, s := range steps {
		switch s.name {
		case "kill", "roots", "end":
			require.Equal(t, none, r.cells[i].verdict, s.name)
		default:
			require.Equal(t, failed, r.cells[i].verdict, s.name)
			require.NotEmpty(t, r.cells[i].remark, s.name)
			bad++
		}
	}
	var out bytes.Buffer
	require.Equal(t, bad, printTable(&out, []*row{r}))
	require.Contains(t, out.String(), "FAIL useless, none, a server: progress: no\n")
	require.Empty(t, marked(r.mark))
}

func TestAHostThatCannot(t *testing.T) {
	r := useless(t, "none")
	r.play(t.Context())
	require.Equal(t, cell{none, "useless"}, r.cells[2])
}

func TestPage(t *testing.T) {
	t.Parallel()
	cells := make([]cell, len(steps))
	for i := range cells {
		cells[i].verdict = ok
	}
	cells[1] = cell{none, "no command"}
	page := markdown([]*row{{host: host{name: "a host"}, front: stdio, server: server{name: "a server"}, revision: "2025-11-25", cells: cells}}, "`it` 1")
	require.Contains(t, page, "Played with: `it` 1.\n")
	require.Contains(t, page, "\n| a host | stdio | a server | 2025-11-25 | ok | – (1) | ok |")
	require.Contains(t, page, "\n(1) no command\n")
	for _, s := range steps {
		require.Regexp(t, "\n- ([a-z]+, )*"+s.name+"[:,]", page, "a step that the page does not explain")
	}
}

func TestFlaws(t *testing.T) {
	t.Parallel()
	cancelStep := -1
	for i, s := range steps {
		if s.name == "cancel" {
			cancelStep = i
		}
	}
	r := &row{host: host{name: "mcp-go session"}, front: overHTTP, server: server{name: "refserver"}}
	require.Equal(t, flawed, r.judge(cancelStep, errors.New("not seen")).verdict)
	require.Equal(t, failed, r.judge(cancelStep, nil).verdict, "the entry is out of date")
	r.front = stdio
	require.Equal(t, cell{failed, "not seen"}, r.judge(cancelStep, errors.New("not seen")))
	require.Equal(t, cell{verdict: ok}, r.judge(cancelStep, nil))
}

func TestWhatLivesOnIsSeen(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("processes are looked up in /proc, which this system has not")
	}
	r := &row{mark: newMark(), where: places{work: t.TempDir()}}
	child := exec.CommandContext(t.Context(), "sleep", "60")
	child.Env = append(os.Environ(), markName+"="+r.mark)
	require.NoError(t, child.Start())
	require.ErrorContains(t, gone(r.mark), "sleep")
	require.Empty(t, r.behind(), "its parent is no proxy")
	r.clear()
	require.Error(t, child.Wait())
	require.NoError(t, gone(r.mark))
}

func TestHostLogIsKept(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	d, err := start([]string{"sh", "-c", "echo broken >&2"}, newMark(), log)
	require.NoError(t, err)
	_, err = d.order(t.Context(), orders.Order{Do: "list"})
	require.Error(t, err)
	d.kill()
	said, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "broken\n", string(said))
}
