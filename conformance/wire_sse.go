package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/sse"
)

// endpointWait is how long a server may take to name the URL for messages
// (OLD-03).
const endpointWait = 10 * time.Second

// eventEndpoint names the event that names the URL for messages.
const eventEndpoint = "endpoint"

var errForeignEndpoint = errors.New("the endpoint is of another origin, where nothing is sent (OLD-02)")

// sseWire speaks the HTTP+SSE transport of revision 2024-11-05: one event stream
// carries all that the server says, and messages are POSTed to the URL that its
// first event names (OLD-01). Its httpWire makes the requests.
type sseWire struct {
	*httpWire
	// first is the name of the first event, "" for none; named is what the
	// endpoint event said, and foreign that it is of another origin.
	first, named string
	foreign      bool
	gone         chan struct{} // closed when the stream has ended
}

// openSSE opens the stream and waits for the endpoint event.
func openSSE(ctx context.Context, s *URLSubject, tr *trace) (*sseWire, error) {
	w := &sseWire{httpWire: newHTTPWire(ctx, s, tr), gone: make(chan struct{})}
	req, err := w.request(w.ctx, http.MethodGet, nil, nil)
	if err != nil {
		w.cancel()
		return nil, err
	}
	release := context.AfterFunc(ctx, w.cancel)
	timer := time.AfterFunc(endpointWait, w.cancel)
	events, info, body, err := w.stream(req)
	inTime, wanted := timer.Stop(), release()
	if err == nil && inTime && wanted {
		w.readers.Add(1)
		go w.read(events, info, body)
		go func() {
			w.readers.Wait()
			close(w.box.messages)
		}()
		return w, nil
	}
	w.cancel()
	if body != nil {
		_ = body.Close() // it was only read
	}
	w.idle()
	switch {
	case !wanted:
		return nil, ctx.Err()
	case !inTime:
		return nil, fmt.Errorf("%w: no endpoint event in %s", errNoAnswer, endpointWait)
	}
	return nil, err
}

// stream makes the GET request and reads up to the endpoint event.
func (w *sseWire) stream(req *http.Request) (*sse.Reader, *HTTPInfo, io.ReadCloser, error) {
	w.trace.add(ToServer, nil, &HTTPInfo{Method: req.Method, Header: w.shown(req.Header)}, "")
	resp, err := w.exchange(req)
	if err != nil {
		return nil, nil, nil, err
	}
	info := &HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: shownHeader(resp.Header)}
	if resp.StatusCode != http.StatusOK || mediaType(resp.Header) != mediaStream {
		w.trace.add(FromServer, nil, info, "no event stream")
		return nil, nil, resp.Body, fmt.Errorf("GET was not answered with an event stream: %w", &refusedError{info.Status, info.ContentType})
	}
	events := sse.NewReader(resp.Body, maxFrame, maxFrame)
	for {
		e, err := events.Next()
		if err != nil {
			return nil, nil, resp.Body, fmt.Errorf("the event stream ended without an endpoint event: %w", err)
		}
		if w.first == "" {
			w.first = nameOf(e)
		}
		w.trace.add(FromServer, e.Data, info, "event "+nameOf(e))
		if e.Name == eventEndpoint {
			w.adopt(string(e.Data))
			return events, info, resp.Body, nil
		}
	}
}

// nameOf returns the name of an event, which is message when it says none.
func nameOf(e sse.Event) string {
	if e.Name == "" {
		return "message"
	}
	return e.Name
}

// adopt sends messages to the URL that the server has named. Headers hold
// credentials: they go to the origin of the stream only (OLD-02).
func (w *sseWire) adopt(named string) {
	w.named = named
	base, err := url.Parse(w.subject.URL)
	if err != nil {
		return // newHTTPWire was given it
	}
	to, err := base.Parse(named)
	if err != nil {
		w.foreign = true
		return
	}
	w.foreign = !strings.EqualFold(to.Scheme, base.Scheme) || !strings.EqualFold(to.Host, base.Host)
	w.post = to.String()
}

// read delivers the events of the stream until it ends, and the conversation
// with it (OLD-05).
func (w *sseWire) read(events *sse.Reader, info *HTTPInfo, body io.Closer) {
	defer w.readers.Done()
	defer close(w.gone)
	defer func() {
		_ = body.Close() // it was only read
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		w.cancel()
	}()
	for {
		e, err := events.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
			w.deliver(inbound{err: errTooLarge, http: info, name: nameOf(e)})
		case err != nil:
			return
		case e.IsMessage():
			in := received(bytes.Clone(e.Data), info)
			in.event, in.name = e.ID, nameOf(e)
			w.deliver(in)
		case e.Name != "" && e.Name != eventEndpoint && received(e.Data, nil).members["jsonrpc"] != nil:
			// A client would pass it over; here it is judged, and the rest of the
			// server after it.
			in := received(bytes.Clone(e.Data), info)
			in.name = e.Name
			w.deliver(in)
		default: // signs of life
			w.trace.add(FromServer, e.Data, info, "event "+nameOf(e))
		}
	}
}

// send posts one message. Accepted, it is answered by an event, and send returns
// nil; a refusal is returned, and what its body says goes to the inbox.
func (w *sseWire) send(ctx context.Context, data []byte) (*httpAnswer, error) {
	if w.foreign {
		return nil, errForeignEndpoint
	}
	if !w.begin() {
		return nil, errClosed
	}
	req, err := w.request(w.ctx, http.MethodPost, data, nil)
	if err != nil {
		w.readers.Done()
		return nil, err
	}
	w.trace.add(ToServer, data, &HTTPInfo{Method: http.MethodPost, Header: w.shown(req.Header)}, "")
	type outcome struct {
		answer *httpAnswer
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		defer w.readers.Done()
		answer, err := w.posted(req, w.token(data))
		done <- outcome{answer, err}
	}()
	select {
	case o := <-done:
		return o.answer, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// posted makes the request of a message. The body of an acceptance says nothing.
func (w *sseWire) posted(req *http.Request, token string) (*httpAnswer, error) {
	resp, err := w.exchange(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errClosed, err)
	}
	info := &HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: shownHeader(resp.Header)}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		w.trace.add(FromServer, body, info, "accepted")
		return nil, nil //nolint:nilnil // the answer is an event
	}
	if in := received(body, info); in.isResponse() && in.members["jsonrpc"] != nil {
		in.to = token
		w.deliver(in)
	} else {
		w.trace.add(FromServer, body, info, "")
	}
	end := inbound{to: token, ended: true, http: info, data: body, err: &refusedError{info.Status, info.ContentType}}
	w.box.put(end, w.ctx.Done())
	return &httpAnswer{status: resp.StatusCode, header: resp.Header, body: body, token: token}, nil
}

func (w *sseWire) transport() TransportKind { return TransportSSE }

// close ends the stream, and with it the session (OLD-05).
func (w *sseWire) close() ending {
	w.once.Do(func() {
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		w.cancel()
		w.readers.Wait()
		w.idle()
	})
	return ending{prompt: true, exit: -1}
}
