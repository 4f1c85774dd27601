package wire

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

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/sse"
)

// endpointWait is the time for the server to send the URL for messages.
const endpointWait = 10 * time.Second

// EventEndpoint is the event with the URL for messages.
const EventEndpoint = "endpoint"

// ErrForeignEndpoint reports an endpoint event with another origin, to which nothing is sent.
var ErrForeignEndpoint = errors.New("the endpoint is of another origin, where nothing is sent (OLD-02)")

// SSEConn is the HTTP+SSE transport of revision 2024-11-05: one event stream has all
// messages of the server, and messages to it are POSTed to the URL in its first event. Its
// HTTPConn sends the requests.
type SSEConn struct {
	*HTTPConn
	// First is the name of the first event, "" for none. Named is the content of the
	// endpoint event. Foreign: it has another origin.
	First, Named string
	Foreign      bool
	gone         chan struct{} // closed when the stream has ended
}

// OpenSSE opens the stream and waits for the endpoint event.
func OpenSSE(ctx context.Context, at Endpoint, tr *Trace) (*SSEConn, error) {
	w := &SSEConn{HTTPConn: NewHTTPConn(ctx, at, tr), gone: make(chan struct{})}
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
		return nil, fmt.Errorf("%w: no endpoint event in %s", ErrNoAnswer, endpointWait)
	}
	return nil, err
}

// stream makes the GET request and reads up to the endpoint event.
func (w *SSEConn) stream(req *http.Request) (*sse.Reader, *conformance.HTTPInfo, io.ReadCloser, error) {
	w.trace.Add(conformance.ToServer, nil, &conformance.HTTPInfo{Method: req.Method, Header: w.shown(req.Header)}, "")
	resp, err := w.exchange(req)
	if err != nil {
		return nil, nil, nil, err
	}
	info := &conformance.HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: shownHeader(resp.Header)}
	if resp.StatusCode != http.StatusOK || MediaType(resp.Header) != MediaStream {
		w.trace.Add(conformance.FromServer, nil, info, "no event stream")
		return nil, nil, resp.Body, fmt.Errorf("GET was not answered with an event stream: %w", &refusedError{info.Status, info.ContentType})
	}
	events := sse.NewReader(resp.Body, MaxFrame, MaxFrame)
	for {
		e, err := events.Next()
		if err != nil {
			return nil, nil, resp.Body, fmt.Errorf("the event stream ended without an endpoint event: %w", err)
		}
		if w.First == "" {
			w.First = nameOf(e)
		}
		w.trace.Add(conformance.FromServer, e.Data, info, "event "+nameOf(e))
		if e.Name == EventEndpoint {
			w.adopt(string(e.Data))
			return events, info, resp.Body, nil
		}
	}
}

// nameOf returns the name of an event; the default is message.
func nameOf(e sse.Event) string {
	if e.Name == "" {
		return "message"
	}
	return e.Name
}

// adopt sends messages to the URL of the server, but only on the origin of the stream,
// because headers have credentials.
func (w *SSEConn) adopt(named string) {
	w.Named = named
	base, err := url.Parse(w.At.URL)
	if err != nil {
		return // newHTTPWire was given it
	}
	to, err := base.Parse(named)
	if err != nil {
		w.Foreign = true
		return
	}
	w.Foreign = !strings.EqualFold(to.Scheme, base.Scheme) || !strings.EqualFold(to.Host, base.Host)
	w.PostURL = to.String()
}

// read delivers the events of the stream until it ends, which ends the conversation.
func (w *SSEConn) read(events *sse.Reader, info *conformance.HTTPInfo, body io.Closer) {
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
			w.deliver(Inbound{Err: errTooLarge, HTTP: info, Name: nameOf(e)})
		case err != nil:
			return
		case e.IsMessage():
			in := Received(bytes.Clone(e.Data), info)
			in.Event, in.Name = e.ID, nameOf(e)
			w.deliver(in)
		case e.Name != "" && e.Name != EventEndpoint && Received(e.Data, nil).Members["jsonrpc"] != nil:
			// A client would ignore it; the suite judges it and continues.
			in := Received(bytes.Clone(e.Data), info)
			in.Name = e.Name
			w.deliver(in)
		default: // signs of life
			w.trace.Add(conformance.FromServer, e.Data, info, "event "+nameOf(e))
		}
	}
}

// Send posts one message. If it is accepted, the answer is an event, and Send returns nil.
// A refusal is returned, and its body goes to the inbox.
func (w *SSEConn) Send(ctx context.Context, data []byte) (*HTTPAnswer, error) {
	if w.Foreign {
		return nil, ErrForeignEndpoint
	}
	if !w.begin() {
		return nil, ErrClosed
	}
	req, err := w.request(w.ctx, http.MethodPost, data, nil)
	if err != nil {
		w.readers.Done()
		return nil, err
	}
	w.trace.Add(conformance.ToServer, data, &conformance.HTTPInfo{Method: http.MethodPost, Header: w.shown(req.Header)}, "")
	type outcome struct {
		answer *HTTPAnswer
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

// posted sends the request of a message. The body of an acceptance is ignored.
func (w *SSEConn) posted(req *http.Request, token string) (*HTTPAnswer, error) {
	resp, err := w.exchange(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrClosed, err)
	}
	info := &conformance.HTTPInfo{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Header: shownHeader(resp.Header)}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		w.trace.Add(conformance.FromServer, body, info, "accepted")
		return nil, nil //nolint:nilnil // the answer is an event
	}
	if in := Received(body, info); in.IsResponse() && in.Members["jsonrpc"] != nil {
		in.To = token
		w.deliver(in)
	} else {
		w.trace.Add(conformance.FromServer, body, info, "")
	}
	end := Inbound{To: token, Ended: true, HTTP: info, Data: body, Err: &refusedError{info.Status, info.ContentType}}
	w.box.put(end, w.ctx.Done())
	return &HTTPAnswer{Status: resp.StatusCode, Header: resp.Header, Body: body, Token: token}, nil
}

// Transport implements Conn.
func (w *SSEConn) Transport() conformance.TransportKind { return conformance.TransportSSE }

// Close ends the stream, and with it the session.
func (w *SSEConn) Close() Ending {
	w.once.Do(func() {
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		w.cancel()
		w.readers.Wait()
		w.idle()
	})
	return Ending{Prompt: true, Exit: -1}
}
