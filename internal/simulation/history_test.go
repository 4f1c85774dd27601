package simulation

import (
	"fmt"
	"sync"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// operation is one call of an application with its history.
type operation struct {
	unsafe   bool
	runs     int // by the server
	attempts int // that reached the transport
	ends     int // how often the caller got its outcome
	answered bool
	delivery mcperrors.Delivery
	wrong    bool // the answer of another call
}

// history has everything that happened in a run.
type history struct {
	mu         sync.Mutex
	operations map[int]*operation
	report     Report
}

// Report is the result of a run. The counts from Duplicates on must be 0, and Probes at most 1.
type Report struct {
	// Calls is the number of calls, Attempts the number of their requests at the servers,
	// Answered the number of answered calls.
	Calls, Attempts, Answered int
	// Unknown is the number of calls of unknown delivery.
	Unknown int
	// Probes is the maximum number of concurrent requests in HALF_OPEN.
	Probes int
	// Hedges is the number of second requests, Rounds the number of answered questions, Sessions
	// the number of sessions after a lost one, Starts the number of programs after an exited one.
	// A run without them has not tested them.
	Hedges, Rounds, Sessions, Starts int

	// Duplicates are unsafe calls that ran more than once, Lost calls without exactly one
	// outcome, Swapped calls with another call's answer, Denied calls that ran and are reported
	// as not run, and Missing calls that are reported as run and did not.
	Duplicates, Lost, Swapped, Denied, Missing int
	// Open are requests during an open circuit, Early those before the end of the server's
	// Retry-After, Hasty those before the handshake of their session. Needless are sessions that
	// replaced a working one.
	Open, Early, Hasty, Needless int
	// Fast are requests beyond the client's rate, Crowded those beyond its bulkhead. A second
	// request of a call counts with the first.
	Fast, Crowded int
	// Reused are answers to a question that were sent a second time.
	Reused int
	// Unhealed are servers whose clients did not recover in time.
	Unhealed int
}

// Add adds the results of another run.
func (r *Report) Add(o Report) {
	r.Calls += o.Calls
	r.Attempts += o.Attempts
	r.Answered += o.Answered
	r.Unknown += o.Unknown
	r.Probes = max(r.Probes, o.Probes)
	r.Duplicates += o.Duplicates
	r.Lost += o.Lost
	r.Swapped += o.Swapped
	r.Denied += o.Denied
	r.Missing += o.Missing
	r.Open += o.Open
	r.Early += o.Early
	r.Hasty += o.Hasty
	r.Needless += o.Needless
	r.Fast += o.Fast
	r.Crowded += o.Crowded
	r.Reused += o.Reused
	r.Hedges += o.Hedges
	r.Rounds += o.Rounds
	r.Sessions += o.Sessions
	r.Starts += o.Starts
	r.Unhealed += o.Unhealed
}

// Faults lists what must not have happened, nil for nothing.
func (r Report) Faults() []string {
	var out []string
	for _, f := range []struct {
		n    int
		what string
	}{
		{r.Duplicates, "unsafe calls ran more than once"},
		{r.Lost, "calls have not exactly one outcome"},
		{r.Swapped, "calls got the answer of another"},
		{r.Denied, "calls ran and are said not to have"},
		{r.Missing, "calls are said to have run and have not"},
		{r.Open, "requests were sent while the circuit was open"},
		{r.Early, "requests were sent before Retry-After was over"},
		{r.Hasty, "requests were sent before the handshake"},
		{r.Needless, "sessions were opened in the place of one that works"},
		{r.Fast, "requests were sent faster than the rate"},
		{r.Crowded, "requests were sent beyond the bulkhead"},
		{r.Reused, "answers were given to a server twice"},
		{r.Unhealed, "clients did not recover"},
		{max(0, r.Probes-1), "probes too many at once"},
	} {
		if f.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	return out
}

func newHistory() *history { return &history{operations: map[int]*operation{}} }

// begin records a call.
func (h *history) begin(key int, unsafe bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations[key] = &operation{unsafe: unsafe}
}

// attempt records a request of a call and returns its number.
func (h *history) attempt(key int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.operations[key]
	o.attempts++
	return o.attempts
}

// run records that the server ran a call.
func (h *history) run(key int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations[key].runs++
}

// end records the outcome of a call: the answer, or an error.
func (h *history) end(key int, answer string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.operations[key]
	o.ends++
	if err == nil {
		o.answered, o.delivery = true, mcperrors.Answered
		o.wrong = answer != answerTo(key)
		return
	}
	o.delivery = mcperrors.DeliveryOf(err)
}

// answerTo is the servers' answer to a call.
func answerTo(key int) string { return fmt.Sprintf("done %d", key) }

// probes records the number of concurrent requests in HALF_OPEN.
func (h *history) probes(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.report.Probes = max(h.report.Probes, n)
}

// count counts an event.
func (h *history) count(count *int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*count++
}

// check checks every call.
func (h *history) check() Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.report
	for _, o := range h.operations {
		r.Calls++
		r.Attempts += o.attempts
		if o.answered {
			r.Answered++
		}
		if o.ends == 1 && o.delivery == mcperrors.Unknown {
			r.Unknown++
		}
		if o.unsafe && o.runs > 1 {
			r.Duplicates++
		}
		if o.ends != 1 {
			r.Lost++
		}
		if o.wrong {
			r.Swapped++
		}
		if (o.delivery == mcperrors.NotSent || o.delivery == mcperrors.Rejected) && o.ends == 1 && o.runs > 0 {
			r.Denied++
		}
		if o.answered && o.runs == 0 {
			r.Missing++
		}
	}
	return r
}
