// Package fetch makes the HTTP requests of authorization. Their URLs are untrusted: an
// MCP server names its metadata, the metadata names an authorization server, and so on.
// A guard keeps these requests away from addresses that only this machine or its
// network can reach. Every exchange is limited in time and size.
package fetch

import (
	"bytes"
	"context"
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

const maxRedirects = 3

// Options configure a [Client]. The zero value reaches public addresses only,
// over https only.
type Options struct {
	// Transport sends the requests. Default: a transport without a proxy. A
	// [*http.Transport] is copied: the client uses its TLS configuration and other
	// settings. For any other type, see foreign.go.
	//
	// Its DialContext is used if set. The guard then checks the address of the
	// connection before anything is sent on it. It allows a connection that is not
	// TCP, such as a pipe in a test. Its DialTLSContext is not used.
	//
	// Its Proxy is used if set. The guard then checks the addresses in URLs, and those
	// to which this machine resolves a name. It cannot see the address that the proxy
	// connects to: the proxy must guard its network. The environment's proxy is not
	// used unless Proxy is [http.ProxyFromEnvironment].
	Transport http.RoundTripper
	// AllowLoopback also allows this machine, over http too. It is for
	// development, where the MCP server is on this machine.
	AllowLoopback bool
	// AllowPrivate also allows the private addresses of a company's network.
	// Link-local addresses and metadata services of clouds stay refused.
	AllowPrivate bool
	// Timeout bounds an exchange with all its redirects. Default: 15 s.
	Timeout time.Duration
	// MaxBytes bounds a body, decompressed. Default: 1 MiB.
	MaxBytes int64
	// UserAgent is the User-Agent header. Default: "mainstay".
	UserAgent string
}

// Client makes guarded requests. It is safe for concurrent use.
type Client struct {
	guard     guard
	transport *http.Transport   // nil if foreign is set
	foreign   http.RoundTripper // of the application
	proxy     func(*http.Request) (*url.URL, error)
	timeout   time.Duration
	maxBytes  int64
	userAgent string
}

// New returns a client.
func New(o Options) *Client {
	c := &Client{
		guard:     guard{loopback: o.AllowLoopback, private: o.AllowPrivate},
		transport: &http.Transport{ForceAttemptHTTP2: true},
		timeout:   o.Timeout,
		maxBytes:  o.MaxBytes,
		userAgent: o.UserAgent,
	}
	if c.timeout <= 0 {
		c.timeout = 15 * time.Second
	}
	if c.maxBytes <= 0 {
		c.maxBytes = 1 << 20
	}
	if c.userAgent == "" {
		c.userAgent = "mainstay"
	}
	var base dialFunc
	switch own := o.Transport.(type) {
	case nil:
	case *http.Transport:
		c.transport = own.Clone()
		base = own.DialContext
		c.proxy = own.Proxy
	default:
		c.transport, c.foreign = nil, own
		return c
	}
	t := c.transport
	t.DialContext = c.guard.dialer(base)
	t.DialTLSContext = nil
	t.Dial, t.DialTLS = nil, nil //nolint:staticcheck // deprecated, but the transport would still dial past the guard
	t.Proxy = proxyOf
	// Many servers close idle connections after 5 s. A POST on a closed connection is
	// not repeated, so no connection stays idle that long.
	t.IdleConnTimeout = 3 * time.Second
	if t.TLSHandshakeTimeout == 0 {
		t.TLSHandshakeTimeout = 10 * time.Second
	}
	if t.MaxResponseHeaderBytes == 0 {
		t.MaxResponseHeaderBytes = 64 << 10
	}
	return c
}

// proxyKey is the key of a request's proxy in its context. The guard allows connections
// to the proxy, which the caller chose.
type proxyKey struct{}

func proxyOf(req *http.Request) (*url.URL, error) {
	proxy, _ := req.Context().Value(proxyKey{}).(*url.URL)
	return proxy, nil
}

// CloseIdle closes idle connections, except those of a transport of the application.
func (c *Client) CloseIdle() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// Get fetches a document. It follows at most three redirects, checks each like the first
// URL, and never goes from https to http. At a redirect to another origin it drops every
// header that could be a credential. Any status is an answer, not an error.
func (c *Client) Get(ctx context.Context, url string, header http.Header) (*Answer, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	header = header.Clone()
	for hops := 0; ; hops++ {
		u, err := c.check(url)
		if err != nil {
			return nil, err
		}
		answer, err := c.exchange(ctx, http.MethodGet, u, header, nil)
		if err != nil {
			return nil, err
		}
		next, err := redirect(u, answer)
		switch {
		case err != nil:
			return nil, &Error{Method: http.MethodGet, URL: Show(url), Err: err}
		case next == nil:
			return answer, nil
		case hops == maxRedirects:
			return nil, &Error{Method: http.MethodGet, URL: Show(url), Err: errRedirects}
		}
		if origin(next) != origin(u) {
			header = harmless(header)
		}
		url = next.String()
	}
}

// Post sends a body. It never follows a redirect, because the body may hold a secret for
// this URL: it returns the redirect as the answer.
func (c *Client) Post(ctx context.Context, url, contentType string, body []byte, header http.Header) (*Answer, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	u, err := c.check(url)
	if err != nil {
		return nil, err
	}
	header = header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	header.Set("Content-Type", contentType)
	return c.exchange(ctx, http.MethodPost, u, header, body)
}

func (c *Client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("%w (%v): %w", errTimeout, c.timeout, context.DeadlineExceeded))
}

// exchange makes one request and reads the whole answer.
func (c *Client) exchange(ctx context.Context, method string, u *url.URL, header http.Header, body []byte) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, &URLError{URL: Show(u.String()), Reason: "it does not parse"}
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.userAgent)
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if c.proxy != nil {
		proxy, err := c.proxy(req)
		if err != nil {
			return nil, &Error{Method: method, URL: Show(u.String()), Err: errProxy}
		}
		if proxy != nil {
			if err := c.judgeName(ctx, u); err != nil {
				return nil, err
			}
			req = req.WithContext(context.WithValue(ctx, proxyKey{}, proxy))
		}
	}
	if c.foreign != nil {
		return c.apart(req)
	}
	var sent atomic.Bool
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }, // the first byte may follow
	}))
	// Not an http.Client: it would follow redirects and keep cookies.
	resp, err := c.transport.RoundTrip(req) //nolint:bodyclose // read closes it
	if err != nil {
		return nil, c.failure(req, err, !sent.Load())
	}
	return c.read(req, resp)
}

// judgeName returns a *BlockedError if this machine resolves the host of a URL to an
// address that the guard refuses.
func (c *Client) judgeName(ctx context.Context, u *url.URL) error {
	if b := c.guard.judgeName(ctx, u.Hostname()); b != nil {
		return &BlockedError{URL: Show(u.String()), Address: b.Address, Reason: b.Reason}
	}
	return nil
}

// read reads the whole answer and closes its body.
func (c *Client) read(req *http.Request, resp *http.Response) (*Answer, error) {
	u := req.URL
	defer func() { _ = resp.Body.Close() }()
	tooLarge := &TooLargeError{URL: Show(u.String()), Limit: c.maxBytes}
	if resp.ContentLength > c.maxBytes {
		return nil, tooLarge
	}
	read, err := io.ReadAll(io.LimitReader(resp.Body, c.maxBytes+1))
	if err != nil {
		return nil, c.failure(req, err, false)
	}
	if int64(len(read)) > c.maxBytes {
		return nil, tooLarge
	}
	return &Answer{URL: u.String(), Status: resp.StatusCode, Header: resp.Header, Body: read}, nil
}

func (c *Client) failure(req *http.Request, err error, notSent bool) error {
	show := Show(req.URL.String())
	var blocked *BlockedError
	if errors.As(err, &blocked) {
		return &BlockedError{URL: show, Address: blocked.Address, Reason: blocked.Reason}
	}
	cause := CauseOf(req.Context(), err)
	if c.foreign != nil && errors.Is(cause, errNotHTTP) {
		cause = errForeign
	}
	return &Error{Method: req.Method, URL: show, Err: cause, NotSent: notSent}
}

// redirect returns the target of a redirect, or nil for another answer.
func redirect(from *url.URL, a *Answer) (*url.URL, error) {
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil //nolint:nilnil // no redirect is no error
	}
	location := a.Header.Get("Location")
	if location == "" {
		return nil, nil //nolint:nilnil // an answer like any other
	}
	next, err := from.Parse(location)
	if err != nil {
		return nil, errLocation
	}
	next.Fragment, next.RawFragment = "", ""
	if from.Scheme == "https" && next.Scheme != "https" {
		return nil, errDowngrade
	}
	return next, nil
}

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = u.Scheme
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// harmless returns the headers that may be sent to another origin after a redirect. It is
// a list of allowed headers, so that new kinds of credentials are left out.
func harmless(header http.Header) http.Header {
	kept := make(http.Header)
	for _, name := range []string{"Accept", "Accept-Language", "Mcp-Protocol-Version"} {
		if values := header.Values(name); values != nil {
			kept[name] = values
		}
	}
	return kept
}
