package clientsuite_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// httpWay is streamable HTTP.
type httpWay struct {
	c      *toyClient
	client *http.Client

	mu      sync.Mutex
	session string
	opened  bool
	first   string // id of an event that a stream was taken up at first
	resumed bool
	reopen  chan struct{} // a lock that virtual time can pass
	login   *toyLogin
}

func newHTTP(c *toyClient) *httpWay {
	h := &httpWay{c: c, reopen: make(chan struct{}, 1), client: &http.Client{Transport: &http.Transport{DialContext: c.Dial, MaxIdleConnsPerHost: 32}}}
	if c.is("exact-header-names") {
		h.client.Transport = &http.Transport{DialContext: c.dialExact}
	}
	if !c.is("follows-redirects") {
		h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	if c.is("own-session") {
		h.session = "made-up"
	}
	if way := c.task.Login; way != nil {
		plain := *h.client
		plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		h.login = newToyLogin(toyLogin{
			HTTP: &plain, Server: c.task.URL, Way: *way, Revision: c.task.Revision, Defect: c.Defect,
			Local: func(host string) bool { return strings.HasSuffix(host, ".invalid") },
			Print: func(text string) { _, _ = io.WriteString(c.Lines, text+"\n") },
			Greet: func(ctx context.Context) {
				h.mu.Lock()
				open := h.session != ""
				h.mu.Unlock()
				if open {
					_ = c.initialize(ctx)
				}
			},
		})
	}
	return h
}

// do sends a request, with a login where the task has one.
func (h *httpWay) do(req *http.Request) (*http.Response, error) {
	if h.login != nil {
		return h.login.Do(req)
	}
	return h.client.Do(req)
}

// request is an HTTP request with the headers of the revision.
func (h *httpWay) request(ctx context.Context, verb string, m members) (*http.Request, error) {
	c := h.c
	var body io.Reader
	if m != nil {
		body = bytes.NewReader(m.raw())
	}
	req, err := http.NewRequestWithContext(ctx, verb, c.task.URL, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.is("accepts-json") {
		req.Header.Set("Accept", "application/json")
	}
	req.Header.Set("Content-Type", "application/json")
	if c.is("plain-text") {
		req.Header.Set("Content-Type", "text/plain")
	}
	first := m != nil && text(m["method"]) == "initialize"
	h.mu.Lock()
	if h.session != "" && (!first || c.is("own-session") || c.is("keeps-session")) && !c.is("no-session-header") {
		req.Header.Set("Mcp-Session-Id", h.session)
	}
	opened := h.opened
	h.mu.Unlock()
	if (c.stateless || opened && !first) && !c.is("no-version-header") {
		req.Header.Set("MCP-Protocol-Version", c.version)
	}
	if c.stateless && m != nil {
		c.mirror(req.Header, m)
	}
	if c.stateless && c.is("last-event-id") {
		req.Header.Set("Last-Event-ID", "1")
	}
	return req, nil
}

// send implements way.
func (h *httpWay) send(ctx context.Context, m members) error {
	for again := 0; ; again++ {
		retry, err := h.post(ctx, m)
		switch {
		case err == nil && !retry:
			return nil
		case errors.Is(err, errSession) && again == 0 && !h.c.is("no-new-session"):
			if err := h.reconnect(ctx); err != nil {
				return err
			}
		case errors.Is(err, errBusy) && h.c.is("hammers") && again < 20:
		case errors.Is(err, errClosed) && (h.c.is("resends") || h.c.is("resends-streams")) && again == 0:
		default:
			return err
		}
	}
}

var (
	errSession = errors.New("the session is gone")
	errBusy    = errors.New("too many requests")
)

// reconnect opens a new session, once for all calls that lost the old one.
func (h *httpWay) reconnect(ctx context.Context) error {
	h.mu.Lock()
	lost := h.session
	h.mu.Unlock()
	h.reopen <- struct{}{}
	defer func() { <-h.reopen }()
	h.mu.Lock()
	done := h.session != lost && lost != ""
	if !done || h.c.is("new-session-each") {
		if !h.c.is("keeps-session") {
			h.session = ""
		}
		h.opened = false
	}
	h.mu.Unlock()
	if done && !h.c.is("new-session-each") {
		return nil
	}
	return h.c.initialize(ctx)
}

// post sends one message and reads what it is answered with.
func (h *httpWay) post(ctx context.Context, m members) (retry bool, err error) {
	c := h.c
	verb := http.MethodPost
	if c.is("puts") && text(m["method"]) == "tools/call" {
		verb = http.MethodPut
	}
	req, err := h.request(ctx, verb, m)
	if err != nil {
		return false, err
	}
	used := req.Header.Get("Mcp-Session-Id")
	resp, err := h.do(req)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return false, errClosed
	}
	defer func() { _ = resp.Body.Close() }()
	if m["id"] == nil || m["method"] == nil {
		if c.is("wants-202") && resp.StatusCode != http.StatusAccepted {
			return false, errors.New("not accepted")
		}
		if text(m["method"]) == "notifications/initialized" {
			h.listen(ctx)
		}
		return false, nil
	}
	switch {
	case resp.StatusCode == http.StatusNotFound && used != "" && !c.stateless:
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.session != used && !c.is("new-session-each") {
			return true, nil // another has opened a new one
		}
		return false, errSession
	case resp.StatusCode == http.StatusTooManyRequests:
		return false, errBusy
	case resp.StatusCode >= 400 && c.is("ignores-error-bodies"):
		return false, errors.New(resp.Status)
	}
	if text(m["method"]) == "initialize" {
		h.mu.Lock()
		if s := resp.Header.Get("Mcp-Session-Id"); s != "" {
			h.session = s
		}
		h.opened = true
		h.mu.Unlock()
	}
	return false, h.read(ctx, resp, string(m["id"]))
}

// read gives the messages of an answer to the client.
func (h *httpWay) read(ctx context.Context, resp *http.Response, id string) error {
	kind := resp.Header.Get("Content-Type")
	if !h.c.is("exact-types") {
		kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
	}
	switch {
	case kind == "text/event-stream" && !h.c.is("no-streams"):
		return h.stream(ctx, resp.Body, id)
	case kind == "application/json":
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return errClosed
		}
		h.c.receive(ctx, body)
		return nil
	}
	return errors.New("an answer of another kind: " + kind)
}

// stream reads events until the answer to id has come, and resumes where it can.
func (h *httpWay) stream(ctx context.Context, body io.Reader, id string) error {
	last, wait := "", 100*time.Millisecond
	lines := bufio.NewReader(body)
	data, name, has := "", "", false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if last == "" || h.c.stateless || h.c.is("no-resume") || h.c.is("resends-streams") {
				return errClosed
			}
			return h.resume(ctx, last, id, wait)
		}
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if has && (data != "" || h.c.is("reads-priming")) && (name == "" || name == "message" || h.c.is("any-event")) {
				if !json.Valid([]byte(data)) && (h.c.is("reads-priming") || h.c.is("any-event")) {
					return errors.New("an event that is no message")
				}
				h.c.receive(ctx, []byte(data))
				if m := object(json.RawMessage(data)); m["method"] == nil && string(m["id"]) == id && (m["result"] != nil || m["error"] != nil) {
					return nil
				}
			}
			data, name, has = "", "", false
		case field == "data":
			if has && !h.c.is("last-data-line") {
				data += "\n"
			} else {
				data = ""
			}
			data, has = data+value, true
		case field == "event":
			name = value
		case field == "id":
			last = value
		case field == "retry":
			if n, err := strconv.Atoi(value); err == nil {
				wait = time.Duration(n) * time.Millisecond
			}
		}
	}
}

// dialExact makes header names that are not written as they should be unknown
// ones.
func (c *toyClient) dialExact(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.Dial(ctx, network, address)
	return exactConn{conn}, err
}

type exactConn struct{ net.Conn }

// Read implements [io.Reader].
func (e exactConn) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	copy(p[:n], bytes.ReplaceAll(p[:n], []byte("\nmcp-session-id:"), []byte("\nxcp-session-id:")))
	return n, err
}

func (h *httpWay) resume(ctx context.Context, last, id string, wait time.Duration) error {
	if h.c.is("resumes-at-once") {
		wait = 0
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	req, err := h.request(ctx, http.MethodGet, nil)
	if err != nil {
		return err
	}
	if h.first == "" || !h.c.is("first-event-id") {
		h.first = last
	}
	if h.resumed && h.c.is("polls-once") {
		return errClosed
	}
	h.resumed = true
	req.Header.Set("Last-Event-ID", h.first)
	resp, err := h.do(req)
	if err != nil {
		return errClosed
	}
	defer func() { _ = resp.Body.Close() }()
	return h.read(ctx, resp, id)
}

// listen opens the stream of what nobody asked for, as often as a defect says.
func (h *httpWay) listen(ctx context.Context) {
	n := 1
	if h.c.is("get-storm") {
		n = 10
	}
	for range n {
		req, err := h.request(ctx, http.MethodGet, nil)
		if err != nil {
			return
		}
		resp, err := h.do(req)
		if err != nil {
			return
		}
		_ = resp.Body.Close() // a suite for toys offers none
	}
}

// close implements way.
func (h *httpWay) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) //nolint:forbidigo // bounded here
	defer cancel()
	h.mu.Lock()
	session := h.session
	h.mu.Unlock()
	if session != "" && !h.c.is("no-delete") || h.c.is("deletes-nothing") {
		if req, err := h.request(ctx, http.MethodDelete, nil); err == nil {
			if resp, err := h.do(req); err == nil {
				_ = resp.Body.Close()
			}
		}
	}
	h.client.CloseIdleConnections()
}
