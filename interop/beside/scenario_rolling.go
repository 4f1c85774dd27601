package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

const (
	callers      = 8 // of each side
	rollingFor   = 20 * time.Second
	restartEvery = 2 * time.Second
	downFor      = 500 * time.Millisecond
	callPatience = 5 * time.Second
	// afterFailure is how long a caller of either side waits before its next call.
	afterFailure = 50 * time.Millisecond
	// What chance may cost on a busy machine, as a fraction of go-sdk's answered calls, as
	// a part of the success rate in points of a hundred, and in the longest gap.
	answeredSlack = 0.1
	rateSlack     = 5
	gapSlack      = 500 * time.Millisecond
)

// rolling: an HTTP server is killed every 2 s and started again half a second later, under
// 8 callers of each side. Both sides call at the same time, so that every restart, and
// whatever else slows this machine, meets both. Mainstay reopens a lost session itself;
// go-sdk's callers do it as its applications do.
func rolling(ctx context.Context, s *stage) result {
	var r result
	server, err := newRestarted(ctx, s)
	if err != nil {
		r.fail("both", "rolling: server", err)
		r.add("calls answered", unplayed, [2]string{"-", "-"})
		return r
	}
	defer server.kill()
	var tallies [2]*tally
	var sessions [2]session
	for i, side := range sides() {
		tallies[i] = &tally{failures: classes{}}
		open, err := side.dial(ctx, server.url)
		if err != nil {
			r.fail(side.name, "rolling: connect", err)
			r.add("calls answered", unplayed, [2]string{"-", "-"})
			return r
		}
		sessions[i] = open
	}
	sessions[1] = &reopening{dial: sides()[1].dial, url: server.url, current: sessions[1]}
	playing, stop := context.WithTimeout(ctx, rollingFor)
	defer stop()
	began := time.Now()
	var all sync.WaitGroup
	for i, side := range sides() {
		tallies[i].last = began
		for caller := range callers {
			all.Go(func() { keepCalling(ctx, playing, sessions[i], tallies[i], fmt.Sprintf("%s-%d", side.name, caller)) })
		}
	}
	restarts, err := server.roll(ctx, playing)
	if err != nil {
		r.fail("both", "rolling: restart", err)
	}
	all.Wait()
	for i, side := range sides() {
		tallies[i].until(began.Add(rollingFor))
		r.note("%s: rolling: %d restarts, failed calls: %s", side.name, restarts, tallies[i].failures)
		if err := sessions[i].close(); err != nil {
			r.fail(side.name, "rolling: close", err)
		}
	}
	twice, err := duplicates(server.file)
	if err != nil {
		r.fail("both", "rolling: effects", err)
	}
	r.judge(tallies, twice)
	return r
}

func (r *result) judge(tallies [2]*tally, twice [2]int) {
	ours, theirs := tallies[0], tallies[1]
	answered := [2]int{ours.answered, theirs.answered}
	r.add("calls answered", atLeast(answered, answeredSlack), [2]string{fmt.Sprint(ours.answered), fmt.Sprint(theirs.answered)})
	r.add("calls failed", onlyShown, [2]string{fmt.Sprint(ours.failed), fmt.Sprint(theirs.failed)})
	r.add("success rate", verdictOf(ours.rate() >= theirs.rate()-rateSlack),
		[2]string{fmt.Sprintf("%.1f %%", ours.rate()), fmt.Sprintf("%.1f %%", theirs.rate())})
	gaps := [2]time.Duration{ours.gap, theirs.gap}
	r.add("longest time without a success", within(gaps, gapSlack), times(gaps))
	// Not compared: a call that ran twice is wrong whatever others do.
	r.add("calls that ran twice", verdictOf(twice[0] == 0), [2]string{fmt.Sprint(twice[0]), fmt.Sprint(twice[1])})
}

// keepCalling makes one call after another while playing lasts. A call that has begun is
// waited for.
func keepCalling(ctx, playing context.Context, open session, t *tally, name string) {
	for n := 0; playing.Err() == nil; n++ {
		callCtx, stop := context.WithTimeout(ctx, callPatience)
		_, err := open.call(callCtx, "effect", map[string]any{"id": fmt.Sprintf("%s-%d", name, n)})
		stop()
		t.count(err)
		if err != nil {
			pause(playing, afterFailure)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// tally is what became of the calls of one side.
type tally struct {
	mu               sync.Mutex
	answered, failed int
	failures         classes
	last             time.Time // success
	gap              time.Duration
}

func (t *tally) count(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.failed++
		t.failures[class(err)]++
		return
	}
	t.answered++
	t.until(time.Now())
}

// until counts the time since the last success, which ends with another one, or with
// the play.
func (t *tally) until(now time.Time) {
	t.gap = max(t.gap, now.Sub(t.last))
	t.last = now
}

// rate is the percentage of calls that were answered.
func (t *tally) rate() float64 {
	return 100 * float64(t.answered) / float64(max(1, t.answered+t.failed))
}

// class is a short text for an error, the same for errors of one cause.
func class(err error) string {
	if own := (*mcperrors.Error)(nil); errors.As(err, &own) {
		return fmt.Sprintf("%s (%s)", own.Kind, own.Delivery)
	}
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}

// reopening is a session as applications of go-sdk keep one: an error of a call ends it,
// and the next call opens another. A call whose session cannot be opened has failed.
type reopening struct {
	dial    func(ctx context.Context, url string) (session, error)
	url     string
	mu      sync.Mutex
	current session // nil: to be opened
	closing sync.WaitGroup
}

func (s *reopening) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	open, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	text, err := open.call(ctx, tool, args)
	if err != nil {
		s.drop(open)
	}
	return text, err
}

// open returns the current session. Callers that find none wait for the one that opens it.
func (s *reopening) open(ctx context.Context) (session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		return s.current, nil
	}
	open, err := s.dial(ctx, s.url)
	if err != nil {
		return nil, err
	}
	s.current = open
	return open, nil
}

func (s *reopening) drop(failed session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == failed {
		s.current = nil
		s.closing.Go(func() { _ = failed.close() }) // it has failed, and closing it takes a request
	}
}

func (s *reopening) revision() string { return "" }

func (s *reopening) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Wait()
	if s.current == nil {
		return nil
	}
	return s.current.close()
}

// restarted is the server of the scenario.
type restarted struct {
	self, address, url, file string
	*helper
}

func newRestarted(ctx context.Context, s *stage) (*restarted, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	r := &restarted{self: s.self, address: address, url: "http://" + address + "/mcp", file: filepath.Join(s.work, "effects")}
	if err := os.RemoveAll(r.file); err != nil {
		return nil, err
	}
	return r, r.start(ctx)
}

// freeAddress returns one below port 32768, where Linux begins to take ports for outgoing
// connections: nobody takes it while the server is down.
func freeAddress(ctx context.Context) (string, error) {
	for port := 23110; port < 23160; port++ {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", errors.New("no port from 23110 to 23159 is free")
}

// start starts the server and waits until it listens.
func (r *restarted) start(ctx context.Context) (err error) {
	if r.helper, err = startHelper(r.self, "effects", r.address, r.file); err != nil {
		return err
	}
	const tries, each = 500, 20 * time.Millisecond
	for n := 0; n < tries && ctx.Err() == nil; n++ {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.address); err == nil {
			return conn.Close()
		}
		pause(ctx, each)
	}
	return fmt.Errorf("does not listen on %s", r.address)
}

// roll restarts the server while playing lasts, and leaves it running.
func (r *restarted) roll(ctx, playing context.Context) (restarts int, err error) {
	tick := time.NewTicker(restartEvery)
	defer tick.Stop()
	for {
		select {
		case <-playing.Done():
		case <-tick.C:
		}
		if playing.Err() != nil { // also when both were ready
			return restarts, nil
		}
		r.kill()
		pause(ctx, downFor)
		restarts++
		if err := r.start(ctx); err != nil {
			return restarts, err
		}
	}
}

// duplicates returns how many calls of each side have more than one line in file.
func duplicates(file string) (found [2]int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return found, err
	}
	effects := map[string]int{}
	for id := range strings.Lines(string(text)) {
		effects[id]++
	}
	for id, n := range effects {
		for i, side := range sides() {
			if n > 1 && strings.HasPrefix(id, side.name+"-") {
				found[i]++
			}
		}
	}
	return found, nil
}
