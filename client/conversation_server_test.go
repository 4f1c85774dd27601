package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// player plays the server of a conversation. Its script has a method a line,
// with what to do when the client sends it; further acts follow indented. The
// second line of a method is for the second time, the last for all further ones.
// GET and DELETE are methods, too. $ID is the id of the request. The acts:
//
//	result JSON, error JSON     answer
//	notify METHOD JSON          send a notification
//	ask ID METHOD JSON          send a request, wait for its answer
//	raw TEXT                    send a line or a body as it is
//	wait TIME                   do nothing for a while
//	silent                      do not answer, until the client has gone
//	hold                        keep the stream for what the step server sends
//	break                       drop the connection
//	status N TEXT               HTTP: answer with a status and a body
//	session ID                  HTTP: the reply opens a session
//	event ID, end               HTTP: give the next event an id; end the stream
//	endpoint PATH               HTTP+SSE: say where to post
//
// A line "posts PATH" makes it an HTTP+SSE server, which takes messages there and
// answers on the stream.
//
// A method without a line is answered -32601, but for initialize, which
// is answered with the revision offered and a server of tools.
type player struct {
	t    *testing.T
	k    *talk
	http *memhttp.Server
	quit context.Context
	stop context.CancelFunc
	// posts is where HTTP+SSE takes messages, "" for a server of today.
	posts string
	work  sync.WaitGroup

	mu    sync.Mutex
	rules map[string][][]act
	used  map[string]bool
	heard map[string]chan struct{} // answers to what was asked
	held  []*reply                 // streams that are held, the latest last
	pipe  *reply                   // of the latest pipe
}

type act struct{ verb, arg string }

// reply is the way back to the client, of a request or without one.
type reply struct {
	p    *player
	id   string
	out  io.Writer // of a pipe
	w    http.ResponseWriter
	r    *http.Request
	acts chan act // for who holds
	// stream says that the reply over HTTP is a stream, begun that it has begun.
	stream, begun bool
	event         string
}

// newPlayer makes a server of a script; used gets to know the methods that were
// sent.
func newPlayer(t *testing.T, k *talk, over string, rules []byte, used map[string]bool) *player {
	t.Helper()
	p := &player{t: t, k: k, rules: map[string][][]act{}, used: used, heard: map[string]chan struct{}{}}
	p.quit, p.stop = context.WithCancel(t.Context())
	method := ""
	for _, line := range lineList(rules) {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		rest := strings.TrimSpace(line)
		if !indented {
			method, rest, _ = strings.Cut(rest, " ")
			if method == "posts" {
				p.posts = rest
				continue
			}
			p.rules[method] = append(p.rules[method], nil)
		}
		if a := actOf(rest); a.verb != "" {
			last := len(p.rules[method]) - 1
			p.rules[method][last] = append(p.rules[method][last], a)
		}
	}
	if over == "http" {
		p.http = memhttp.New(k.wire.handler(p))
	}
	return p
}

func actOf(text string) act {
	verb, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	return act{verb, strings.TrimSpace(arg)}
}

func (p *player) end() {
	p.stop()
	if p.http != nil {
		p.http.Close()
	}
	p.work.Wait()
}

// next returns what to do about a method.
func (p *player) next(method string, message []byte) []act {
	p.mu.Lock()
	defer p.mu.Unlock()
	rules := p.rules[method]
	p.used[method] = true
	switch {
	case len(rules) > 1:
		p.rules[method] = rules[1:]
		fallthrough
	case len(rules) == 1:
		return rules[0]
	}
	switch method {
	case "initialize":
		var m struct {
			Params struct{ ProtocolVersion string }
		}
		_ = json.Unmarshal(message, &m)
		return []act{{"result", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"srv","version":"1"}}`, m.Params.ProtocolVersion)}}
	case http.MethodGet:
		return []act{{"status", "405"}}
	case http.MethodDelete:
		return []act{{"status", "204"}}
	}
	return []act{{"error", `{"code":-32601,"message":"Method not found"}`}}
}

// incoming is as much of a message as the player needs.
type incoming struct {
	ID     json.RawMessage
	Method string
}

// answered notes the client's answer to what was asked.
func (p *player) answered(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.heard[id]; c != nil {
		close(c)
		delete(p.heard, id)
	}
}

// Connect implements [transport.Transport] for pipes.
func (p *player) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	tr, conn := transport.InMemory()
	p.work.Go(func() { p.servePipe(conn) })
	return tr.Connect(ctx, h)
}

func (p *player) String() string { return "player" }

// restarting is a player whose every connection is a fresh start of a program.
type restarting struct{ *player }

func (p restarting) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	p.k.note("* started")
	conn, err := p.player.Connect(ctx, h)
	return programConn{conn}, err
}

func (p *player) servePipe(conn net.Conn) {
	ctx, cancel := context.WithCancel(p.quit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	idle := &reply{p: p, out: conn}
	p.mu.Lock()
	p.pipe = idle
	p.mu.Unlock()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadBytes('\n')
		elapse(moment)
		if err != nil {
			if !errors.Is(err, io.ErrClosedPipe) { // closed by the client, not by an act
				p.k.note("> closed")
			}
			return
		}
		p.k.note("> %s", compact(line))
		p.k.wire.sent(line[:len(line)-1])
		var m incoming
		require.NoError(p.t, json.Unmarshal(line, &m))
		switch {
		case m.Method == "":
			p.answered(string(m.ID))
		case m.ID == nil:
			p.work.Go(func() { p.playNote(ctx, idle, m.Method, line) })
		default:
			acts := p.next(m.Method, line)
			p.work.Go(func() { p.play(ctx, &reply{p: p, id: string(m.ID), out: conn}, acts) })
		}
	}
}

// servePost takes a message the way HTTP+SSE servers do: the answer comes on the
// stream of GET.
func (p *player) servePost(r *reply, m incoming, body []byte) {
	if r.r.URL.Path != p.posts {
		r.status("405")
		return
	}
	r.status("202")
	if m.ID == nil {
		return
	}
	for _, a := range p.next(m.Method, body) {
		if a.verb == "result" || a.verb == "error" {
			a = act{"raw", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, m.ID, a.verb, a.arg)}
		}
		p.now(a)
	}
}

// playNote plays what a script has for a notification: nothing, mostly.
func (p *player) playNote(ctx context.Context, r *reply, method string, line []byte) {
	p.mu.Lock()
	known := len(p.rules[method]) > 0
	p.mu.Unlock()
	if known {
		p.play(ctx, r, p.next(method, line))
	}
}

// shownHeaders are those of the protocol, in the order they are shown.
var shownHeaders = []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Last-Event-Id"}

func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	var headers []string
	for _, name := range shownHeaders {
		if v := r.Header.Get(name); v != "" {
			headers = append(headers, name+": "+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if strings.HasPrefix(name, "Mcp-Param-") {
			headers = append(headers, name+": "+r.Header.Get(name))
		}
	}
	elapse(moment)
	where := ""
	if r.URL.Path != "/mcp" {
		where = r.URL.Path + " "
	}
	p.k.note("> %s %s[%s] %s", r.Method, where, strings.Join(headers, ", "), compact(body))
	if r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json" {
		p.t.Errorf("a POST says it is %s", r.Header.Get("Content-Type"))
	}
	if accept := r.Header.Get("Accept"); r.Method != http.MethodDelete && !strings.Contains(accept, "text/event-stream") {
		p.t.Errorf("a %s accepts %s (HTTP-02, HTTP-19)", r.Method, accept)
	}
	rep := &reply{p: p, w: w, r: r}
	var m incoming
	_ = json.Unmarshal(body, &m)
	method := m.Method
	if r.Method != http.MethodPost {
		method = r.Method
	}
	if p.posts != "" && r.Method == http.MethodPost {
		p.servePost(rep, m, body)
		return
	}
	switch {
	case method == "":
		rep.status("202") // written down before what waits for the answer goes on
		p.answered(string(m.ID))
	case r.Method == http.MethodPost && m.ID == nil:
		p.mu.Lock()
		known := len(p.rules[method]) > 0
		p.mu.Unlock()
		if !known {
			rep.status("202")
			return
		}
		p.play(r.Context(), rep, p.next(method, body))
	default:
		rep.id = string(m.ID)
		acts := p.next(method, body)
		for _, a := range acts {
			rep.stream = rep.stream || slices.Contains([]string{"notify", "ask", "event", "hold", "end", "endpoint"}, a.verb)
		}
		p.play(r.Context(), rep, acts)
	}
}

func (p *player) play(ctx context.Context, r *reply, acts []act) {
	for _, a := range acts {
		if ctx.Err() != nil || !p.do(ctx, r, a) {
			return
		}
	}
}

// do plays one act, and reports whether to go on.
func (p *player) do(ctx context.Context, r *reply, a act) bool {
	arg := strings.ReplaceAll(a.arg, "$ID", r.id)
	switch a.verb {
	case "result", "error":
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, r.id, a.verb, arg))
	case "raw":
		r.send(arg)
	case "endpoint":
		r.begin()
		p.k.note("< event: endpoint %s", arg)
		flush(r.w, "event: endpoint\ndata: "+arg+"\n\n")
	case "notify":
		method, params, _ := strings.Cut(arg, " ")
		if params != "" {
			params = `,"params":` + params
		}
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s}`, method, params))
	case "ask":
		return p.ask(ctx, r, arg)
	case "wait":
		d, err := time.ParseDuration(arg)
		require.NoError(p.t, err)
		select {
		case <-time.After(d):
		case <-ctx.Done():
			p.gone(r)
			return false
		}
	case "silent":
		if r.w != nil {
			<-ctx.Done()
			p.gone(r)
		}
		return false
	case "hold":
		return p.hold(ctx, r)
	case "break":
		p.k.note("< breaks the connection")
		if r.w != nil {
			panic(http.ErrAbortHandler)
		}
		_ = r.out.(net.Conn).Close()
		return false
	case "status":
		r.status(arg)
	case "session":
		if r.w != nil {
			r.w.Header().Set("Mcp-Session-Id", arg)
		}
	case "event":
		r.event = arg
	case "end":
		if r.w != nil {
			p.k.note("< end of the stream")
		}
		return false
	default:
		p.t.Errorf("unknown act %q", a.verb)
	}
	return true
}

// gone records that the client has left an exchange. It does so after the messages and
// events that this causes, which may come at the same time.
func (p *player) gone(r *reply) {
	elapse(2 * moment)
	if r.w != nil && p.quit.Err() == nil {
		p.k.note("> closes the exchange of %s", r.of())
	}
}

// of returns the request that an exchange over HTTP is about.
func (r *reply) of() string {
	if r.id == "" {
		return r.r.Method
	}
	return r.id
}

func (p *player) ask(ctx context.Context, r *reply, arg string) bool {
	id, rest, _ := strings.Cut(arg, " ")
	method, params, _ := strings.Cut(rest, " ")
	if params != "" {
		params = `,"params":` + params
	}
	heard := make(chan struct{})
	p.mu.Lock()
	p.heard[strconv.Quote(id)] = heard
	p.mu.Unlock()
	r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q%s}`, id, method, params))
	select {
	case <-heard:
		return true
	case <-ctx.Done():
		p.gone(r)
		return false
	}
}

// hold sends what the steps ask for, until the client has left.
func (p *player) hold(ctx context.Context, r *reply) bool {
	r.acts = make(chan act)
	r.begin()
	p.mu.Lock()
	p.held = append(p.held, r)
	p.mu.Unlock()
	for {
		select {
		case a := <-r.acts:
			if !p.do(ctx, r, a) {
				return false
			}
			if a.verb == "result" {
				return true
			}
		case <-ctx.Done():
			p.mu.Lock()
			p.held = slices.DeleteFunc(p.held, func(other *reply) bool { return other == r })
			p.mu.Unlock()
			p.gone(r)
			return false
		}
	}
}

// now plays an act that no request leads to: on the latest stream that is held,
// else on the pipe.
func (p *player) now(a act) {
	p.mu.Lock()
	var r *reply
	if len(p.held) > 0 {
		r = p.held[len(p.held)-1]
	}
	pipe := p.pipe
	p.mu.Unlock()
	switch {
	case r != nil:
		if a.verb == "end" || a.verb == "result" || a.verb == "break" {
			p.mu.Lock()
			p.held = p.held[:len(p.held)-1]
			p.mu.Unlock()
		}
		select {
		case r.acts <- a:
		case <-p.quit.Done():
		}
	case pipe != nil:
		p.work.Go(func() { p.do(p.quit, pipe, a) })
	default:
		p.t.Errorf("there is nowhere to play %s", a.verb)
	}
}

func (r *reply) begin() {
	if r.w == nil || r.begun || !r.stream {
		return
	}
	r.begun = true
	r.p.k.note("< 200 stream%s", r.opened())
	r.w.Header().Set("Content-Type", "text/event-stream")
	r.w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(r.w).Flush()
}

func (r *reply) opened() string {
	if id := r.w.Header().Get("Mcp-Session-Id"); id != "" {
		return " [Mcp-Session-Id: " + id + "]"
	}
	return ""
}

// send sends a message the way the reply goes.
func (r *reply) send(text string) {
	switch {
	case r.w == nil:
		r.p.k.note("< %s", text)
		r.p.k.wire.received([]byte(text))
		_, _ = fmt.Fprintln(r.out, text)
	case r.stream:
		r.begin()
		id := ""
		if r.event != "" {
			id, r.event = r.event, ""
			r.p.k.note("< event %s %s", id, text)
			id = "id: " + id + "\n"
		} else {
			r.p.k.note("< event %s", text)
		}
		flush(r.w, id+"data: "+text+"\n\n")
	default:
		status := r.statusOf(text)
		r.p.k.note("< %d%s %s", status, r.opened(), text)
		r.w.Header().Set("Content-Type", "application/json")
		r.w.WriteHeader(status)
		_, _ = io.WriteString(r.w, text)
	}
	elapse(moment)
}

// statusOf returns the HTTP status of an answer: 200, or in the stateless era the one
// for its error.
func (r *reply) statusOf(text string) int {
	var m struct{ Error struct{ Code int64 } }
	_ = json.Unmarshal([]byte(text), &m)
	if r.r.Header.Get("Mcp-Method") == "" {
		return http.StatusOK
	}
	switch m.Error.Code {
	case -32601:
		return http.StatusNotFound
	case -32020, -32021, -32022:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (r *reply) status(arg string) {
	if r.w == nil {
		r.p.t.Error("there is no status on a pipe")
		return
	}
	code, body, _ := strings.Cut(arg, " ")
	n, err := strconv.Atoi(code)
	require.NoError(r.p.t, err)
	r.p.k.note("< %s", strings.TrimSpace(arg))
	if strings.HasPrefix(body, "{") {
		r.w.Header().Set("Content-Type", "application/json")
	}
	r.w.WriteHeader(n)
	_, _ = io.WriteString(r.w, body)
}

// programConn is a connection that is a program.
type programConn struct{ transport.Conn }

func (programConn) Traits() transport.Traits { return transport.Traits{Process: true} }
