package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// answer reads the reply to a request, in either form (transports, "Sending Messages to the
// Server").
func (x *exchange) answer(req jsonrpc.Request, resp *http.Response) (Answer, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return x.refused(resp)
	}
	if err := x.noteSession(resp.Header); err != nil {
		f := x.failure(ReasonProtocol, err)
		f.Answered, _ = x.holdsAnswer(resp, http.MethodPost)
		return Answer{}, f
	}
	switch mediaType(resp.Header) {
	case typeJSON:
		data, err := x.readBody(resp)
		if err != nil {
			return Answer{}, err
		}
		return x.single(req.ID, data)
	case typeEvents:
		return x.stream()
	}
	head, _ := x.head(drainBytes)
	f := x.failure(ReasonNotMCP, fmt.Errorf("the server answered with %s instead of JSON or an event stream; is this the URL of an MCP endpoint?",
		contentName(resp)))
	f.HTTP = x.evidence(head)
	return Answer{}, f
}

// headTime limits reading the body of an error reply. Its status is known, so the body need not
// be complete.
const headTime = 2 * time.Second

// head reads the start of a body, up to limit, for its error or as evidence, and reports whether
// that is the whole body. The exchange cannot be used after it.
func (x *exchange) head(limit int64) (head []byte, whole bool) {
	timer := time.AfterFunc(headTime, func() { x.cancel(nil) })
	defer timer.Stop()
	head, err := io.ReadAll(io.LimitReader(&counted{x: x}, limit+1))
	return head, err == nil && int64(len(head)) <= limit
}

// peek is [exchange.head] for an exchange that continues.
func (x *exchange) peek() []byte {
	body := x.resp.Body
	timer := time.AfterFunc(headTime, func() { _ = body.Close() })
	defer timer.Stop()
	head, _ := io.ReadAll(io.LimitReader(body, drainBytes))
	return head
}

// mediaType returns the media type without its parameters. It recognizes the two expected ones
// without parsing.
func mediaType(h http.Header) string {
	value := h.Get("Content-Type")
	for _, due := range [...]string{typeJSON, typeEvents} {
		if rest, ok := strings.CutPrefix(value, due); ok && (rest == "" || rest[0] == ';') {
			return due
		}
	}
	t, _, err := mime.ParseMediaType(value)
	if err != nil {
		// The parameters may be malformed; the type precedes them.
		t, _, _ = strings.Cut(value, ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	return t
}

// Media types of answers (transports, "Sending Messages to the Server").
const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

func contentName(resp *http.Response) string {
	if t := mediaType(resp.Header); t != "" {
		return jsonrpc.Printable(t, 100)
	}
	return fmt.Sprintf("status %d and no content type", resp.StatusCode)
}

// byteOrderMark precedes bodies of some runtimes. It is not part of the JSON, and may be ignored
// (RFC 8259 section 8.1).
var byteOrderMark = []byte("\xef\xbb\xbf")

// single decodes a JSON body, which must be the answer, or a batch that contains it.
func (x *exchange) single(id jsonrpc.ID, data []byte) (Answer, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if x.takesBatch(data) {
		resp, found, err := x.take(data, false)
		switch {
		case found && err == nil:
			return Answer{Response: resp}, nil
		case err == nil:
			err = x.failure(ReasonProtocol, errors.New("the server answered with a batch that does not contain the response to this request"))
		}
		return Answer{}, err
	}
	x.c.traceReceived(data)
	resp, other, err := jsonrpc.DecodeAnswer(data, x.c.limits.Depth, id)
	if err != nil {
		f, whose := x.undecodable(err, data)
		f.Answered = whose == id
		return Answer{}, f
	}
	switch {
	case other != nil:
		err = errors.New("the server answered with a message that is no response")
	case x.answeredBy(resp):
		return Answer{Response: resp}, nil
	case resp.ID.IsZero():
		err = unnamed(resp.Error)
	default:
		err = errors.New("the server answered with the id of another request")
	}
	f := x.failure(ReasonProtocol, err)
	f.HTTP = x.evidence(data)
	return Answer{}, f
}

// undecodable returns the failure of a message that cannot be decoded, and the id of the call
// that the message answers, zero if unknown.
func (x *exchange) undecodable(err error, data []byte) (f *Failure, whose jsonrpc.ID) {
	f = x.failure(ReasonProtocol, err)
	f.HTTP = x.evidence(data)
	var broken *jsonrpc.DecodeError
	if errors.As(err, &broken) {
		f.unusable(broken)
		if broken.Answers() {
			whose = broken.ID
		}
	}
	return f, whose
}

// drain reads the rest of a stream after its answer, for a short time: a server usually ends the
// stream at once, and a body read to its end frees its connection for the next call. After that,
// drain closes the body.
func (x *exchange) drain() {
	x.draining = true
	x.c.work.Go(func() {
		timer := time.AfterFunc(drainTime, func() { x.cancel(nil) })
		_, _ = io.CopyN(io.Discard, x.resp.Body, drainBytes)
		timer.Stop()
		_ = x.resp.Body.Close()
		x.cancel(nil)
	})
}

// drainTime is how long a stream may stay open after its answer.
const drainTime = 100 * time.Millisecond

// answeredBy reports whether a response is the answer to this exchange, by its id. An error
// without an id answers only a probe, since the server may not be able to parse the id.
func (x *exchange) answeredBy(resp jsonrpc.Response) bool {
	if x.id.IsZero() {
		return false
	}
	return resp.ID == x.id || (resp.ID.IsZero() && x.wait.NullID)
}

// unnamed returns the error of an exchange that received only an error without an id.
func unnamed(rpc *jsonrpc.Error) error {
	return fmt.Errorf("the server answered with an error that names no request: %s", jsonrpc.Printable(rpc.Error(), 300))
}

// refused returns the answer or the failure in a reply that is not 2xx. A response with the id of
// the request is its answer, whatever the status.
func (x *exchange) refused(resp *http.Response) (Answer, error) {
	limit := int64(drainBytes)
	switch mediaType(resp.Header) {
	case typeJSON, typeEvents: // the answer may be in it, and may be long
		limit = int64(x.c.limits.MessageBytes)
	}
	body, whole := x.head(limit)
	evidence := x.evidence(body)
	after := retryAfter(resp.Header, time.Now())
	answer, said, err := x.answerIn(resp, body)
	switch {
	case err != nil:
		return Answer{}, err
	case answer != nil:
		return Answer{Response: *answer, HTTP: evidence, RetryAfter: after}, nil
	}
	f := &Failure{Reason: ReasonStatus, HTTP: evidence, RetryAfter: after}
	f.Err = fmt.Errorf("the server answered with status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	if said != nil {
		f.Err = fmt.Errorf("%w: %s", f.Err, jsonrpc.Printable(said.Error(), 300))
	}
	switch {
	case !whole: // the answer may be in the rest
	case !x.sessionGone(resp.StatusCode, said, body):
		f.Rejected = errormap.FromHTTP(*evidence, 0).Delivery == mcperrors.Rejected
	case x.c.oneStream: // the session belongs to the stream
		f.Reason, f.Err, f.Rejected = ReasonLost, fmt.Errorf("%w: %w", errStreamLost, f.Err), true
	default:
		f.Reason, f.Err, f.Rejected = ReasonSession, errSession, true
		x.c.dropSession(x.session)
	}
	return Answer{}, f
}

// answerIn returns the answer to this exchange from the body of an error reply, nil if there is
// none. said is an error in it without an id, nil for none. It returns an error if the answer
// cannot be used.
func (x *exchange) answerIn(resp *http.Response, body []byte) (answer *jsonrpc.Response, said *jsonrpc.Error, err error) {
	if mediaType(resp.Header) == typeEvents {
		limit := x.c.limits.MessageBytes
		got, err := x.read(sse.NewReader(bytes.NewReader(body), limit, limit), nil)
		var f *Failure
		if errors.As(err, &f) && !f.Answered {
			return nil, nil, nil // it contains no answer
		}
		return &got, nil, err
	}
	body = bytes.TrimPrefix(body, byteOrderMark)
	got, other, err := jsonrpc.DecodeAnswer(body, x.c.limits.Depth, x.id)
	switch {
	case err != nil:
		f, whose := x.undecodable(err, body)
		if f.Answered = !x.id.IsZero() && whose == x.id; f.Answered {
			return nil, nil, f
		}
		return nil, nil, nil // probably a web page
	case other != nil:
		return nil, nil, nil
	}
	x.c.traceReceived(body)
	switch {
	case x.answeredBy(got):
		return &got, nil, nil
	case got.ID.IsZero() || got.ID == pythonID:
		return nil, got.Error, nil
	}
	return nil, nil, nil
}

// pythonID is the id that the official Python SDK uses for errors without a request.
var pythonID = jsonrpc.StringID("server-error")

// sessionGone reports whether an error reply means that the server does not know the session of
// the request. That is 404 (transports, "Session Management"), or 400 with a known sentence of an
// SDK: in said, an error without a request, or as text. Over HTTP+SSE the session is in the URL
// that the server has named.
func (x *exchange) sessionGone(status int, said *jsonrpc.Error, body []byte) bool {
	carried := x.session != ""
	if x.c.oneStream {
		carried = !x.opens && x.body.size > 0 // a message in the session
	}
	switch {
	case !carried:
		return false
	case status == http.StatusBadRequest:
		text := string(body[:min(len(body), 200)])
		if said != nil {
			text = said.Message
		}
		text = strings.TrimSpace(text)
		return slices.ContainsFunc(unknownSession[:], func(sentence string) bool { return strings.EqualFold(text, sentence) })
	}
	return status == http.StatusNotFound
}

// unknownSession are complete sentences of SDKs and their examples for an unknown session, if
// they do not use 404. A longer text with such words may mean something else.
var unknownSession = [...]string{
	"Bad Request: No valid session ID provided",      // TypeScript, Kotlin; Python as text
	"Bad Request: Server not initialized",            // TypeScript
	"Bad Request: Mcp-Session-Id header is required", // TypeScript, C#
	"Bad Request: Missing session ID",                // Python
	"Bad Request: Invalid or expired session ID",     // Python
	"Invalid session ID", "Missing session ID",       // mcp-go, Ruby
	"Session not found", "Session terminated", // SDKs that use 400
	"No transport found for sessionId", // examples of the TypeScript SDK for HTTP+SSE
}

// maxRetryAfter limits Retry-After, to avoid overflow.
const maxRetryAfter = 1 << 30 * time.Second

// retryAfter returns Retry-After, in seconds or as a date; 0 if it is missing or invalid.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	// Out of range, ParseInt returns the nearest number.
	if n, err := strconv.ParseInt(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(max(n, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), maxRetryAfter)
	}
	return 0
}

// accepted checks the reply to a message without an answer (transports, "Sending Messages to the
// Server").
func (x *exchange) accepted(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusAccepted, http.StatusOK, http.StatusNoContent:
		if resp.ContentLength != 0 {
			x.drain() // its content does not matter
		}
		return nil
	}
	_, err := x.refused(resp)
	return err
}

// readBody reads a JSON body within the limit: into one exact buffer if its length is known,
// otherwise in chunks that are joined once.
func (x *exchange) readBody(resp *http.Response) ([]byte, error) {
	limit := int64(x.c.limits.MessageBytes)
	if resp.ContentLength > limit {
		head, _ := x.head(drainBytes)
		return nil, x.tooLarge(head, nil)
	}
	if resp.ContentLength >= 0 {
		return x.readExactly(int(resp.ContentLength))
	}
	var chunks [][]byte
	total := int64(0)
	for {
		size := max(8<<10, total/8)
		if total > freeBytes && !x.Reserve(int(size)) {
			return nil, x.overBudget(chunks[0], chunks[len(chunks)-1])
		}
		chunk := make([]byte, size)
		n, err := io.ReadFull(x, chunk)
		chunks = append(chunks, chunk[:n])
		total += int64(n)
		switch {
		case total > limit:
			return nil, x.tooLarge(chunks[0], chunk[:n])
		case errors.Is(err, io.EOF) || (errors.Is(err, io.ErrUnexpectedEOF) && x.ended()):
			return bytes.Join(chunks, nil), nil
		case err != nil:
			return nil, x.broken(err)
		}
	}
}

// readExactly reads a body of known length. If it is large, readExactly reads its first bytes
// before it asks for space, and they identify the request: a server that announces bodies and
// sends none takes no space.
func (x *exchange) readExactly(length int) ([]byte, error) {
	var head []byte
	if length > freeBytes {
		head = make([]byte, headBytes)
		if _, err := io.ReadFull(x, head); err != nil {
			return nil, x.broken(err)
		}
		if !x.Reserve(length) {
			return nil, x.overBudget(head, nil)
		}
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(x, data[copy(data, head):]); err != nil {
		return nil, x.broken(err)
	}
	return data, nil
}

// headBytes is the part of a large body that is read before there is space for it.
const headBytes = 1 << 10

// ended distinguishes the end of a body from a truncation: ReadFull reports both as an unexpected
// end, but reading a truncated body fails again.
func (x *exchange) ended() bool {
	var probe [1]byte
	_, err := x.resp.Body.Read(probe[:])
	return errors.Is(err, io.EOF)
}

// tooLarge returns the failure of a message over the limit; head and tail are its ends, which may
// have the id of the request.
func (x *exchange) tooLarge(head, tail []byte) *Failure {
	f := x.failure(ReasonTooLarge, nil)
	f.HTTP = x.evidence(head)
	f.unusable(&jsonrpc.DecodeError{Reason: "larger than " + jsonrpc.Size(x.c.limits.MessageBytes), TooLarge: true})
	if !x.id.IsZero() {
		token := x.id.AppendJSON(nil)
		f.Answered = bytes.Contains(head, token) || bytes.Contains(tail, token)
	}
	return f
}
