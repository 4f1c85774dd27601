package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeServer answers requests as a small MCP server does, and counts the calls
// of tools that it executes.
type fakeServer struct{ executed atomic.Int64 }

func (f *fakeServer) answer(raw []byte) []byte {
	m := parse(raw)
	if !m.request() {
		return nil
	}
	switch m.Method {
	case "initialize":
		return response(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
	case "server/discover":
		return response(m.ID, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":1000}`)
	case "tools/list":
		if m.cursor != "" {
			return failure(m.ID, -32602, "no such cursor", "")
		}
		return response(m.ID, `{"ttlMs":1000,"tools":[{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}},{"name":"sub","inputSchema":{"type":"object"}}]}`)
	case "tools/call":
		f.executed.Add(1)
		return response(m.ID, `{"content":[{"type":"text","text":"done"}],"structuredContent":{"sum":3}}`)
	default:
		return response(m.ID, "{}")
	}
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	body, _ := io.ReadAll(r.Body)
	out := f.answer(body)
	if out == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}

// serve answers lines until they end.
func (f *fakeServer) serve(from io.ReadCloser, to io.WriteCloser) {
	defer func() { _ = to.Close() }()
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadBytes('\n')
		if out := f.answer(bytes.TrimSpace(line)); out != nil {
			if _, failed := to.Write(append(out, '\n')); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func request(id int, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + string(text(id)) + `,"method":` + quote(method) + `,"params":` + params + `}`
}

const toolParams = `{"name":"add","arguments":{"a":1},"_meta":{"progressToken":"p","example.org/idempotencyKey":"k1"}}`

func call(id int) string { return request(id, "tools/call", toolParams) }

// httpRig is a raw HTTP client before the proxy, in memory.
type httpRig struct {
	t      *testing.T
	proxy  *Proxy
	server *fakeServer
	srv    *http.Server
	ends   chan net.Conn
	done   chan struct{}
}

type pipeListener struct {
	ends chan net.Conn
	quit chan struct{}
	once sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ends:
		return c, nil
	case <-l.quit:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.quit) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func newPipeListener() *pipeListener {
	return &pipeListener{ends: make(chan net.Conn), quit: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.ends <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.quit:
		return nil, net.ErrClosed
	}
}

func newHTTPRig(t *testing.T, rules ...Rule) *httpRig {
	t.Helper()
	p, err := New(Plan{Seed: 1, Rules: rules})
	require.NoError(t, err)
	r := &httpRig{t: t, proxy: p, server: &fakeServer{}, done: make(chan struct{})}
	l := newPipeListener()
	r.ends = l.ends
	r.srv = &http.Server{Handler: p.Handler(r.server)}
	go func() {
		defer close(r.done)
		_ = r.srv.Serve(l)
	}()
	t.Cleanup(func() {
		p.Heal()
		_ = r.srv.Close()
		<-r.done
	})
	return r
}

// conn opens a raw connection.
func (r *httpRig) conn() net.Conn {
	ours, theirs := net.Pipe()
	r.ends <- theirs
	r.t.Cleanup(func() { _ = ours.Close() })
	return ours
}

func post(c net.Conn, body string, headers ...string) {
	head := "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " + string(text(len(body))) + "\r\n"
	for _, h := range headers {
		head += h + "\r\n"
	}
	go func() { _, _ = io.WriteString(c, head+"\r\n"+body) }()
}

// got is what came back on a connection.
type got struct {
	status int
	header http.Header
	body   string
	err    error // of the body
	fail   error // of the head
	took   time.Duration
}

// ask posts on a connection of its own and reads the whole answer, for at most
// an hour of the bubble's time.
func (r *httpRig) ask(body string, headers ...string) got {
	c := r.conn()
	return r.askOn(c, bufio.NewReader(c), body, headers...)
}

func (r *httpRig) askOn(c net.Conn, in *bufio.Reader, body string, headers ...string) got {
	began := time.Now()
	_ = c.SetReadDeadline(began.Add(time.Hour))
	post(c, body, headers...)
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
	if err != nil {
		return got{fail: err, took: time.Since(began)}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return got{status: resp.StatusCode, header: resp.Header, body: string(data), err: err, took: time.Since(began)}
}

// events are the data of the events in a body.
func (g got) events() []string {
	var all []string
	for _, line := range strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(g.body), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			all = append(all, data)
		}
	}
	return all
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// streamRig is a raw stdio client before the proxy, in memory.
type streamRig struct {
	t      *testing.T
	proxy  *Proxy
	server *fakeServer
	to     *io.PipeWriter
	from   *bufio.Reader
	out    *io.PipeReader
	ended  chan error
}

func newStreamRig(t *testing.T, rules ...Rule) *streamRig {
	t.Helper()
	p, err := New(Plan{Seed: 1, Rules: rules})
	require.NoError(t, err)
	clientIn, toClient := io.Pipe()
	fromClient, clientOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	fromServer, serverOut := io.Pipe()
	r := &streamRig{t: t, proxy: p, server: &fakeServer{}, to: clientOut, from: bufio.NewReader(clientIn), out: clientIn, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	go r.server.serve(serverIn, serverOut)
	go func() {
		r.ended <- p.Stream(ctx, Ends{From: fromClient, To: toClient}, Ends{From: fromServer, To: toServer})
	}()
	t.Cleanup(func() {
		cancel()
		_ = clientOut.Close()
		_ = clientIn.Close()
		err := <-r.ended
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
	})
	return r
}

// say writes lines without waiting for their reader.
func (r *streamRig) say(lines ...string) {
	go func() {
		for _, line := range lines {
			_, _ = io.WriteString(r.to, line+"\n")
		}
	}()
}

// hear reads n lines, or what comes before the end or an hour of silence.
func (r *streamRig) hear(n int) ([]string, error) {
	timer := time.AfterFunc(time.Hour, func() { _ = r.out.CloseWithError(errSilent) })
	defer timer.Stop()
	var all []string
	for len(all) < n {
		line, err := r.from.ReadString('\n')
		if err != nil {
			if line != "" {
				all = append(all, line)
			}
			return all, err
		}
		all = append(all, strings.TrimSuffix(line, "\n"))
	}
	return all, nil
}

var errSilent = io.ErrClosedPipe // the reader has waited an hour

func idOf(line string) string {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal([]byte(line), &m)
	return string(m.ID)
}
