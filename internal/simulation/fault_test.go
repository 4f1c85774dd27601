package simulation

import (
	"math/rand/v2"
	"time"
)

// Fault is the fault of one request.
type Fault uint8

const (
	// None: the server runs it and answers.
	None Fault = iota
	// Refused: there is no connection; nothing is sent.
	Refused
	// LostBefore: the connection ends before the server runs it.
	LostBefore
	// LostAfter: the server runs it, and the connection ends before the answer.
	LostAfter
	// Silent: it is not run and never answered.
	Silent
	// SilentAfter: it is run and never answered.
	SilentAfter
	// Throttled: HTTP 429 with Retry-After, not run.
	Throttled
	// Unavailable: HTTP 503 with Retry-After; a proxy may have passed it on, and
	// here it has.
	Unavailable
	// Crashed: HTTP 500 without a body, run.
	Crashed
	// Internal: -32603, run.
	Internal
	// Invalid: -32602, not run.
	Invalid
	// ToolError: a result with isError, run.
	ToolError
	faults
)

// overPipe returns the fault of a request to a program, which has no statuses and no connection
// per request: its end affects all requests.
func (f Fault) overPipe() Fault {
	switch f {
	case Refused:
		return LostBefore
	case Throttled, Unavailable, Crashed:
		return Internal
	default:
		return f
	}
}

// loses reports whether the connection ends with a request.
func (f Fault) loses() bool { return f == LostBefore || f == LostAfter }

// runs reports whether the server runs a request with this fault.
func (f Fault) runs() bool {
	switch f {
	case None, LostAfter, SilentAfter, Unavailable, Crashed, Internal, ToolError:
		return true
	default:
		return false
	}
}

// window is a time in which faults happen.
type window struct {
	from, to time.Duration
	kinds    []Fault
	share    float64 // of the requests
}

// schedule has the faults of one server over time.
type schedule struct {
	seed    uint64
	windows []window
	losses  []time.Duration // when the server loses its sessions
}

// newSchedule draws windows for the first part of a run: some with one fault for all requests,
// some with several faults for some requests.
func newSchedule(seed uint64, length time.Duration) schedule {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable on purpose
	s := schedule{seed: seed}
	for at := time.Duration(0); at < length; {
		at += time.Duration(r.Int64N(int64(length / 6)))
		w := window{from: at, to: min(length, at+time.Duration(r.Int64N(int64(length/4)))), share: 1}
		if r.IntN(2) == 0 {
			w.kinds = []Fault{1 + Fault(r.IntN(int(faults)-1))}
		} else {
			w.share = r.Float64()
			for range 4 {
				w.kinds = append(w.kinds, 1+Fault(r.IntN(int(faults)-1)))
			}
		}
		s.windows = append(s.windows, w)
		at = w.to
	}
	for at := time.Duration(0); at < length; at += time.Duration(r.Int64N(int64(length / 4))) {
		s.losses = append(s.losses, at)
	}
	return s
}

// sessions returns how often the server has lost its sessions by then.
func (s schedule) sessions(now time.Duration) int {
	n := 0
	for _, at := range s.losses {
		if at <= now {
			n++
		}
	}
	return n
}

// at returns the fault of the nth attempt of a call at a time.
func (s schedule) at(now time.Duration, key, attempt int) (Fault, time.Duration) {
	r := rand.New(rand.NewPCG(s.seed, uint64(key)<<16|uint64(attempt))) //nolint:gosec // as above
	latency := time.Millisecond + time.Duration(r.Int64N(int64(20*time.Millisecond)))
	for _, w := range s.windows {
		if now >= w.from && now < w.to && r.Float64() < w.share {
			return w.kinds[r.IntN(len(w.kinds))], latency
		}
	}
	return None, latency
}
