package transport

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	headerLastEvent = "Last-Event-Id"
	// maxCallPause bounds the waits between the tries to resume a call's
	// stream, where the server does not ask for longer ones.
	maxCallPause = 5 * time.Second
	// maxResumes is how many tries in a row may fail before a call is given
	// up, which may have no bound of its own.
	maxResumes = 10
)

// stream reads the events of the reply until the answer comes. A stream that
// breaks before it is resumed where that is possible.
func (x *exchange) stream() (Answer, error) {
	at := &place{most: maxCallPause}
	if x.stateless || (x.opens && x.session == "") {
		at = nil // no resumption, or no session to find the stream in
	}
	for {
		began := time.Now()
		events := x.newEvents()
		resp, err := x.read(events, at)
		ended := events.Ended()
		events.Free()
		x.letGo() // also while the stream is resumed
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

// resume gets the rest of a stream that broke, within the
// bounds of the call.
func (x *exchange) resume(at *place) error {
	opened := true
	wish := time.Duration(0)
	for range maxResumes {
		if !x.sleep(max(at.pause(opened), wish)) {
			return x.broken(x.ctx.Err())
		}
		var said verdict
		switch said, wish = x.reopen(at); said {
		case streamOpen:
			x.touch()
			return nil
		case streamSession:
			// It is not known what became of the call in the session that was.
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

// sleep waits, and reports whether the exchange is still wanted after it.
func (x *exchange) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return x.ctx.Err() == nil
	case <-x.ctx.Done():
		return false
	}
}

// status is what the last reply was, for an error.
func (x *exchange) status() string {
	if x.resp == nil {
		return ""
	}
	return fmt.Sprintf(" (status %d)", x.resp.StatusCode)
}

// verdict is how a server takes the wish for an event stream.
type verdict uint8

const (
	streamOpen    verdict = iota + 1
	streamLater           // out of order, or too busy: worth another try
	streamRefused         // not offered, or not from this place
	streamSession         // the session is not known any more
)

// reopen asks for an event stream that goes on at a place. The second result
// is how long the server wants to be left alone.
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
		x.header.Set(headerSession, x.session) // that initialize opened just now
	}
	x.who = nil                                // a reconnection asks again
	resp, err := x.send(x.ctx, http.MethodGet) //nolint:bodyclose // end closes it
	var refused *Failure
	switch {
	case errors.As(err, &refused) && x.resp != nil: // it redirects elsewhere
		return streamRefused, 0
	case err != nil: // it cannot be reached, or nobody has credentials for it just now
		return streamLater, 0
	case resp.StatusCode == http.StatusOK && mediaType(resp.Header) == typeEvents:
		return streamOpen, 0
	}
	wish := min(retryAfter(resp.Header, time.Now()), maxRetry)
	head := x.peek()
	answer, said, err := x.answerIn(resp, head)
	switch {
	case answer == nil && err == nil && x.sessionGone(resp.StatusCode, said, head):
		return streamSession, 0
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusRequestTimeout:
		return streamLater, wish
	}
	return streamRefused, 0
}

// streamHeader makes the header of a GET from that of a POST.
func streamHeader(h http.Header) http.Header {
	h = h.Clone()
	h.Set("Accept", typeEvents)
	h.Del("Content-Type")
	return h
}
