package simulation

import (
	"fmt"
	"sync"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// operation is one call of an application and all that is known of it.
type operation struct {
	unsafe   bool
	runs     int // by the server
	attempts int // that reached the transport
	ends     int // how often the caller got its outcome
	answered bool
	delivery mcperrors.Delivery
	wrong    bool // the answer of another call
}

// history is everything that happened in a run.
type history struct {
	mu         sync.Mutex
	operations map[int]*operation
	report     Report
}

// Report is what a run showed. The counts from Duplicates on must be 0, and
// Probes at most 1.
type Report struct {
	// Calls is how many calls were made, Attempts how many requests the servers'
	// side saw for them, Answered how many calls were.
	Calls, Attempts, Answered int
	// Unknown is how many ended without anybody knowing whether they ran.
	Unknown int
	// Probes is how many requests were on their way at once in HALF_OPEN.
	Probes int
	// Hedges is how many second requests there were, Rounds how many questions
	// were answered, Sessions how many sessions were opened in the place of a lost
	// one, Starts how many programs were started in the place of an ended one:
	// what a run did not do it has not tried.
	Hedges, Rounds, Sessions, Starts int

	// Duplicates is unsafe calls that ran more than once, Lost calls without
	// exactly one outcome, Swapped ones with the answer of another, Denied ones
	// that ran and are said not to have, Missing ones that are said to have run
	// and have not.
	Duplicates, Lost, Swapped, Denied, Missing int
	// Open is requests sent while the circuit was open, Early those sent before
	// the server's Retry-After was over, Hasty those sent before the handshake of
	// their session was. Needless is sessions opened in the place of one that works.
	Open, Early, Hasty, Needless int
	// Fast is requests beyond the client's rate, Crowded those beyond its
	// bulkhead. A second request beside the first of a call counts with it.
	Fast, Crowded int
	// Reused is answers to a question that were given to a server a second time.
	Reused int
	// Unhealed is servers whose clients did not recover in the time they have.
	Unhealed int
}

// Add adds what another run showed.
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

// Faults names what must not have happened, nil when nothing did.
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

// begin notes a call.
func (h *history) begin(key int, unsafe bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations[key] = &operation{unsafe: unsafe}
}

// attempt notes a request for a call and returns its number.
func (h *history) attempt(key int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.operations[key]
	o.attempts++
	return o.attempts
}

// run notes that the server ran a call.
func (h *history) run(key int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations[key].runs++
}

// end notes the outcome of a call: the answer, or an error.
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

// answerTo is what the servers answer to a call.
func answerTo(key int) string { return fmt.Sprintf("done %d", key) }

// probes notes how many requests are on their way in HALF_OPEN.
func (h *history) probes(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.report.Probes = max(h.report.Probes, n)
}

// count counts what happened, or should not have.
func (h *history) count(count *int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*count++
}

// check is the verdict on every call.
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
