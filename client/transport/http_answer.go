package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// answer reads the reply to a request, in either form (HTTP-03).
func (x *exchange) answer(req jsonrpc.Request, resp *http.Response) (Answer, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return x.refused(req.ID, resp)
	}
	if err := x.noteSession(resp.Header); err != nil {
		return Answer{}, x.failure(ReasonProtocol, err)
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
	head := x.head()
	f := x.failure(ReasonNotMCP, fmt.Errorf("the server answered with %s where JSON or an event stream is due; is this the URL of an MCP endpoint?",
		contentName(resp)))
	f.HTTP = x.evidence(head)
	return Answer{}, f
}

// headTime is how long the body of a refusal is read. Its status is known, so
// nobody waits for a body without end.
const headTime = 2 * time.Second

// head reads the start of a body, for its error or as evidence: what came is
// what there is. The exchange is of no other use after it.
func (x *exchange) head() []byte {
	timer := time.AfterFunc(headTime, func() { x.cancel(nil) })
	defer timer.Stop()
	head, _ := io.ReadAll(io.LimitReader(x, drainBytes))
	return head
}

// peek is [exchange.head] for an exchange that goes on after it.
func (x *exchange) peek() []byte {
	body := x.resp.Body
	timer := time.AfterFunc(headTime, func() { _ = body.Close() })
	defer timer.Stop()
	head, _ := io.ReadAll(io.LimitReader(body, drainBytes))
	return head
}

// mediaType returns the media type without its parameters. The two that are due
// are known at sight.
func mediaType(h http.Header) string {
	value := h.Get("Content-Type")
	for _, due := range [...]string{typeJSON, typeEvents} {
		if rest, ok := strings.CutPrefix(value, due); ok && (rest == "" || rest[0] == ';') {
			return due
		}
	}
	t, _, err := mime.ParseMediaType(value)
	if err != nil {
		// Parameters may be malformed; the type stands before them.
		t, _, _ = strings.Cut(value, ";")
		t = strings.ToLower(strings.TrimSpace(t))
	}
	return t
}

// The media types of answers (HTTP-03).
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

// single decodes a JSON body, which must be the answer, or a batch with it.
func (x *exchange) single(id jsonrpc.ID, data []byte) (Answer, error) {
	if x.takesBatch(data) {
		resp, found, err := x.take(data, false)
		switch {
		case found && err == nil:
			return Answer{Response: resp}, nil
		case err == nil:
			err = x.failure(ReasonProtocol, errors.New("the server answered with a batch without the answer"))
		}
		return Answer{}, err
	}
	x.c.traceReceived(data)
	resp, other, err := jsonrpc.DecodeAnswer(data, x.c.limits.Depth, id)
	if err != nil {
		return Answer{}, x.undecodable(err, data)
	}
	switch {
	case other != nil:
		err = errors.New("the server answered with a message that is no response")
	case resp.ID != id && !resp.ID.IsZero():
		err = errors.New("the server answered with the id of another request")
	default:
		return Answer{Response: resp}, nil
	}
	f := x.failure(ReasonProtocol, err)
	f.HTTP = x.evidence(data)
	return Answer{}, f
}

func (x *exchange) undecodable(err error, data []byte) *Failure {
	f := x.failure(ReasonProtocol, err)
	var broken *jsonrpc.DecodeError
	if errors.As(err, &broken) && broken.TooLarge {
		f.Reason = ReasonTooLarge
	}
	f.HTTP = x.evidence(data)
	return f
}

// drain reads the end of a stream whose answer has come, for a moment: a
// server ends it at once, and a body read to its end frees its connection for
// the next call. The exchange's end closes the body after that.
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

// refused makes an answer or a failure of a reply that is not 2xx (HTTP-06).
func (x *exchange) refused(id jsonrpc.ID, resp *http.Response) (Answer, error) {
	head := x.head()
	evidence := x.evidence(head)
	rpc := rpcError(id, head, x.c.limits.Depth)
	if rpc != nil {
		x.c.traceReceived(head)
		// 404 means a lost session unless the body says that it is the method
		// that is not there (HTTP-16, DISC-14).
		if !x.sessionGone(resp.StatusCode, rpc, head) || rpc.Error.Code == jsonrpc.CodeMethodNotFound {
			return Answer{Response: *rpc, HTTP: evidence, RetryAfter: retryAfter(resp.Header, time.Now())}, nil
		}
	}
	f := &Failure{Reason: ReasonStatus, HTTP: evidence, RetryAfter: retryAfter(resp.Header, time.Now())}
	f.Err = fmt.Errorf("the server answered with status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	f.Rejected = mcperrors.FromHTTP(*evidence, 0).Delivery == mcperrors.Rejected
	if x.sessionGone(resp.StatusCode, rpc, head) {
		f.Reason, f.Err, f.Rejected = ReasonSession, errSession, true
		x.c.dropSession(x.session)
	}
	return Answer{}, f
}

// rpcError returns the JSON-RPC error in the body of a refusal, if it is one.
func rpcError(id jsonrpc.ID, body []byte, depth int) *jsonrpc.Response {
	m, err := jsonrpc.DecodeWithin(body, depth)
	if err != nil {
		return nil
	}
	resp, ok := m.(jsonrpc.Response)
	if !ok || resp.Error == nil || (resp.ID != id && !resp.ID.IsZero()) {
		return nil
	}
	return &resp
}

// sessionGone reports whether a refusal says that the server does not know the
// session that the request carried. That is 404 (HTTP-16), or a 400 that says
// so in its body and answers no request by its id (HTTP-17). rpc is the error
// in the body, nil without one.
func (x *exchange) sessionGone(status int, rpc *jsonrpc.Response, body []byte) bool {
	switch {
	case x.session == "":
		return false
	case status == http.StatusBadRequest:
		return (rpc == nil || rpc.ID.IsZero()) && unknownSession.Match(body[:min(len(body), 2<<10)])
	}
	return status == http.StatusNotFound
}

// unknownSession is what servers say of a session they do not know, when they
// take the id they were sent for none.
var unknownSession = regexp.MustCompile(`(?is)session.{0,40}(unknown|not found|not exist|invalid|missing|required|expired|terminated)` +
	`|(unknown|no valid|invalid|missing|expired|terminated).{0,40}session|server not initialized`)

// maxRetryAfter cuts what is beyond all sense before it overflows.
const maxRetryAfter = 1 << 30 * time.Second

// retryAfter reads Retry-After, seconds or a date; 0 when it is not there or
// makes no sense (HTTP-10).
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	// Out of range, ParseInt gives the number that is nearest.
	if n, err := strconv.ParseInt(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(max(n, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), maxRetryAfter)
	}
	return 0
}

// accepted judges the reply to a message that has no answer (HTTP-04).
func (x *exchange) accepted(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusAccepted, http.StatusOK, http.StatusNoContent:
		if resp.ContentLength != 0 {
			x.drain() // whatever it says, and however long
		}
		return nil
	}
	answer, err := x.refused(jsonrpc.ID{}, resp)
	if err == nil {
		err = &Failure{Reason: ReasonStatus, Rejected: true, HTTP: answer.HTTP, Err: answer.Error}
	}
	return err
}

// readBody reads a JSON body within the limit: into one exact buffer when its
// length was announced, in chunks that are joined once otherwise.
func (x *exchange) readBody(resp *http.Response) ([]byte, error) {
	limit := int64(x.c.limits.MessageBytes)
	if resp.ContentLength > limit {
		return nil, x.tooLarge()
	}
	if resp.ContentLength >= 0 {
		data := make([]byte, resp.ContentLength)
		if _, err := io.ReadFull(x, data); err != nil {
			return nil, x.broken(err)
		}
		return data, nil
	}
	var chunks [][]byte
	total := int64(0)
	for {
		chunk := make([]byte, max(8<<10, total/8))
		n, err := io.ReadFull(x, chunk)
		chunks = append(chunks, chunk[:n])
		total += int64(n)
		switch {
		case total > limit:
			return nil, x.tooLarge()
		case errors.Is(err, io.EOF) || (errors.Is(err, io.ErrUnexpectedEOF) && x.ended()):
			return bytes.Join(chunks, nil), nil
		case err != nil:
			return nil, x.broken(err)
		}
	}
}

// ended tells the end of a body from a truncation: ReadFull reports both as
// an unexpected end, but only a truncated body goes on to fail.
func (x *exchange) ended() bool {
	var probe [1]byte
	_, err := x.resp.Body.Read(probe[:])
	return errors.Is(err, io.EOF)
}

func (x *exchange) tooLarge() *Failure {
	return x.failure(ReasonTooLarge, fmt.Errorf("the answer is over the limit of %d bytes", x.c.limits.MessageBytes))
}
