package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/families"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/internal/reference"
)

// host has the servers that have not ended, by number.
type host struct {
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	servers map[int]*server.Server
	last    int
}

func newHost(ctx context.Context) *host {
	h := &host{servers: map[int]*server.Server{}}
	h.life, h.end = context.WithCancel(ctx)
	return h
}

// accept serves connections until l fails.
func (h *host) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		h.running.Go(func() { h.serve(conn.(*net.TCPConn)) })
	}
}

// close ends all servers and their conversations.
func (h *host) close() {
	h.end()
	h.running.Wait()
}

// serve reads the first line of a connection and does what it asks for.
func (h *host) serve(conn *net.TCPConn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	line, err := in.ReadBytes('\n')
	var asked reference.Request
	if err != nil || json.Unmarshal(line, &asked) != nil {
		return
	}
	if asked.New == nil {
		h.converse(conn, in, asked.Serve)
		return
	}
	said := &replies{conn: conn}
	err = h.host(said, in, asked)
	if err != nil {
		said.say(reference.Reply{Closed: true, Error: err.Error()})
		return
	}
	said.say(reference.Reply{Closed: true})
}

// host runs a server until in ends.
func (h *host) host(said *replies, in io.Reader, asked reference.Request) error {
	opts := options(asked.New)
	if asked.Log {
		opts.Logger = server.NewLogger(said, slog.LevelInfo)
	}
	srv, err := families.New(opts)
	if err != nil {
		return err
	}
	web := &http.Server{Handler: srv.Handler()} //nolint:gosec // tests of bad clients are what it is for
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, srv.Close())
	}
	h.running.Go(func() { _ = web.Serve(l) }) // until it is closed
	id := h.add(srv)
	defer h.remove(id)
	said.say(reference.Reply{ID: id, URL: "http://" + l.Addr().String()})

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, in)
	}()
	select {
	case <-ended:
	case <-h.life.Done():
	}
	return errors.Join(web.Close(), srv.Close())
}

func (h *host) add(srv *server.Server) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.servers[h.last] = srv
	return h.last
}

func (h *host) remove(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.servers, id)
}

// converse serves a stdio conversation with a server. It resets the connection of
// one that does not end well.
func (h *host) converse(conn *net.TCPConn, in io.Reader, id int) {
	h.mu.Lock()
	srv := h.servers[id]
	h.mu.Unlock()
	if srv == nil || srv.ServeStdio(h.life, in, conn) != nil {
		_ = conn.SetLinger(0)
	}
}

// options are those of a test, as the server's.
func options(o *reference.Options) families.Options {
	opts := families.Options{
		ArtifactsDir: o.ArtifactsDir, ChecklistDir: o.ChecklistDir,
		AllowFaultInjection: o.AllowFaultInjection,
		Services: families.ServiceOptions{
			TasksURL: o.Services.TasksURL, IDsURL: o.Services.IDsURL, APIKey: o.Services.APIKey,
			ProjectID: o.Services.ProjectID, Reservation: o.Services.Reservation,
		},
	}
	opts.Families, opts.SSE = o.Families, o.SSE
	opts.COE.NextTask, opts.COE.NoOrchestrator, opts.COE.Admin = coe.TaskShape(o.COE.NextTask), o.COE.NoOrchestrator, o.COE.Admin
	opts.Docling.InputRoots, opts.Docling.AllowNetworks = o.Docling.InputRoots, o.Docling.AllowNetworks
	opts.Assistant.SessionToken = o.Assistant.SessionToken
	return opts
}

// replies are the lines for the test that asked for a server.
type replies struct {
	mu   sync.Mutex
	conn net.Conn
}

func (r *replies) say(reply reference.Reply) {
	line, err := json.Marshal(reply)
	if err != nil {
		return // it holds texts
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = r.conn.Write(append(line, '\n')) // a test that has gone reads nothing
}

// Write takes a line of the server's log.
func (r *replies) Write(line []byte) (int, error) {
	r.say(reference.Reply{Log: string(line)})
	return len(line), nil
}
