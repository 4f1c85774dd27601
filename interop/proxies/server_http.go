package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const sessionHeader = "Mcp-Session-Id"

// site is the server behind an address.
type site struct {
	*server
	address  string
	mu       sync.Mutex
	sessions map[string]time.Time // last use
	logins   logins
}

// listen serves streamable HTTP at /mcp until ctx ends.
func (s *server) listen(ctx context.Context, address string) error {
	at := &site{server: s, address: address, sessions: map[string]time.Time{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", at.mcp)
	if s.tokenLife > 0 {
		at.logins.routes(mux, at)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() })
	defer stop()
	if err := h.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

func (at *site) mcp(w http.ResponseWriter, r *http.Request) {
	if at.tokenLife > 0 && !at.logins.admits(r) {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q", "http://"+at.address+resourcePath))
		http.Error(w, "a token is missing or has expired", http.StatusUnauthorized)
		return
	}
	switch r.Method {
	case http.MethodPost:
		at.post(w, r)
	case http.MethodDelete:
		at.mu.Lock()
		defer at.mu.Unlock()
		delete(at.sessions, r.Header.Get(sessionHeader))
	default:
		http.Error(w, "no stream of its own", http.StatusMethodNotAllowed)
	}
}

func (at *site) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var m message
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if m.Method == "initialize" {
		w.Header().Set(sessionHeader, at.open())
	} else if status := at.use(r.Header.Get(sessionHeader)); status != http.StatusOK {
		http.Error(w, "no such session", status)
		return
	}
	if m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer, cut := at.answer(r.Context(), &m)
	if cut {
		cutAnswer(w, at.cut)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // a host that is gone needs no answer
}

func (at *site) open() string {
	id := rand.Text()
	at.mu.Lock()
	defer at.mu.Unlock()
	at.sessions[id] = time.Now()
	at.record.add("session", id)
	return id
}

// use returns the status for a request of a session.
func (at *site) use(id string) int {
	if id == "" {
		return http.StatusBadRequest
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	last, known := at.sessions[id]
	if !known || at.sessionIdle > 0 && time.Since(last) > at.sessionIdle {
		delete(at.sessions, id)
		return http.StatusNotFound
	}
	at.sessions[id] = time.Now()
	return http.StatusOK
}

// cutAnswer sends a part of an answer and closes the connection.
func cutAnswer(w http.ResponseWriter, how string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	switch how {
	case cutBody:
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\":")
	case cutStream:
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nevent: message\n\n\r\n")
	}
	_ = conn.Close()
}
