package resilience

import (
	"sync/atomic"
	"time"
)

// SilenceSettings are the times of [Silence]. Zero members mean the defaults.
type SilenceSettings struct {
	// After is how long nothing may arrive while an answer is due; 0 means 10 s.
	After time.Duration
	// Misses is how many probes in a row must fail; 0 means 2.
	Misses int
}

// Silence detects a server that accepts requests but sends nothing, long before its calls time
// out. It also detects it if every caller gives up earlier: an abandoned request was not answered
// either, and only a byte from the server ends a silence.
//
// Every call uses Sent, Ended and Heard, which may be called from many goroutines at once; they
// only write to memory. Only the goroutine that sends the probes calls Look and Missed.
//
// Times are durations since an arbitrary start.
type Silence struct {
	after  time.Duration
	misses int

	heard   atomic.Int64 // time of the last byte
	sent    atomic.Int64 // time of the first request after it, if larger
	waiting atomic.Int64 // number of requests that are waited for

	excused time.Duration // the silence has a reason until then
	missed  int           // failed probes in a row
	at      time.Duration // start of the silence that they are about
	tripped time.Duration // time of the last Trip
}

// NewSilence returns a detector without requests.
func NewSilence(s SilenceSettings) *Silence {
	if s.After <= 0 {
		s.After = 10 * time.Second
	}
	return &Silence{after: s.After, misses: orDefault(s.Misses, 2)}
}

// Sent records that a request is sent.
func (s *Silence) Sent(now time.Duration) {
	s.waiting.Add(1)
	if sent, heard := s.sent.Load(), s.heard.Load(); sent <= heard {
		// Of two concurrent requests, either time is early enough. It is later than the last
		// byte, even if the clock has not advanced.
		s.sent.CompareAndSwap(sent, max(int64(now), heard+1))
	}
}

// Ended records that a request is not waited for any more, for any reason. Call it once for each
// Sent.
func (s *Silence) Ended() { s.waiting.Add(-1) }

// Heard records that something arrived from the server.
func (s *Silence) Heard(now time.Duration) {
	to := max(int64(now), s.sent.Load())
	for {
		heard := s.heard.Load()
		if heard >= to || s.heard.CompareAndSwap(heard, to) {
			return
		}
	}
}

// SilenceAction is the reaction to a silence.
type SilenceAction uint8

const (
	// Idle: no answer is due. Call Look again after the next Sent.
	Idle SilenceAction = iota
	// Watch: an answer is due. Call Look again at the returned time.
	Watch
	// Probe: send a liveness probe. Its answer is Heard; without an answer in time, call Missed.
	Probe
	// Trip: the server is silent, which is a fatal failure.
	Trip
)

// String returns idle, watch, probe or trip.
func (h SilenceAction) String() string {
	switch h {
	case Idle:
		return "idle"
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

// Excuse records that the silence had a reason until then: only the silence after that counts.
// Only the goroutine that calls Look calls it.
func (s *Silence) Excuse(until time.Duration) { s.excused = max(s.excused, until) }

// Since returns when the silence began: with the last byte, or with the first request after it.
// ok is false if no answer is due.
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

// Look returns what to do now; next is when to call it again, after [Watch].
func (s *Silence) Look(now time.Duration) (h SilenceAction, next time.Duration) {
	start, ok := s.Since()
	if !ok {
		return Idle, 0
	}
	if start != s.at {
		s.at, s.missed = start, 0
	}
	if due := max(start, s.tripped, s.excused) + s.after; now < due {
		return Watch, due
	}
	return Probe, 0
}

// Missed records that a probe from [Silence.Look] was not answered in time. It returns [Probe]
// for the next probe, or [Trip]. If anything arrived meanwhile, it returns [Watch] or [Idle].
// After a Trip the silence must last as long again for another.
func (s *Silence) Missed(now time.Duration) (h SilenceAction, next time.Duration) {
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
