package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
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

// A server that sends requests, notifications and changes without end, while the
// handlers block, cannot fill the memory, and calls continue.
func TestMemoryOfWaitingMessages(t *testing.T) { //nolint:paralleltest // measures the heap
	_, err := officialSchemas() // what they take is not this test's
	require.NoError(t, err)
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
			}), client.WithServerLimits(client.ServerLimits{QuestionsPerMinute: 10_000})},
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
				c, err := client.Connect(t.Context(), tr, pinned(append(tt.opts, client.WithServerLimits(client.ServerLimits{MemoryBytes: memoryLimit})))...)
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
				require.Greater(t, refused.Load(), int64(memoryPeer/2), "the server learns of it")
			}
		})
	}
}

// A server with 10,000 tools of 100 KB each does not fill the schema cache: its list is
// given up at 64 MiB, and nothing of it is kept.
func TestMemoryOfLargeList(t *testing.T) { //nolint:paralleltest // measures the heap
	if testmain.Race {
		t.Skip("reads 64 MiB with nothing at once")
	}
	const tools, onPage, size = 10_000, 20, 100_000
	tool := `{"name":"t%d","description":"` + strings.Repeat("x", size) + `","inputSchema":{"type":"object"}}`
	c, s := connected(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	s.wire.waive(t, "what the peer sends is not told to the wire, which would keep it")
	sent := 0
	s.on("tools/list", func(jsonrpc.Request) any {
		page := make([]string, onPage)
		for i := range page {
			page[i] = fmt.Sprintf(tool, sent)
			sent++
		}
		if sent >= tools {
			return json.RawMessage(`{"tools":[` + strings.Join(page, ",") + `]}`)
		}
		return json.RawMessage(fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, strings.Join(page, ","), sent))
	})
	grown := heapGrows(func(measure func()) {
		_, err := c.GetToolSchema(t.Context(), "t1")
		require.ErrorContains(t, err, "list")
		require.Contains(t, []mcperrors.Kind{mcperrors.KindProtocol, mcperrors.KindOverloaded}, mcperrors.KindOf(err), "%v", err)
		measure()
	})
	t.Logf("%d tools, %d KiB", sent, grown>>10)
	require.LessOrEqual(t, sent*size, 64<<20+onPage*size)
	require.Less(t, grown, int64(32<<20))
}

// Answers that a server begins and does not end are bounded together: they wait for
// room, and small ones go on.
func TestMemoryOfUnfinishedAnswers(t *testing.T) { //nolint:paralleltest // measures the heap
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, form := range []string{"JSON", "JSON with a length", "events", "lines of an event"} {
			t.Run(version+" "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { memoryOfUnfinished(t, version, form) })
			})
		}
	}
}

func memoryOfUnfinished(t *testing.T, version, form string) {
	h := &halfServer{version: version, form: form, free: make(chan struct{})}
	c := h.dial(t, memoryMessage, client.WithServerLimits(client.ServerLimits{MemoryBytes: memoryLimit}))
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
		synctest.Wait()
		require.Empty(t, errs)
		res, err := c.CallTool(t.Context(), "small", nil)
		require.NoError(t, err)
		require.Equal(t, "fine", res.Text())
		measure()
		cancel()
		work.Wait()
	})
	for range memoryPeer {
		require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(<-errs))
	}
	t.Logf("%d KiB", grown>>10)
	require.Less(t, grown, int64(memoryPeer*memoryFiller/2))
	close(h.free)
	require.Equal(t, "CLOSED", c.Breaker().State().String(), "our limit is no fault of the server's")
	_, err := c.CallTool(t.Context(), "whole", nil)
	require.NoError(t, err, "there is room again")
}

// All of many large answers at once arrive with the default limits.
func TestLargeAnswersAtOnce(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"JSON", "JSON with a length", "events"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			size, message, limit := 10<<20, 0, int64(0)
			if testmain.Race { // it reads slowly: a 64th of all
				size, message, limit = 160<<10, 256<<10, 1<<20
			}
			large := strings.Repeat("x", size)
			synctest.Test(t, func(t *testing.T) {
				h := &halfServer{version: "2025-11-25", form: form, free: make(chan struct{}), filler: large}
				c := h.dial(t, message, client.WithServerLimits(client.ServerLimits{MemoryBytes: limit}))
				errs := make(chan error, 16)
				for range cap(errs) {
					go func() {
						res, err := c.CallTool(t.Context(), "half", nil)
						if err == nil && len(res.Text()) != size {
							err = errors.New("it is not whole")
						}
						errs <- err
					}()
				}
				synctest.Wait()
				require.Empty(t, errs, "they wait, for room or for the rest")
				close(h.free)
				for range cap(errs) {
					require.NoError(t, <-errs)
				}
			})
		})
	}
}

// A server whose answers wait for room may be unable to send anything else. That does
// not count as its silence.
func TestWaitForRoomIsNoSilenceOfTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &halfServer{version: "2025-11-25", form: "JSON", free: make(chan struct{})}
		r := client.Resilience{Silence: 500 * time.Millisecond}
		m := &recordingMeter{}
		c := h.dial(t, memoryMessage, client.WithServerLimits(client.ServerLimits{MemoryBytes: memoryLimit}), client.WithResilience(r), client.WithMeter(m))
		h.deaf.Store(true)
		errs := make(chan error, 40)
		for range cap(errs) {
			go func() {
				_, err := c.CallTool(t.Context(), "half", nil)
				errs <- err
			}()
		}
		time.Sleep(4900 * time.Millisecond) // before the first stalled answer is given up
		require.Empty(t, errs)
		require.Zero(t, m.count(client.Silent))
		require.Equal(t, "CLOSED", c.Breaker().State().String())
		require.NoError(t, c.Close())
		for range cap(errs) {
			require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(<-errs))
		}
	})
}

// An answer that finds no room within the time of its call is an overload of the
// client. It counts against nobody, and its call is not reported as refused.
func TestNoRoomInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &halfServer{version: "2025-11-25", form: "JSON", free: make(chan struct{})}
		c := h.dial(t, memoryMessage, client.WithServerLimits(client.ServerLimits{MemoryBytes: memoryLimit}))
		errs := make(chan error, 40)
		for range cap(errs) {
			go func() {
				_, err := c.CallTool(t.Context(), "half", nil, client.WithTimeouts(-1, 3*time.Second))
				errs <- err
			}()
		}
		kinds := map[mcperrors.Kind]int{}
		for range cap(errs) {
			var e *mcperrors.Error
			require.ErrorAs(t, <-errs, &e)
			if kinds[e.Kind]++; e.Kind == mcperrors.KindOverloaded {
				require.Equal(t, mcperrors.CodeIncompatible, e.Code)
				require.Equal(t, mcperrors.Answered, e.Delivery)
				require.False(t, e.Retryable)
				require.ErrorContains(t, e, "there is no room for the answer")
			}
		}
		require.Positive(t, kinds[mcperrors.KindOverloaded])
		require.Positive(t, kinds[mcperrors.KindTimeout], "of those that had room, the server was late")
		require.Len(t, kinds, 2)
	})
}

// halfServer answers the tool half with a result that does not end.
type halfServer struct {
	version, form string
	free          chan struct{} // closed for the second halves
	filler        string        // what is sent before; "" for that of the tests of memory
	deaf          atomic.Bool   // nothing but halves is answered
}

// dial connects to the server, in memory, until the test ends.
func (h *halfServer) dial(t *testing.T, messageBytes int, opts ...client.Option) *client.Client {
	t.Helper()
	mem := memhttp.New(h)
	t.Cleanup(mem.Close)
	tr := &transport.HTTP{URL: memhttp.URL, RoundTripper: mem.Transport(), Limits: transport.Limits{MessageBytes: messageBytes}}
	c, err := client.Connect(t.Context(), tr, append([]client.Option{
		client.WithProtocolVersion(h.version), client.WithCache(client.CacheConfig{NoPreload: true}), client.WithValidation(client.Validation{Arguments: client.ValidateOff}),
	}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
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
	case h.deaf.Load() && req.Method != "tools/call":
		<-r.Context().Done()
		return
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
	if h.filler != "" {
		middle = h.filler
	}
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
		_, _ = io.WriteString(w, end)
	case <-r.Context().Done():
	}
}
