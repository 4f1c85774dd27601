package wire

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// notShown replaces secrets in a trace.
const notShown = "(not shown)"

// exchange sends a request. Its error is an ErrClosed, and omits the URL, which may have
// secrets.
//
// If the server has closed a connection that was used before, the request goes out once more on a
// new one: an earlier request may be the reason.
//
// A server that limits its requests is asked again after the time that it names.
func (w *HTTPConn) exchange(req *http.Request) (*http.Response, error) {
	for tries := 1; ; tries++ {
		resp, err := w.roundTrip(req)
		if err != nil {
			return nil, err
		}
		wait := retryAfter(resp)
		if wait == 0 || tries == mostTries || w.At.Once || req.Body != nil && req.GetBody == nil {
			return resp, nil
		}
		_ = resp.Body.Close() // it was refused
		if err := Pause(req.Context(), wait); err != nil {
			return nil, err
		}
		if req.Body != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// roundTrip sends a request once, or twice if a connection that was used before is closed.
func (w *HTTPConn) roundTrip(req *http.Request) (*http.Response, error) {
	reused := false
	seen := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), seen))
	resp, err := w.client.Do(req)
	if reused && !w.At.Once && err != nil && req.Context().Err() == nil && (req.Body == nil || req.GetBody != nil) {
		w.client.CloseIdleConnections()
		if req.Body != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
		resp, err = w.client.Do(req)
	}
	var named *url.Error
	if errors.As(err, &named) {
		err = named.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return resp, nil
}

// mostRetryAfter is the longest that the suite waits because a server asks for it, and mostTries is how
// often it sends a request that is refused with such a wait.
const (
	mostRetryAfter = 5 * time.Second
	mostTries      = 3
)

// retryAfter returns how long a server that limits its requests wants the next one to wait, 0 if it does
// not say, or wants more than the suite has.
func retryAfter(resp *http.Response) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if wait := time.Duration(seconds) * time.Second; err == nil && wait > 0 && wait <= mostRetryAfter {
		return wait
	}
	return 0
}

// shown is the header of a request in a trace: without the headers of the caller, which are
// credentials.
func (w *HTTPConn) shown(h http.Header) http.Header {
	out := shownHeader(h)
	for name := range w.At.Header {
		if _, there := out[name]; there {
			out[name] = []string{notShown}
		}
	}
	return out
}

// shownHeader is h without secrets and irrelevant headers.
func shownHeader(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Dpop", HeaderSession:
			out[name] = []string{notShown}
		case "Date", "Content-Length", "Accept-Encoding", "User-Agent":
		default:
			out[name] = values
		}
	}
	return out
}

// describeHeaders lists the special headers, without secrets.
func describeHeaders(h http.Header) string {
	var notes []string
	for _, name := range rawjson.SortedKeys(h) {
		switch values := h[name]; {
		case len(values) == 0:
			notes = append(notes, "no "+name)
		case strings.EqualFold(name, HeaderSession):
			notes = append(notes, name+": a session id")
		case strings.EqualFold(name, "Authorization"):
			notes = append(notes, name+": "+notShown)
		default:
			notes = append(notes, name+": "+strings.Join(values, ", and "+name+": "))
		}
	}
	return strings.Join(notes, ", ")
}

// refusedError is an HTTP status instead of an answer.
type refusedError struct {
	status      int
	contentType string
}

func (e *refusedError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.status, e.contentType))
}

// StatusOf returns the HTTP status of a refusal, else 0.
func StatusOf(err error) int {
	var refused *refusedError
	if errors.As(err, &refused) {
		return refused.status
	}
	return 0
}
