package client_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// journalEnv names the variable with the file that the program "journal" writes
// down what it does in: its process id when it starts, and the key of each call
// when it is executed.
const journalEnv = "MAINSTAY_TEST_JOURNAL"

// soakEnv makes long what is a few seconds by default.
const soakEnv = "MAINSTAY_SOAK"

// serveJournal executes each call on a goroutine of its own, which takes a moment
// before and after.
func serveJournal() {
	journal, err := os.OpenFile(os.Getenv(journalEnv), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		exit(9)
	}
	fmt.Fprintln(journal, "start", os.Getpid())
	lines := bufio.NewReader(os.Stdin)
	var out sync.Mutex
	say := func(text string) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(text)
	}
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
		switch {
		case !ok:
		case req.Method != "tools/call":
			say(wellAnswered(req))
		default:
			_, rest, _ := strings.Cut(string(req.Params), `"message":"`)
			key, _, _ := strings.Cut(rest, `"`)
			go func() {
				<-time.After(rand.N(2 * time.Millisecond))
				fmt.Fprintln(journal, "done", key)
				<-time.After(rand.N(2 * time.Millisecond))
				say(wellAnswered(req))
			}()
		}
	}
}

// journal is what the programs have written down: process ids in order, and how
// often each call was executed.
type journal struct {
	pids []int
	done map[string]int
}

func readJournal(t *testing.T, path string) journal {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	j := journal{done: map[string]int{}}
	for line := range strings.Lines(string(raw)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "done" {
			j.done[rest]++
			continue
		}
		pid, err := strconv.Atoi(rest)
		require.NoError(t, err)
		j.pids = append(j.pids, pid)
	}
	return j
}

// fate is how a call has ended.
type fate struct {
	key string
	err error
}

// right reports whether a Delivery is true, by how often the call was executed.
func (f fate) right(executed int) bool {
	switch {
	case executed > 1:
		return false // never twice
	case f.err == nil:
		return executed == 1
	}
	switch mcperrors.DeliveryOf(f.err) {
	case mcperrors.NotSent, mcperrors.Rejected:
		return executed == 0
	case mcperrors.Answered:
		return executed == 1
	case mcperrors.Unknown:
		return true
	}
	return false
}

// The server is killed repeatedly under 64 callers. Every call ends with a true
// Delivery; the server is back each time; no process is left. A few rounds, or 200 with
// MAINSTAY_SOAK set.
func TestKilledUnderManyCallers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	rounds, callers := 5, 64
	if os.Getenv(soakEnv) != "" {
		rounds = 200
	}
	path := filepath.Join(t.TempDir(), "journal")
	c, err := client.Connect(t.Context(), &transport.Command{
		Argv: programArgv("journal"), Env: []string{"GORACE=atexit_sleep_ms=0", journalEnv + "=" + path},
	}, sessionEra, wired(t),
		client.WithResilience(client.Resilience{Restart: client.Restart{MinPause: time.Millisecond, MaxPause: 10 * time.Millisecond, Crashes: 100 * rounds}}))
	require.NoError(t, err)
	closed := false
	defer func() {
		if !closed {
			_ = c.Close()
		}
	}()
	var fates []fate
	counts := map[string]int{}
	most := 10 * rounds // on a busy machine, all calls may be answered before the kill
	round := 0
	for ; round < rounds || counts["unknown"] == 0 && round < most; round++ {
		got := killOnce(t, c, round, callers, readJournal(t, path).pids[round])
		for _, f := range got {
			name := "answered"
			if f.err != nil {
				name = mcperrors.DeliveryOf(f.err).String()
			}
			counts[name]++
		}
		fates = append(fates, got...)
		key := fmt.Sprintf("after %d", round)
		back, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		_, err := c.CallTool(back, "echo", map[string]any{"message": key})
		cancel()
		require.NoError(t, err, "the server is back")
		fates = append(fates, fate{key, nil})
		require.Equal(t, client.StateReady, c.State())
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.Len(t, readJournal(t, path).pids, round+2, "one fresh process a kill")
	}
	require.NoError(t, c.Close())
	closed = true
	require.Len(t, fates, round*(callers*callsEach+1))
	j := readJournal(t, path)
	for _, f := range fates {
		require.True(t, f.right(j.done[f.key]), "call %q was executed %d times, and its end is %v", f.key, j.done[f.key], f.err)
		delete(j.done, f.key)
	}
	require.Empty(t, j.done, "executed for nobody")
	for _, pid := range j.pids {
		p, err := os.FindProcess(pid)
		require.True(t, err != nil || p.Signal(syscall.Signal(0)) != nil, "process %d is left", pid)
	}
	t.Logf("%d kills under %d callers: %v", round, callers, counts)
	require.NotZero(t, counts["unknown"], "no call was in flight")
}

// callsEach is how many calls a caller makes, one after the other: the later ones
// find the server dead, about to be back, or back.
const callsEach = 3

// killOnce kills a process when some of its callers have their answers, and
// returns how each call has ended.
func killOnce(t *testing.T, c *client.Client, round, callers, pid int) []fate {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	after := rand.IntN(callers * callsEach / 2)
	results := make(chan fate, callers*callsEach)
	start := make(chan struct{})
	for n := range callers {
		go func() {
			<-start
			for k := range callsEach {
				key := fmt.Sprintf("%d-%d-%d", round, n, k)
				_, err := c.CallTool(ctx, "echo", map[string]any{"message": key})
				results <- fate{key, err}
			}
		}()
	}
	close(start)
	var out []fate
	for range callers * callsEach {
		if len(out) == after {
			require.NoError(t, p.Kill())
		}
		out = append(out, <-results)
	}
	require.NoError(t, ctx.Err(), "a call hung")
	return out
}
