package grant

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

const (
	longestCode        = 64
	longestDescription = 512
	longestURI         = 512
)

// Error is the refusal of an authorization server (RFC 6749 §5.2, RFC 7591 §3.2.2). Its texts are
// printable, bounded, and free of the secrets that were sent.
type Error struct {
	Code        string // "invalid_grant", …; empty if the answer has none
	Description string
	URI         string // a page about the error; http or https
	Status      int    // of the HTTP answer
	Endpoint    string // scheme, host and path of the endpoint
	// RetryAfter is the Retry-After of the answer, 0 for none.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s refused: ", e.Endpoint)
	switch {
	case e.Status == 0: // from an authorization response
		b.WriteString(cmp.Or(e.Code, "no reason given"))
	case e.Code == "":
		fmt.Fprintf(&b, "HTTP status %d", e.Status)
	default:
		fmt.Fprintf(&b, "%s (HTTP status %d)", e.Code, e.Status)
	}
	if e.Description != "" {
		b.WriteString(": " + e.Description)
	}
	if e.URI != "" {
		b.WriteString(", see " + e.URI)
	}
	return b.String()
}

// AnswerError reports an invalid answer with a successful status.
type AnswerError struct {
	Endpoint string // scheme, host and path of what answered
	Reason   string
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("%s gave a wrong answer: %s", e.Endpoint, e.Reason)
}

// NewError returns an Error with untrusted texts that are not from the answer of an endpoint, such
// as those of an authorization response (RFC 6749 §4.1.2.1). repeated are secrets that the texts
// may repeat, such as state.
func NewError(endpoint, code, description, uri string, repeated ...string) *Error {
	e := &Error{Endpoint: reduce(endpoint)}
	e.fill(code, description, uri, secretsOf(nil, repeated...))
	return e
}

// refusal reads an error answer. Servers send JSON or a form with any content type, and proxies
// send pages. If the answer cannot be read, the error has only the status.
func refusal(endpoint string, a *fetch.Answer, sent secrets) *Error {
	e := &Error{Status: a.Status, Endpoint: reduce(endpoint), RetryAfter: retryAfter(a.Header, time.Now())}
	m, ok := readMembers(a)
	if !ok {
		return e
	}
	e.fill(m.text("error"), m.text("error_description"), m.text("error_uri"), sent)
	return e
}

// retryAfter reads Retry-After (RFC 9110 §10.2.3): seconds or a date. It returns 0 if it cannot be
// read or has passed. The result is limited, so that it does not overflow.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

func (e *Error) fill(code, description, uri string, sent secrets) {
	if visible(code) && len(code) <= longestCode && !strings.ContainsAny(code, `"\`) {
		e.Code = sent.scrub(code)
	}
	e.Description = sent.scrub(printable(description, longestDescription))
	if u, err := url.Parse(uri); err == nil && (u.Scheme == "https" || u.Scheme == "http") &&
		u.Host != "" && u.User == nil {
		if text := u.String(); visible(text) && len(text) <= longestURI {
			if e.URI = text; sent.scrub(text) != text {
				e.URI = ""
			}
		}
	}
}

// reduce returns the parts of a URL that may be shown: scheme, host and path.
func reduce(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "the endpoint"
	}
	return printable((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), longestURI)
}
