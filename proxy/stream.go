package proxy

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Bounds of one stream.
const (
	maxUnread      = 256     // messages that the host has not read
	maxUnreadBytes = 4 << 20 // the same in bytes; one message may be larger
	maxReplay      = 64      // messages that the host may read again
	maxReplayBytes = 256 << 10
)

const (
	// jsonWithin is how long a response may take to be sent as JSON. Then the host gets a
	// stream, whose headers and comments show that the proxy is alive.
	jsonWithin = 100 * time.Millisecond
	// retryAfter is how long a host should wait before it resumes a stream.
	retryAfter = 500 * time.Millisecond
	// quiet is how long a stream may be silent: proxies and hosts give up on silent connections.
	quiet = 15 * time.Second
)

// stream is what the body of one HTTP response carries: messages, in order. In the session era
// a host whose connection broke can read on in another response. A stream is a [line].
type stream struct {
	name string // ids of events are name, "-" and number; "" if the stream cannot be read again
	// ask sends a request over the stream, nil where servers cannot ask.
	ask func(ctx context.Context, on *stream, req jsonrpc.Request) (jsonrpc.Response, error)

	forwarded http.Header // of its requests, for the server

	number   int    // of the streams of a session
	finished func() // is called when the last response is there; nil for nothing
	streamed bool   // it is never sent as JSON: the host can resume it from the start

	mu       sync.Mutex
	events   []event
	first    int           // number of events[0]; numbers begin with 1
	read     int           // number of the last event that was written to the host
	unread   int           // bytes of the events after it
	ended    bool          // no event follows
	answers  int           // responses to come
	reader   int           // number of the response that reads the stream; those before it end
	attached bool          // a response reads the stream
	changed  chan struct{} // closed at each change
}

type event struct {
	data []byte
	resp *jsonrpc.Response // nil for other messages
}

// newStream returns a stream that ends after this many responses, or with end if that is 0.
func newStream(name string, answers int) *stream {
	return &stream{name: name, first: 1, answers: answers, changed: make(chan struct{})}
}

var errEnded = errors.New("the request is answered already")

var errNoQuestions = errors.New("the host cannot be asked on this connection")

// notify implements [line].
func (s *stream) notify(ctx context.Context, n jsonrpc.Notification) error {
	return s.add(ctx, event{data: n.AppendJSON(nil)})
}

// call implements [line].
func (s *stream) call(ctx context.Context, req jsonrpc.Request) (jsonrpc.Response, error) {
	if s.ask == nil {
		return jsonrpc.Response{}, errNoQuestions
	}
	return s.ask(ctx, s, req)
}

// answer adds a response, nil if a request gets none.
func (s *stream) answer(resp *jsonrpc.Response) {
	s.mu.Lock()
	if resp != nil && !s.ended {
		s.put(event{resp.AppendJSON(nil), resp})
	}
	s.answers--
	last := s.answers == 0
	s.ended = s.ended || last
	s.wake()
	s.mu.Unlock()
	if last && s.finished != nil {
		s.finished()
	}
}

// size returns the bytes of the events that are kept.
func (s *stream) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.events {
		n += len(e.data)
	}
	return n
}

// end ends a stream without a response.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

// add adds a message. It waits while the host reads too slowly. If no response reads the
// stream, the oldest message makes room.
func (s *stream) add(ctx context.Context, e event) error {
	s.mu.Lock()
	for !s.ended && s.attached && s.full() {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.ended {
		return errEnded
	}
	for s.full() {
		s.unread -= len(s.events[0].data)
		s.forget(1)
		s.read = max(s.read, s.first-1)
	}
	s.put(e)
	s.wake()
	return nil
}

// full reports whether the host has to read before more is added. Requires s.mu.
func (s *stream) full() bool {
	n := s.last() - s.read
	return n >= maxUnread || n > 0 && s.unread >= maxUnreadBytes
}

// last returns the number of the last event. Requires s.mu.
func (s *stream) last() int { return s.first + len(s.events) - 1 }

// put adds an event. Requires s.mu.
func (s *stream) put(e event) {
	s.events = append(s.events, e)
	s.unread += len(e.data)
}

// forget drops the n oldest events. Requires s.mu.
func (s *stream) forget(n int) {
	clear(s.events[:n])
	s.events = s.events[n:]
	s.first += n
}

// wake tells those that wait. Requires s.mu.
func (s *stream) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// attach makes the caller the reader of a stream, after the event with this number, -1 for the
// last one that was read. A response that reads the stream already stops. attach returns false if
// the events after that one are no longer there.
func (s *stream) attach(after int) (reader int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after < 0 {
		after = s.read
	}
	if after < s.first-1 || after > s.last() {
		return 0, false
	}
	s.seek(after)
	s.reader++
	s.attached = true
	s.wake()
	return s.reader, true
}

// seek sets the last event that was read. Requires s.mu.
func (s *stream) seek(after int) {
	s.read, s.unread = after, 0
	for _, e := range s.events[after-s.first+1:] {
		s.unread += len(e.data)
	}
}

func (s *stream) isAttached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attached
}

func (s *stream) detach(reader int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == reader {
		s.attached = false
		s.wake()
	}
}

// await waits until there is something to read for reader, for at most d. It returns the
// events and the number of the last one, 0 without events. more is false when nothing follows
// them, or reader is no longer the reader.
func (s *stream) await(ctx context.Context, reader int, d time.Duration) (events []event, last int, more bool) {
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		mine, ended, changed := s.reader == reader, s.ended, s.changed
		if mine {
			events, last = slices.Clone(s.events[s.read-s.first+1:]), s.last()
		}
		s.mu.Unlock()
		switch {
		case !mine:
			return nil, 0, false
		case len(events) > 0:
			return events, last, !ended
		case ended:
			return nil, 0, false
		}
		select {
		case <-changed:
		case <-timeout.C:
			return nil, 0, true
		case <-ctx.Done():
			return nil, 0, false
		}
	}
}

// taken records that reader has written the events up to number to. Some are kept for a host
// that did not get them.
func (s *stream) taken(reader, to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != reader {
		return
	}
	s.seek(to)
	written, keep := to-s.first+1, 0
	if s.name != "" {
		for size := 0; keep < min(written, maxReplay); keep++ {
			if size += len(s.events[written-keep-1].data); size > maxReplayBytes {
				break
			}
		}
	}
	s.forget(written - keep)
	s.wake()
}

// respond writes the stream as the response to its POST: as one JSON value if the answer is
// all there is and comes soon, else as a stream of events. It reports whether the host may
// read the stream again.
func (s *stream) respond(w http.ResponseWriter, req *http.Request, version mcp.Version) (resumable bool) {
	reader, _ := s.attach(0)
	defer s.detach(reader)
	if s.streamed {
		s.copy(w, req, reader, version, true)
		return true
	}
	events, _, more := s.await(req.Context(), reader, jsonWithin)
	if len(events) == 1 && !more && events[0].resp != nil {
		writeJSON(w, status(version, *events[0].resp), events[0].data)
		s.taken(reader, 1)
		return false
	}
	s.copy(w, req, reader, version, true)
	return s.name != ""
}

// resume writes the stream to a response that begins after an event.
func (s *stream) resume(w http.ResponseWriter, req *http.Request, after int, version mcp.Version) {
	reader, ok := s.attach(after)
	if !ok {
		refuse(w, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: the messages after this Last-Event-ID are no longer kept", nil))
		return
	}
	defer s.detach(reader)
	s.copy(w, req, reader, version, false)
}

// copy writes events as they come, until the end of the stream or of the response. begins says
// that the host has read none of them before.
func (s *stream) copy(w http.ResponseWriter, req *http.Request, reader int, version mcp.Version, begins bool) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // a buffering proxy would hold the events back
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	var buf []byte
	if begins && s.name != "" && version >= mcp.Version2025_11_25 { // hosts of older revisions take it for a message
		buf = sse.AppendEvent(buf, sse.Event{HasID: true, ID: s.eventID(0), HasRetry: true, Retry: retryAfter})
	}
	for read, more := 0, true; ; {
		if len(buf) == 0 {
			buf = append(buf, ":\n\n"...)
		}
		setDeadline(out)
		if _, err := w.Write(buf); err != nil || out.Flush() != nil {
			return
		}
		if read > 0 {
			s.taken(reader, read)
		}
		if !more {
			return
		}
		var events []event
		events, read, more = s.await(req.Context(), reader, quiet)
		if !more && len(events) == 0 {
			return
		}
		buf = buf[:0]
		for i, e := range events {
			one := sse.Event{Data: e.data}
			if s.name != "" {
				one.HasID, one.ID = true, s.eventID(read-len(events)+1+i)
			}
			buf = sse.AppendEvent(buf, one)
		}
	}
}

func (s *stream) eventID(number int) string { return s.name + "-" + strconv.Itoa(number) }
