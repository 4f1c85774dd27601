package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// The retries of tools.md §2.5: three attempts in all, so two waits (C-23).
const (
	attempts       = 3
	firstWait      = 100 * time.Millisecond
	attemptTimeout = 5 * time.Second
)

// maxAnswer bounds an answer; the largest, of a batch of 100 tasks, has 2 KiB.
const maxAnswer = 1 << 20

// Options configures the client of a service.
type Options struct {
	// BaseURL is where the service is, http or https.
	BaseURL string
	// APIKey is sent as a bearer token when it is not empty.
	APIKey string
	// HTTPClient sends the requests; nil is one of our own.
	HTTPClient *http.Client
}

// caller makes the HTTP calls of one service.
type caller struct {
	service string
	base    *url.URL
	key     string
	client  *http.Client
	// single has a connection for each call. On one that was used before,
	// net/http sends a GET again automatically when the server closes it, and a GET
	// that changes state must not be (C-22).
	single *http.Client
}

func newCaller(service string, opts Options) (*caller, error) {
	base, err := url.Parse(opts.BaseURL)
	if err != nil {
		// The cause alone: the text of the URL may hold a password.
		return nil, fmt.Errorf("URL of the %s: %w", service, errors.Unwrap(err))
	}
	if (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("URL of the %s: %q is not an http or https URL", service, base.Redacted())
	}
	client := opts.HTTPClient
	if client == nil {
		client = &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
		}}
	}
	transport := client.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	c := &caller{service: service, base: base, key: opts.APIKey, client: stay(client, transport)}
	c.single = c.client
	if t, ok := transport.(*http.Transport); ok {
		t = t.Clone()
		t.DisableKeepAlives = true
		c.single = stay(client, t)
	}
	return c, nil
}

// stay is client on the given transport, without redirects: they would carry
// the API key elsewhere, and neither service has any.
func stay(client *http.Client, transport http.RoundTripper) *http.Client {
	out := *client
	out.Transport = transport
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}

// close gives back the connections nobody uses.
func (c *caller) close() {
	c.client.CloseIdleConnections()
	c.single.CloseIdleConnections()
}

// A request is one call of a service, however many attempts it takes.
type request struct {
	method, path string
	query        url.Values
	body         any
	// task is the correlation id of the workflow, sent as X-Task-Id.
	task string
	// key is the Idempotency-Key.
	key string
	// repeatable says that a second arrival does no harm. Otherwise only an
	// attempt that provably never left is made again.
	repeatable bool
}

// call makes the request and decodes its answer into out, a pointer.
func (c *caller) call(ctx context.Context, r request, out any) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return &Error{Service: c.service, Err: err}
		}
	}
	undecided := false
	wait := firstWait
	for n := 1; ; n++ {
		failure, again := c.attempt(ctx, r, body, out)
		if failure == nil {
			return nil
		}
		// What an earlier attempt may have done, a later refusal settles: with the
		// same key the service answers for both.
		undecided = (undecided || failure.Undecided) && failure.Kind != Refused
		failure.Undecided = undecided
		if !again || n == attempts || ctx.Err() != nil {
			return failure
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return failure
		}
		wait *= 2
	}
}

// attempt makes the request once. Again says whether it may be made once more.
func (c *caller) attempt(ctx context.Context, r request, body []byte, out any) (failure *Error, again bool) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	// Nothing reaches the service's handler before the headers are out.
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	req, err := c.request(ctx, r, body)
	if err != nil {
		return &Error{Service: c.service, Err: err}, false
	}
	client := c.client
	if !r.repeatable && r.method == http.MethodGet {
		client = c.single
	}
	resp, err := client.Do(req)
	if err != nil {
		return c.lost(err, sent.Load()), r.repeatable || !sent.Load()
	}
	defer func() { _ = resp.Body.Close() }() // read as far as anyone cares
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return c.lost(err, true), r.repeatable
	}
	if resp.StatusCode >= 300 {
		return c.refusal(resp.StatusCode, data), r.repeatable && resp.StatusCode >= 500
	}
	if len(data) > maxAnswer {
		err = errors.New("the answer is too long")
	} else {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return c.unusable(err), false
	}
	return nil, false
}

func (c *caller) request(ctx context.Context, r request, body []byte) (*http.Request, error) {
	at := c.base.JoinPath(r.path)
	at.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.task != "" {
		req.Header.Set("X-Task-Id", headerText(r.task))
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	return req, nil
}

// headerText percent-encodes of a correlation id, which may be any text, what a
// header cannot carry or would trim, as the services decode it.
func headerText(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// lost is the failure of an attempt without an answer.
func (c *caller) lost(err error, sent bool) *Error {
	e := &Error{Service: c.service, Kind: Unavailable, Undecided: sent, Err: err}
	var t interface{ Timeout() bool }
	if errors.As(err, &t) && t.Timeout() {
		e.Kind = Timeout
	}
	return e
}

// unusable is the failure of a call that the service says it has done, in
// words nobody understands.
func (c *caller) unusable(err error) *Error {
	return &Error{Service: c.service, Kind: Unavailable, Undecided: true, Err: fmt.Errorf("unusable answer: %w", err)}
}

// refusal is the failure an answer stands for. Only what the service says of
// the request itself is passed on, and of that only the sentence.
func (c *caller) refusal(status int, body []byte) *Error {
	var said struct {
		Detail string `json:"detail"`
		Error  string `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil || said.Detail == "" && said.Error == "" {
		said.Detail = "no reason given"
	}
	e := &Error{Service: c.service, Err: fmt.Errorf("status %d", status)}
	switch status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		e.Kind = Refused
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Kind = Denied
	case http.StatusNotFound:
		e.Kind = Missing
	case http.StatusRequestTimeout:
		e.Kind = Timeout
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		// The word of somebody in between, who does not know either.
		e.Undecided = true
	}
	if e.Kind == Refused || e.Kind == Missing {
		if e.Detail = said.Detail; e.Detail == "" {
			e.Detail = said.Error
		}
		e.Detail = clean(e.Detail)
	}
	return e
}
