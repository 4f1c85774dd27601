package engine

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	// envServer makes the test program a server, and names the file that gets a line for each
	// start.
	envServer = "MAINSTAY_ENGINE_SERVER"
	// envIdle makes it exit if no message comes.
	envIdle = "MAINSTAY_ENGINE_IDLE"
)

// serveLines is a server that answers "work" with a result until it is sent "poison".
func serveLines(in io.Reader, out io.Writer) {
	f, err := os.OpenFile(os.Getenv(envServer), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintln(f, "start")
	_ = f.Close()
	idle := time.AfterFunc(time.Hour, func() {})
	if os.Getenv(envIdle) != "" {
		idle = time.AfterFunc(50*time.Millisecond, func() { os.Exit(3) }) //nolint:forbidigo // it is another program
	}
	poisoned := false
	for lines := bufio.NewScanner(in); lines.Scan(); {
		idle.Stop()
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch {
		case m.Method == mcp.MethodInitialize:
			answer = `"result":{"protocolVersion":"` + string(mcp.LatestSession) + `","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`
		case m.Method == "poison":
			poisoned, answer = true, `"result":{}`
		case m.Method == mcp.MethodPing, m.Method == "work" && !poisoned:
			answer = `"result":{}`
		}
		_, _ = fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
	}
}

// asks is a scenario that sends a method on a session of its own and wants a result.
func asks(id, method string) Scenario {
	return Scenario{
		ID: id, Area: "base", Checks: []Check{{Check: conformance.Check{ID: id, Level: conformance.Must}}},
		Run: func(t *Trial) {
			a, err := t.Fresh().Request(t.Ctx, method, nil)
			t.Check(id, err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
		},
	}
}

// runPrograms runs scenarios against the test program. It returns the statuses by check, and
// how often the program was started.
func runPrograms(t *testing.T, scenarios []Scenario, opts conformance.Options, env ...string) (statuses map[string]conformance.Status, starts int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "starts")
	subject := conformance.Command([]string{os.Args[0]}, append(append(os.Environ(), env...), envServer+"="+file))
	opts.Revisions = []mcp.Version{mcp.LatestSession}
	report, err := Run(t.Context(), subject, Suite{Scenarios: scenarios}, opts)
	require.NoError(t, err)
	statuses = map[string]conformance.Status{}
	for _, res := range report.Results {
		statuses[res.ID] = res.Status
	}
	said, err := os.ReadFile(file)
	require.NoError(t, err)
	return statuses, strings.Count(string(said), "start")
}

// TestReuse: scenarios hand a program on, and one that does not pass on it runs again on a new
// one.
func TestReuse(t *testing.T) {
	t.Parallel()
	statuses, starts := runPrograms(t, []Scenario{
		asks("T-1", "poison"), asks("T-2", "work"), asks("T-3", "missing"), asks("T-4", "ping"), asks("T-5", "work"),
	}, conformance.Options{})
	require.Equal(t, map[string]conformance.Status{
		"T-1": conformance.Pass, "T-2": conformance.Pass, "T-3": conformance.Fail, "T-4": conformance.Pass, "T-5": conformance.Pass,
	}, statuses)
	require.LessOrEqual(t, starts, 6) // two to find the revisions, T-1, and T-2, T-3 and T-5 alone
}

// TestSpare: a program that was started before its scenario and has exited since is replaced.
func TestSpare(t *testing.T) {
	t.Parallel()
	slow, own := asks("T-1", "work"), asks("T-2", "work")
	slow.Run = func(t *Trial) {
		t.NoError(wire.Pause(t.Ctx, 300*time.Millisecond))
		t.Pass("T-1")
	}
	own.Starts = 1
	for _, env := range []string{"", envIdle + "=x"} {
		doing := ""
		statuses, starts := runPrograms(t, []Scenario{slow, own}, conformance.Options{OnProgress: func(step string, _, _ int) { doing = step }}, env)
		require.Equal(t, map[string]conformance.Status{"T-1": conformance.Pass, "T-2": conformance.Pass}, statuses)
		require.Contains(t, doing, "about 3 starts of the program")
		require.LessOrEqual(t, starts, 4)
	}
}

// TestParallel: scenarios at once have the same results in the same order.
func TestParallel(t *testing.T) {
	t.Parallel()
	var scenarios []Scenario
	var want, got []string
	for i := range 12 {
		id, method := fmt.Sprintf("T-%02d", i), "work"
		if i%4 == 3 {
			method = "missing"
		}
		scenarios, want = append(scenarios, asks(id, method)), append(want, id)
	}
	statuses, _ := runPrograms(t, scenarios, conformance.Options{Parallel: 3, OnResult: func(r conformance.Result) { got = append(got, r.ID) }})
	require.Equal(t, want, got)
	for i, id := range want {
		require.Equal(t, i%4 == 3, statuses[id] == conformance.Fail, id)
	}
}
