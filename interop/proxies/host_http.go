package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// urlHost speaks streamable HTTP. As the specification wants, it opens a new session
// when the server answers 404; the request that got the 404 counts as failed.
type urlHost struct {
	url    string
	client *http.Client
	next   atomic.Int64
	opened atomic.Int64 // sessions

	mu      sync.Mutex
	session string
}

func newURLHost(url string) *urlHost {
	return &urlHost{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}}
}

var errNoSession = errors.New("404: the session is unknown")

func (h *urlHost) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id := json.RawMessage(strconv.FormatInt(h.next.Add(1), 10))
	session := h.current()
	if method == "initialize" {
		session = ""
	}
	m, err := h.post(ctx, session, outgoing{JSONRPC: "2.0", ID: id, Method: method, Params: params})
	switch {
	case errors.Is(err, errNoSession):
		h.reopen(ctx, session)
		return nil, err
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, m.Error
	}
	return m.Result, nil
}

func (h *urlHost) current() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

// reopen replaces a lost session once, however many calls lost it.
func (h *urlHost) reopen(ctx context.Context, lost string) {
	h.mu.Lock()
	again := h.session == lost && lost != ""
	if again {
		h.session = ""
	}
	h.mu.Unlock()
	if again {
		_ = open(ctx, h) // the next call shows that it failed
	}
}

func (h *urlHost) notify(ctx context.Context, method string, params any) error {
	_, err := h.post(ctx, h.current(), outgoing{JSONRPC: "2.0", Method: method, Params: params})
	return err
}

func (h *urlHost) post(ctx context.Context, session string, m outgoing) (message, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(encode(m)))
	if err != nil {
		return message{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set(sessionHeader, session)
		req.Header.Set("Mcp-Protocol-Version", newest)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return message{}, err
	}
	defer func() {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection is used again
		_ = resp.Body.Close()
	}()
	switch {
	case resp.StatusCode == http.StatusNotFound && session != "":
		return message{}, errNoSession
	case resp.StatusCode >= http.StatusBadRequest:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return message{}, fmt.Errorf("HTTP %d: %s", resp.StatusCode, bytes.TrimSpace(text))
	}
	if m.Method == "initialize" {
		h.mu.Lock()
		h.session = resp.Header.Get(sessionHeader)
		h.mu.Unlock()
		h.opened.Add(1)
	}
	if m.ID == nil {
		return message{}, nil
	}
	return readAnswer(resp)
}

// readAnswer returns the first response in a body of JSON or of events. A POST with one
// request gets one.
func readAnswer(resp *http.Response) (message, error) {
	var m message
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != "text/event-stream" {
		return m, json.NewDecoder(resp.Body).Decode(&m)
	}
	r := bufio.NewReaderSize(resp.Body, 1<<16)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return m, fmt.Errorf("the stream ended without an answer: %w", err)
		}
		data, is := strings.CutPrefix(line, "data:")
		if !is {
			continue
		}
		m = message{}
		if json.Unmarshal([]byte(data), &m) == nil && m.ID != nil && m.Method == "" {
			return m, nil
		}
	}
}

// close leaves the session as hosts that end do: without DELETE.
func (h *urlHost) close() { h.client.CloseIdleConnections() }
