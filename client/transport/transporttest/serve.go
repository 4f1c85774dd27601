package transporttest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// ServeLines serves the peer over a byte stream, one message per line, until in ends. It returns
// when all its goroutines have.
func (p *Peer) ServeLines(ctx context.Context, in io.Reader, out io.Writer) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	var mu sync.Mutex
	write := func(m jsonrpc.Message) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = out.Write(append(m.AppendJSON(nil), '\n')) // fails only if the client is gone
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(line)
		if err != nil {
			write(jsonrpc.Response{Error: jsonrpc.NewError(jsonrpc.CodeParseError, err.Error(), nil)})
			continue
		}
		if answer := p.take(m); answer != nil {
			work.Go(func() {
				if resp := answer(ctx, write); resp != nil {
					write(*resp)
				}
			})
		}
	}
}

// Style is the form of an HTTP peer's answers.
type Style uint8

const (
	// StyleJSON answers with a JSON body, unless the peer sends other messages before the answer.
	StyleJSON Style = iota
	// StyleSSE answers with an event stream.
	StyleSSE
)

// Handler serves the peer over streamable HTTP.
func (p *Peer) Handler(style Style) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		m, err := jsonrpc.Decode(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := p.take(m)
		if answer == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if method := m.(jsonrpc.Request).Method; style == StyleSSE || method == MethodNotify || method == MethodAsk {
			stream(w, r, answer)
			return
		}
		if resp := answer(r.Context(), func(jsonrpc.Message) {}); resp != nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(resp.AppendJSON(nil))
		}
	})
}

// stream answers one request with an event stream.
func stream(w http.ResponseWriter, r *http.Request, answer func(context.Context, func(jsonrpc.Message)) *jsonrpc.Response) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	push := func(m jsonrpc.Message) {
		_, _ = w.Write(sse.AppendEvent(nil, sse.Event{Data: m.AppendJSON(nil)}))
		_ = http.NewResponseController(w).Flush() // fails with the connection
	}
	if resp := answer(r.Context(), push); resp != nil {
		push(*resp)
	}
}

// pushStream is an open stream of [Peer.StreamHandler].
type pushStream struct {
	opened *http.Request
	push   func(jsonrpc.Message)
}

// StreamHandler serves the peer over the HTTP+SSE transport of 2024: a GET opens the stream for
// all messages of the server, and names the URL for POSTs.
func (p *Peer) StreamHandler() http.Handler {
	var (
		mu      sync.Mutex
		streams []pushStream
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			var writing sync.Mutex
			send := func(e sse.Event) {
				writing.Lock()
				defer writing.Unlock()
				if r.Context().Err() == nil {
					_, _ = w.Write(sse.AppendEvent(nil, e))
					_ = http.NewResponseController(w).Flush() // fails with the connection
				}
			}
			mu.Lock()
			name := strconv.Itoa(len(streams))
			streams = append(streams, pushStream{r, func(m jsonrpc.Message) { send(sse.Event{Name: "message", Data: m.AppendJSON(nil)}) }})
			mu.Unlock()
			w.Header().Set("Content-Type", "text/event-stream")
			send(sse.Event{Name: "endpoint", Data: []byte("messages?stream=" + name)})
			<-r.Context().Done()
			writing.Lock() // nothing is written after the handler has returned
			defer writing.Unlock()
			return
		}
		number, err := strconv.Atoi(r.URL.Query().Get("stream"))
		mu.Lock()
		if err != nil || number < 0 || number >= len(streams) {
			mu.Unlock()
			http.Error(w, "no such stream", http.StatusNotFound)
			return
		}
		to := streams[number]
		mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		m, err := jsonrpc.Decode(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if answer := p.take(m); answer != nil {
			go func() {
				if resp := answer(to.opened.Context(), to.push); resp != nil {
					to.push(*resp)
				}
			}()
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "Accepted")
	})
}
