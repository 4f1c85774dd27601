package transport

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	headerLastEvent = "Last-Event-Id"
	// maxCallPause limits the delays between tries to resume a call's stream, unless the server
	// asks for longer ones.
	maxCallPause = 5 * time.Second
	// maxResumes limits the failed tries in a row, since a call may have no time limit.
	maxResumes = 10
)

// stream reads the events of the reply until the answer arrives. If the stream breaks before
// that, it is resumed if possible.
func (x *exchange) stream() (Answer, error) {
	at := &place{most: maxCallPause}
	if x.stateless || (x.opens && x.session == "") {
		at = nil // no resumption, or no session to resume in
	}
	for {
		began := time.Now()
		events := x.newEvents()
		resp, err := x.read(events, at)
		ended := events.Ended()
		events.Free()
		x.releaseBudget() // also while the stream is resumed
		if err == nil {
			if !ended {
				x.drain()
			}
			return Answer{Response: resp}, nil
		}
		var f *Failure
		if at == nil || at.id == "" || !errors.As(err, &f) || f.Reason != ReasonLost {
			return Answer{}, err
		}
		at.broke(time.Since(began))
		if err := x.resume(at); err != nil {
			return Answer{}, err
		}
	}
}

// resume resumes a stream that broke, within the time of the call.
func (x *exchange) resume(at *place) error {
	opened := true
	delay := time.Duration(0)
	for range maxResumes {
		if !x.sleep(max(at.pause(opened), delay)) {
			return x.broken(x.ctx.Err())
		}
		var said verdict
		switch said, delay = x.reopen(at); said {
		case streamOpen:
			x.touch()
			return nil
		case streamSession:
			// The outcome of the call in the lost session is unknown.
			f := x.failure(ReasonSession, errSession)
			x.c.dropSession(x.session)
			return f
		case streamRefused:
			return x.failure(ReasonLost, fmt.Errorf("the event stream broke before the answer, and the server refused to resume it%s", x.status()))
		case streamLater:
		}
		at.short++
		opened = false
	}
	return x.failure(ReasonLost, fmt.Errorf("the event stream broke before the answer and could not be resumed in %d tries", maxResumes))
}

// sleep waits for d, and reports whether the exchange still runs.
func (x *exchange) sleep(d time.Duration) bool { return !within(x.ctx.Done(), d) }

// status describes the last reply, for an error.
func (x *exchange) status() string {
	if x.resp == nil {
		return ""
	}
	return fmt.Sprintf(" (status %d)", x.resp.StatusCode)
}

// verdict is the server's answer to a GET for an event stream.
type verdict uint8

const (
	streamOpen    verdict = iota + 1
	streamLater           // temporary failure: try again
	streamRefused         // not offered, or not at this position
	streamSession         // the session is unknown
)

// reopen requests an event stream from a position. The second result is the Retry-After of the
// server.
func (x *exchange) reopen(at *place) (verdict, time.Duration) {
	if x.resp != nil {
		_ = x.resp.Body.Close()
		x.resp = nil
	}
	x.header = streamHeader(x.header)
	x.header.Del(headerLastEvent)
	if at.id != "" {
		x.header.Set(headerLastEvent, at.id)
	}
	if x.session != "" {
		x.header.Set(headerSession, x.session) // the session that initialize has just opened
	}
	x.who = nil                                // a reconnection asks the application again
	resp, err := x.send(x.ctx, http.MethodGet) //nolint:bodyclose // end closes it
	var refused *Failure
	switch {
	case errors.As(err, &refused) && x.resp != nil: // it redirects to another origin
		return streamRefused, 0
	case err != nil: // the server is unreachable, or credentials are not available now
		return streamLater, 0
	case resp.StatusCode == http.StatusOK && mediaType(resp.Header) == typeEvents:
		return streamOpen, 0
	}
	delay := min(retryAfter(resp.Header, time.Now()), maxRetry)
	head := x.peek()
	answer, said, err := x.answerIn(resp, head)
	switch {
	case answer == nil && err == nil && x.sessionGone(resp.StatusCode, said, head):
		return streamSession, 0
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout:
		return streamLater, delay
	}
	return streamRefused, 0
}

// streamHeader returns the headers of a GET from those of a POST.
func streamHeader(h http.Header) http.Header {
	h = h.Clone()
	h.Set("Accept", typeEvents)
	h.Del("Content-Type")
	return h
}
