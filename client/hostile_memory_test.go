package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	memoryLimit   = 4 << 20
	memoryPeer    = 240       // messages that the peer sends, or answers it does not finish
	memoryFiller  = 256 << 10 // bytes of each
	memoryMessage = 1 << 20   // the limit of one
)

var (
	filler     = strings.Repeat("x", memoryFiller)
	blankLines = strings.Repeat("data: "+strings.Repeat(" ", 1000)+"\n", memoryFiller/1000)
)

// heapGrows returns by how much the heap grows while hold holds what it holds.
func heapGrows(hold func(measure func())) (grown int64) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what is pooled lives for one more
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	hold(func() { grown = heap() - before })
	return grown
}

// A server that asks, tells and tells of changes without end, while the handlers
// are stuck, cannot fill the memory, and calls go on.
func TestMemoryOfWaitingMessages(t *testing.T) { //nolint:paralleltest // measures the heap
	sampling := fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":"%s"}}],"maxTokens":1}`, filler)
	stuck := make(chan struct{})
	for name, tt := range map[string]struct {
		send func(s *fakeServer, i int)
		opts []client.Option
	}{
		"questions": {
			func(s *fakeServer, i int) {
				_, _ = fmt.Fprintf(s.conn, `{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":%s}`+"\n", i, sampling)
			},
			[]client.Option{client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
				<-stuck
				return nil, client.ErrRejected
			}), client.WithInputLimits(client.InputLimits{PerMinute: 10_000})},
		},
		"ids of questions": {
			func(s *fakeServer, i int) {
				_, _ = fmt.Fprintf(s.conn, `{"jsonrpc":"2.0","id":"%d%s","method":"roots/list"}`+"\n", i, filler)
			},
			[]client.Option{client.WithRoots(mcp.Root{URI: "file:///"})},
		},
		"notifications": {
			func(s *fakeServer, i int) {
				_, _ = fmt.Fprintf(s.conn, `{"jsonrpc":"2.0","method":"notifications/hello","params":{"n":%d,"x":"%s"}}`+"\n", i, filler)
			},
			[]client.Option{client.OnNotification(func(context.Context, jsonrpc.Notification) { <-stuck })},
		},
		"small parts of large messages": {
			func(s *fakeServer, i int) {
				_, _ = fmt.Fprintf(s.conn, `{"jsonrpc":"2.0","method":"notifications/hello","params":{"n":%d},"x":"%s"}`+"\n", i, filler)
			},
			[]client.Option{client.OnNotification(func(context.Context, jsonrpc.Notification) { <-stuck })},
		},
	} {
		t.Run(name, func(t *testing.T) {
			stuck = make(chan struct{})
			var refused atomic.Int64
			grown := heapGrows(func(measure func()) {
				tr, s := newFake(t)
				tr.Limits.MessageBytes = memoryMessage
				s.wire.waive(t, "what the peer asks is not told to the wire, which would keep it")
				c, err := client.Connect(t.Context(), tr, pinned(append(tt.opts, client.WithMemoryLimit(memoryLimit)))...)
				require.NoError(t, err)
				for i := range memoryPeer {
					tt.send(s, 1000+i)
				}
				_, err = c.CallTool(t.Context(), "echo", hello) // after all that was sent
				require.NoError(t, err)
				s.mu.Lock()
				for _, line := range s.got {
					if strings.Contains(string(line[:min(len(line), 200)]), `"code":-32000`) {
						refused.Add(1)
					}
				}
				s.got = nil
				s.mu.Unlock()
				s.wire.forget()
				measure()
				close(stuck)
				require.NoError(t, ignoreClosed(c.Close()))
			})
			t.Logf("%d KiB, %d refused", grown>>10, refused.Load())
			require.Less(t, grown, int64(2*memoryLimit))
			if name == "questions" {
				require.Greater(t, refused.Load(), int64(memoryPeer/2), "the server is told")
			}
		})
	}
}

// Answers that a server begins and does not end are bounded together; the newest
// are refused, and small ones go on.
func TestMemoryOfUnfinishedAnswers(t *testing.T) { //nolint:paralleltest // measures the heap
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, form := range []string{"JSON", "JSON with a length", "events", "lines of an event"} {
			t.Run(version+" "+form, func(t *testing.T) {
				h := &halfServer{version: version, form: form, free: make(chan struct{})}
				srv := httptest.NewServer(h)
				defer srv.Close()
				c, err := client.Dial(t.Context(), srv.URL, client.WithProtocolVersion(version), client.WithPreload(false),
					client.WithValidation(client.ValidateOff), client.WithMemoryLimit(memoryLimit),
					client.WithHTTP(transport.HTTP{Limits: transport.Limits{MessageBytes: memoryMessage}}))
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				var work sync.WaitGroup
				errs := make(chan error, memoryPeer)
				grown := heapGrows(func(measure func()) {
					for range memoryPeer {
						work.Go(func() {
							_, err := c.CallTool(ctx, "half", nil)
							errs <- err
						})
					}
					for range memoryPeer / 2 {
						var e *mcperrors.Error
						require.ErrorAs(t, <-errs, &e)
						require.Equal(t, mcperrors.KindOverloaded, e.Kind, "%v", e)
						require.NotEqual(t, mcperrors.NotSent, e.Delivery, "it may have run")
						require.ErrorContains(t, e, "there is no room for the answer")
					}
					res, err := c.CallTool(t.Context(), "small", nil)
					require.NoError(t, err)
					require.Equal(t, "fine", res.Text())
					measure()
					cancel()
					work.Wait()
				})
				t.Logf("%d KiB", grown>>10)
				require.Less(t, grown, int64(memoryPeer*memoryFiller/2))
				close(h.free)
				require.Equal(t, "CLOSED", c.Breaker().State().String(), "our limit is no fault of the server's")
				_, err = c.CallTool(t.Context(), "whole", nil)
				require.NoError(t, err, "there is room again")
				require.NoError(t, c.Close())
			})
		}
	}
}

// halfServer answers the tool half with a result that does not end.
type halfServer struct {
	version, form string
	free          chan struct{}
}

func (h *halfServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, err := jsonrpc.Decode(body)
	req, ok := m.(jsonrpc.Request)
	if err != nil || !ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := func(result string) string {
		return string(jsonrpc.Response{ID: req.ID, Result: json.RawMessage(result)}.AppendJSON(nil))
	}
	text := func(text string) string {
		return answer(`{"resultType":"complete","content":[{"type":"text","text":"` + text + `"}]}`)
	}
	switch {
	case req.Method != "tools/call":
		result := initResult
		if req.Method == "server/discover" {
			result = discoverResult
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer(result))
		return
	case strings.Contains(string(req.Params), "small"):
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text("fine"))
		return
	}
	start, end, _ := strings.Cut(text(""), `"text":""`)
	start, end = start+`"text":"`, `"`+end
	middle := filler // shared: the server's heap is ours
	switch h.form {
	case "JSON with a length":
		w.Header().Set("Content-Length", fmt.Sprint(len(start)+len(middle)+len(end)))
	case "events":
		start, end = "data: "+start, end+"\n\n"
	case "lines of an event": // between two tokens, where JSON may have line breaks
		start, middle, end = "data: "+strings.TrimSuffix(start, `"text":"`)+"\n", blankLines, `data: "text":"`+end+"\n\n"
	}
	if strings.Contains(h.form, "event") {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = io.WriteString(w, start)
	_, _ = io.WriteString(w, middle)
	if strings.Contains(string(req.Params), "whole") {
		_, _ = io.WriteString(w, end)
		return
	}
	_ = http.NewResponseController(w).Flush()
	select {
	case <-h.free:
	case <-r.Context().Done():
	}
}
