package resilience

import (
	"sync/atomic"
	"time"
)

// SilenceSettings are the times of [Silence]. Zero members take the defaults.
type SilenceSettings struct {
	// After is how long nothing may come while something is due; 0 means 10 s.
	After time.Duration
	// Misses is how many probes in a row have to go unanswered; 0 means 2.
	Misses int
}

// Silence finds a server that takes requests and says nothing any more, long
// before its calls have timed out. It also finds it when
// every caller gives up before that: a request that was given up was not
// answered either, and only a byte of the server's ends a silence.
//
// Sent, Ended and Heard belong to the way of every call and may be called from
// many goroutines at once; they write to memory and nothing else. Look and
// Missed belong to the one who sends the probes.
//
// Times are given as durations since a moment of the caller's choice.
type Silence struct {
	after  time.Duration
	misses int

	heard   atomic.Int64 // the last byte
	sent    atomic.Int64 // the first request after it, when larger
	waiting atomic.Int64 // requests that are waited for

	excused time.Duration // the silence had a reason until then
	missed  int           // probes in a row
	at      time.Duration // the silence they are about began here
	tripped time.Duration // the last decision
}

// NewSilence returns a detector that has heard nothing and waits for nothing.
func NewSilence(s SilenceSettings) *Silence {
	if s.After <= 0 {
		s.After = 10 * time.Second
	}
	return &Silence{after: s.After, misses: orDefault(s.Misses, 2)}
}

// Sent notes that a request goes out.
func (s *Silence) Sent(now time.Duration) {
	s.waiting.Add(1)
	if sent, heard := s.sent.Load(), s.heard.Load(); sent <= heard {
		// Of two at the same time either is early enough. It is later than the
		// last byte, also where the clock has not moved since.
		s.sent.CompareAndSwap(sent, max(int64(now), heard+1))
	}
}

// Ended notes that a request is not waited for any more, for whatever reason.
// Each Sent has one Ended.
func (s *Silence) Ended() { s.waiting.Add(-1) }

// Heard notes that something came from the server.
func (s *Silence) Heard(now time.Duration) {
	to := max(int64(now), s.sent.Load())
	for {
		heard := s.heard.Load()
		if heard >= to || s.heard.CompareAndSwap(heard, to) {
			return
		}
	}
}

// Hush is what a silence calls for.
type Hush uint8

const (
	// Quiet: nothing is due. Look again after the next Sent.
	Quiet Hush = iota
	// Watch: something is due. Look again at the time given.
	Watch
	// Probe: ask the server for a sign of life. Its answer is Heard, and no
	// answer in time is Missed.
	Probe
	// Trip: the server is silent. It is one fatal failure.
	Trip
)

// String returns quiet, watch, probe or trip.
func (h Hush) String() string {
	switch h {
	case Quiet:
		return "quiet"
	case Watch:
		return "watch"
	case Probe:
		return "probe"
	case Trip:
		return "trip"
	default:
		return "unknown"
	}
}

// Excuse notes that the server has had a reason to be silent until then: the
// silence counts from then on. It belongs to the one who calls Look.
func (s *Silence) Excuse(until time.Duration) { s.excused = max(s.excused, until) }

// Since returns when the silence began: with the last byte, or with the first
// request after it. ok is false when nothing is due.
func (s *Silence) Since() (start time.Duration, ok bool) {
	heard, sent := s.heard.Load(), s.sent.Load()
	switch {
	case sent > heard:
		return time.Duration(sent), true
	case s.waiting.Load() > 0:
		return time.Duration(heard), true
	}
	return 0, false
}

// Look says what to do now; next is when to look again, after [Watch].
func (s *Silence) Look(now time.Duration) (h Hush, next time.Duration) {
	start, ok := s.Since()
	if !ok {
		return Quiet, 0
	}
	if start != s.at {
		s.at, s.missed = start, 0
	}
	if due := max(start, s.tripped, s.excused) + s.after; now < due {
		return Watch, due
	}
	return Probe, 0
}

// Missed notes that a probe that [Silence.Look] asked for was not answered in
// time: [Probe] asks for the next, [Trip] is the end. Anything that came in the
// meantime, from whomever, makes it [Watch] or [Quiet]. After a Trip the
// silence has to last once more as long.
func (s *Silence) Missed(now time.Duration) (h Hush, next time.Duration) {
	start, ok := s.Since()
	if !ok || start != s.at {
		return s.Look(now)
	}
	if s.missed++; s.missed < s.misses {
		return Probe, 0
	}
	s.missed, s.tripped = 0, now
	return Trip, 0
}
