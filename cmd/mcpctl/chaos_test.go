//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// What a call of the tool "pay" came to, besides the words that the proxy has for the delivery
// of a failure.
const (
	paid = "paid"
	lost = "lost" // the connection broke, or the proxy was killed, before the response came
	hung = "hung"
)

// callLimit is how long a call may take. A program that ends too often is started again after a
// minute, and calls fail at once meanwhile.
const callLimit = time.Minute

// killLimit is how long nothing is killed while calls fail: a circuit can be open for 30 s.
const killLimit = 2 * time.Second

// patience is how long the proxy may take, on a busy machine, until calls work after the last kill.
const patience = 2 * time.Minute

// errLost means that no response will come.
var errLost = errors.New("the connection is gone")

// A front is a host of a proxy, which it starts again when it is gone.
type front interface {
	// pay calls the tool, and returns what the call came to.
	pay(ctx context.Context, caller int, id string) string
	// dump ends the proxy, and returns what it said on stderr, with its goroutines.
	dump() string
	// process returns the running proxy.
	process() *os.Process
	// settle ends the sessions and closes connections. It returns how many sessions the proxy may
	// still have, because the answers to their openings were lost.
	settle() int
	// end ends the host. The proxy has to end, too.
	end()
}

// judge returns what is wrong with a run: executions are the ids that were executed, in that
// order, and ends what each call came to.
func judge(executions []string, ends map[string]string) (wrong []string) {
	times := map[string]int{}
	for _, id := range executions {
		times[id]++
	}
	for id, n := range times {
		if _, called := ends[id]; n > 1 || !called {
			wrong = append(wrong, fmt.Sprintf("%s was executed %d times, and came to %q", id, n, ends[id]))
		}
	}
	for id, end := range ends {
		n := times[id]
		switch end {
		case paid, "answered":
			if n == 0 {
				wrong = append(wrong, fmt.Sprintf("%s came to %q, and was not executed", id, end))
			}
		case "not-sent", "rejected":
			if n > 0 {
				wrong = append(wrong, fmt.Sprintf("%s came to %q, and was executed", id, end))
			}
		case "unknown", lost: // either
		default:
			wrong = append(wrong, fmt.Sprintf("%s came to %q", id, end))
		}
	}
	return wrong
}

// The judge of the chaos finds each kind of wrong.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		executions []string
		end        string
		wrong      int
	}{
		"paid": {[]string{"a"}, paid, 0}, "not executed": {nil, paid, 1}, "twice": {[]string{"a", "a"}, paid, 1},
		"twice and lost": {[]string{"a", "a"}, lost, 1}, "for nobody": {[]string{"a", "b"}, paid, 1},
		"not sent": {nil, "not-sent", 0}, "sent": {[]string{"a"}, "not-sent", 1}, "not rejected": {[]string{"a"}, "rejected", 1},
		"unknown": {[]string{"a"}, "unknown", 0}, "unknown, not executed": {nil, "unknown", 0}, "hung": {nil, hung, 1}, "other": {nil, "error", 1},
	} {
		require.Len(t, judge(tt.executions, map[string]string{"a": tt.end}), tt.wrong, name)
	}
}

// chaos is a run: callers, and something that is killed many times.
type chaos struct {
	t                     *testing.T
	dir                   string
	calls, kills, callers int
	plant                 string // what the program does wrong, see [payServer]

	alive *os.File   // the fifo that the programs have open, too
	ended chan error // gets the outcome when nobody has it open any more

	settled func()   // closes what idle proxies keep open for a time
	ends    []func() // end what the test itself started
}

// chaosSize returns the size of a run. The long form is for MAINSTAY_SOAK=all, CI has a tenth.
func chaosSize() (calls, kills, callers int) {
	switch os.Getenv("MAINSTAY_SOAK") {
	case "all":
		return 10_000, 300, 64
	case "":
		return 200, testmain.Fewer(10, 3), 16
	}
	return 1000, 30, 32
}

// env is where the programs write.
func (c *chaos) env() []string {
	return []string{"PAID=" + filepath.Join(c.dir, "paid"), "ALIVE=" + filepath.Join(c.dir, "alive"), "PLANT=" + c.plant}
}

// flags are the environment for a proxy's program.
func (c *chaos) flags() []string {
	var flags []string
	for _, e := range c.env() {
		flags = append(flags, "-e", e)
	}
	return flags
}

// written returns what the programs wrote: their process ids, and the ids of calls.
func (c *chaos) written() (pids []int, ids []string) {
	raw, err := os.ReadFile(filepath.Join(c.dir, "paid"))
	require.NoError(c.t, err)
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		number, start := strings.CutPrefix(line, "start ")
		if !start {
			ids = append(ids, line)
			continue
		}
		pid, err := strconv.Atoi(number)
		require.NoError(c.t, err)
		pids = append(pids, pid)
	}
	return pids, ids
}

// killProgram kills one of the newest programs: those of the running proxy.
func (c *chaos) killProgram(r *rand.Rand, newest int) {
	pids, _ := c.written()
	for _, i := range r.Perm(len(pids)) {
		if i < len(pids)-newest {
			continue
		}
		if syscall.Kill(pids[i], syscall.SIGKILL) == nil {
			return
		}
	}
}

// descriptors returns how many files a process has open, 0 where that cannot be known.
func descriptors(p *os.Process) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Pid))
	if err != nil {
		return 0
	}
	return len(entries)
}

// sessionFiles is how many files of a proxy belong to a session with a program, at most.
const sessionFiles = 6

// sessionGoroutines is how many goroutines of a proxy belong to a session with a program, at most.
const sessionGoroutines = 20

// idle waits until the proxy has no more files open than most and what sessions need that nobody
// knows, if most is not 0, and no longer opens or closes any. It returns the descriptors and the
// goroutines that are left, and the number of such sessions. The proxy ends.
func (c *chaos) idle(f front, most int) (files int, goroutines []string, strays int) {
	strays = f.settle()
	same := 0
	enough := func() bool {
		c.settled()
		now := descriptors(f.process())
		same++
		if now != files {
			files, same = now, 0
		}
		return same >= 20 && (most == 0 || files <= most+strays*sessionFiles)
	}
	require.Eventually(c.t, enough, 30*time.Second, 10*time.Millisecond, "more than %d descriptors", most)
	said := f.dump()
	for one := range strings.SplitSeq(said, "\n\n") {
		_, maker, made := strings.Cut(one, "\ncreated by ")
		// One that has answered a request rests for a second or two.
		rests := strings.Contains(maker, "/proxy.(*workers[") && !strings.Contains(one, "/proxy.(*host)")
		if made && !strings.HasPrefix(maker, "runtime.") && !rests {
			goroutines = append(goroutines, one)
		}
	}
	require.NotEmpty(c.t, goroutines, "no goroutines in %q", said)
	return files, goroutines, strays
}

// kill breaks something. lasting ones neither end the proxy nor keep it from starting its program
// again: those go on in the last third, so that what each leaves behind adds up in one proxy.
type kill struct {
	do      func(r *rand.Rand)
	lasting bool
}

// run plays a run in which nothing may be wrong, and no program may be left.
func (c *chaos) run(f front, kills ...kill) {
	require.Empty(c.t, c.play(f, kills...))
	require.NoError(c.t, c.left(20*time.Second))
}

// play makes calls while something is killed, and returns what is wrong with the calls. kills are
// besides that of the proxy.
func (c *chaos) play(f front, kills ...kill) []string {
	t := c.t
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number will do
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("CHAOS_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))                                          //nolint:gosec // to be repeated
	kills = append(kills, kill{do: func(*rand.Rand) { _ = f.process().Kill() }}) // it may have ended
	lasting := slices.DeleteFunc(slices.Clone(kills), func(k kill) bool { return !k.lasting })

	ends := map[string]string{"first": f.pay(t.Context(), 0, "first")}
	require.Equal(t, paid, ends["first"])
	t.Cleanup(func() { _ = f.process().Kill() }) // if the test fails: else it has ended
	files, goroutines, _ := c.idle(f, 0)

	type end struct{ id, of string }
	results := make(chan end)
	enough := make(chan struct{})
	var last atomic.Int64
	var callers sync.WaitGroup
	for caller := range c.callers {
		callers.Go(func() {
			for {
				id := fmt.Sprint("call-", last.Add(1))
				ctx, cancel := context.WithTimeout(t.Context(), callLimit)
				of := f.pay(ctx, caller, id)
				if ctx.Err() != nil {
					of = hung
				}
				cancel()
				results <- end{id, of}
				pause := time.Duration(0)
				if of != paid { // calls fail at once while a circuit is open, or a program is not started again yet
					pause = 20 * time.Millisecond
				}
				select {
				case <-enough:
					return
				case <-time.After(pause):
				}
			}
		})
	}
	go func() {
		callers.Wait()
		close(results)
	}()
	killed, since, worked, all := 0, time.Now(), 0, 0 // calls that were paid since the last kill, and all
	each := c.calls / (c.kills + 1)
	next := each/2 + r.IntN(each)
	stop := sync.OnceFunc(func() { close(enough) })
	for got := range results {
		ends[got.id] = got.of
		if got.of == paid {
			worked++
			all++
		}
		switch {
		case killed == c.kills && len(ends) >= c.calls && (all > c.calls/2 || time.Since(since) > patience):
			stop()
		case killed < c.kills && (worked >= next || time.Since(since) > killLimit):
			kinds := kills
			if len(lasting) > 0 && killed >= c.kills*2/3 {
				kinds = lasting
			}
			kinds[r.IntN(len(kinds))].do(r)
			killed++
			since, worked, next = time.Now(), 0, each/2+r.IntN(each)
		}
	}

	begun := time.Now()
	for n := 0; ends[fmt.Sprint("last-", n)] != paid; n++ { // the proxy works, or the next one
		require.Less(t, time.Since(begun), patience, "%d calls failed since", n)
		if n > 0 {
			_ = f.process().Kill() // its program was restarted too often
		}
		ctx, cancel := context.WithTimeout(t.Context(), callLimit)
		ends[fmt.Sprint("last-", n+1)] = f.pay(ctx, 0, fmt.Sprint("last-", n+1))
		cancel()
	}
	filesNow, goroutinesNow, strays := c.idle(f, files)
	require.LessOrEqual(t, len(goroutinesNow), len(goroutines)+strays*sessionGoroutines,
		"goroutines are left of:\n%s", strings.Join(goroutinesNow, "\n\n"))
	ends["end"] = f.pay(t.Context(), 0, "end")
	f.settle()
	f.end()
	counts := map[string]int{}
	for _, of := range ends {
		counts[of]++
	}
	_, ids := c.written()
	t.Logf("%d calls by %d callers, %d kills: %v; %d executed; descriptors %d → %d, goroutines %d → %d, sessions that nobody knows %d",
		len(ends), c.callers, killed, counts, len(ids), files, filesNow, len(goroutines), len(goroutinesNow), strays)
	require.Greater(t, counts[paid], c.calls/2, "most of the time nothing worked")
	return judge(ids, ends)
}

// newChaos prepares the files of the programs. When the test ends, so do they.
func newChaos(t *testing.T) *chaos {
	t.Helper()
	c := &chaos{t: t, dir: t.TempDir(), ended: make(chan error, 1), settled: func() {}}
	c.calls, c.kills, c.callers = chaosSize()
	alive := filepath.Join(c.dir, "alive")
	require.NoError(t, syscall.Mkfifo(alive, 0o600))
	var err error
	c.alive, err = os.OpenFile(alive, os.O_RDWR, 0) // else the first open waits for the other end
	require.NoError(t, err)
	read, err := os.Open(alive)
	require.NoError(t, err)
	go func() {
		_, err := io.Copy(io.Discard, read)
		c.ended <- errors.Join(err, read.Close())
	}()
	t.Cleanup(func() {
		_ = c.alive.Close() // left has closed it, unless the test failed
		pids, _ := c.written()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return c
}

// left returns an error if a program has not ended after the limit.
func (c *chaos) left(limit time.Duration) error {
	for _, end := range c.ends {
		end()
	}
	require.NoError(c.t, c.alive.Close())
	select {
	case err := <-c.ended:
		return err
	case <-time.After(limit):
		pids, _ := c.written()
		return fmt.Errorf("a program is left, one of %v", pids)
	}
}

// Whatever of a proxy before a program, the program or the pipes is killed: nothing is executed
// twice, every failure says the truth, no call hangs, and nothing is left.
func TestChaosStdioToProgram(t *testing.T) {
	t.Parallel()
	c := newChaos(t)
	f := newPipeFront(c, append(c.flags(), "--", "payserver"))
	c.run(f, kill{do: func(*rand.Rand) { f.cut() }}, kill{do: func(r *rand.Rand) { c.killProgram(r, 1) }})
}

// The same for a server over HTTP.
func TestChaosStdioToHTTP(t *testing.T) {
	t.Parallel()
	c := newChaos(t)
	s := newPayProcess(c)
	f := newPipeFront(c, []string{s.url()})
	c.run(f, append(s.kills(), kill{do: func(*rand.Rand) { f.cut() }})...)
}

// The same for hosts that reach a proxy by a URL, with a program for each session.
func TestChaosListenToProgram(t *testing.T) {
	t.Parallel()
	c := newChaos(t)
	f := newURLFront(c, append(c.flags(), "--", "payserver"))
	c.run(f, f.cuts(), kill{do: func(r *rand.Rand) { c.killProgram(r, len(f.sessions)) }})
}

// The same for a server over HTTP.
func TestChaosListenToHTTP(t *testing.T) {
	t.Parallel()
	c := newChaos(t)
	s := newPayProcess(c)
	f := newURLFront(c, []string{s.url()})
	c.run(f, append(s.kills(), f.cuts())...)
}

// The same for hosts without sessions, before a program that has sessions and one that has none.
func TestChaosStatelessToProgram(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"session", "stateless"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t)
			f := newURLFront(c, append(c.flags(), "--", "payserver", program))
			f.stateless = true
			c.run(f, f.cuts(), kill{do: func(r *rand.Rand) { c.killProgram(r, 1) }})
		})
	}
}

// drain reads to the end.
func drain(from *bufio.Reader) { _, _ = io.Copy(io.Discard, from) }
