package proxy_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// records keeps what an observer gets.
type records struct {
	mu  sync.Mutex
	all []proxy.Record
}

func (r *records) add(_ context.Context, rec proxy.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, rec)
}

// take returns the records by now, and forgets them.
func (r *records) take() []proxy.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// Each request has one record, whatever became of it, and is counted while it is open.
func TestOnRequest(t *testing.T) {
	t.Parallel()
	for _, era := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		synctest.Test(t, func(t *testing.T) {
			s := clienttest.NewServer(t)
			s.Tool("ok", "", func(*clienttest.Call) (any, error) {
				time.Sleep(time.Second)
				return clienttest.Text("fine"), nil
			})
			s.Tool("wrong", "", func(*clienttest.Call) (any, error) {
				return json.RawMessage(`{"isError":true,"content":[],"structuredContent":{"isError":false},"resultType":"complete"}`), nil
			})
			s.Tool("refuses", "", func(*clienttest.Call) (any, error) { return nil, &jsonrpc.Error{Code: -31999, Message: "No"} })
			s.Tool("dies", "", func(*clienttest.Call) (any, error) { return nil, clienttest.ErrCut })
			s.Tool("slow", "", slowTool)
			var seen records
			var stats proxy.Stats
			h := newRawHost(t, s, era, proxy.OnRequest(seen.add), proxy.WithStats(&stats))
			call := func(id int, params string) {
				if era == mcp.Latest {
					h.stateless(id, mcp.MethodToolsCall, `{}`, `,"io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"}`, `,`+params)
					return
				}
				h.send(id, mcp.MethodToolsCall, `{`+params+`}`)
			}
			sessions := int64(0)
			if era == mcp.LatestSession {
				h.initialize(`{}`)
				synctest.Wait()
				first := seen.take()
				require.Len(t, first, 1)
				require.Equal(t, "h initialize "+string(era), first[0].Host+" "+first[0].Method+" "+string(first[0].Version))
				sessions = 1
			}
			for id, want := range []proxy.Record{
				{Tool: "ok", Outcome: proxy.OutcomeOK, Duration: time.Second},
				{Tool: "wrong", Outcome: proxy.OutcomeToolError},
				{Tool: "refuses", Outcome: proxy.OutcomeError, Code: -31999},
				{Tool: "dies", Outcome: proxy.OutcomeFailed, Failure: &proxy.Failure{Delivery: "unknown"}},
				{Tool: "slow", Outcome: proxy.OutcomeCanceled, Duration: time.Minute, Failure: &proxy.Failure{Delivery: "unknown"}},
			} {
				call(id+2, `"name":"`+want.Tool+`"`)
				if want.Tool == "slow" {
					time.Sleep(time.Minute)
					require.Equal(t, int64(1), stats.Requests())
					require.Equal(t, sessions, stats.Sessions())
					h.send(0, mcp.MethodCancelled, `{"requestId":6}`)
				} else {
					h.read()
				}
				synctest.Wait()
				require.Zero(t, stats.Requests())
				got := seen.take()
				require.Len(t, got, 1, want.Tool)
				r := got[0]
				require.Equal(t, "h tools/call "+want.Tool, r.Host+" "+r.Method+" "+r.Tool)
				require.Equal(t, era.Era(), r.Version.Era())
				require.Equal(t, want.Outcome, r.Outcome, want.Tool)
				require.Equal(t, want.Code, r.Code)
				require.GreaterOrEqual(t, r.Duration, want.Duration)
				require.Less(t, r.Duration, want.Duration+time.Second)
				require.Contains(t, string(r.Params), `"name":"`+want.Tool+`"`)
				require.Equal(t, want.Failure == nil, r.Failure == nil)
				if want.Failure != nil {
					require.Equal(t, want.Failure.Delivery, r.Failure.Delivery)
				}
				if want.Outcome == proxy.OutcomeOK {
					require.Positive(t, r.ResultBytes)
				}
			}
			require.NoError(t, h.close())
			require.Zero(t, stats.Sessions())
		})
	}
}

// A request that is not served, or cannot be read, has a record. An observer that panics
// changes no answer.
func TestOnRequestRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("slow", "", slowTool)
		var seen records
		h := newRawHost(t, s, mcp.LatestSession, proxy.OnRequest(func(ctx context.Context, r proxy.Record) {
			seen.add(ctx, r)
			panic("a bug")
		}))
		h.initialize(`{}`)
		h.send(2, mcp.MethodToolsCall, `{"name":"slow"}`)
		h.send(2, mcp.MethodToolsCall, `{"name":"twice"}`)
		require.Contains(t, h.read(), `"id":2,"error":{"code":-32600`)
		h.send(3, mcp.MethodToolsList, `{"_meta":1}`)
		require.Contains(t, h.read(), `"id":3,"error":{"code":-32602`)
		synctest.Wait()
		got := seen.take()
		require.Len(t, got, 3)
		require.ElementsMatch(t, []int64{0, jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams}, []int64{got[0].Code, got[1].Code, got[2].Code})
		require.NoError(t, h.close())
		require.Equal(t, proxy.OutcomeFailed, seen.take()[0].Outcome, "it was open at the end")
	})
}

// Requests of the stateless era over HTTP have records too.
func TestOnRequestHTTP(t *testing.T) {
	t.Parallel()
	s := clienttest.NewServer(t)
	s.Tool("ok", "", func(*clienttest.Call) (any, error) { return clienttest.Text("fine"), nil })
	var seen records
	h := proxy.NewHandler(pinned(s, mcp.Latest), proxy.OnRequest(seen.add))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ok","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"web","version":"1"}}}}`))
	for name, value := range map[string]string{"Content-Type": "application/json", "Mcp-Protocol-Version": string(mcp.Latest), "Mcp-Method": "tools/call", "Mcp-Name": "ok"} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), "fine")
	require.NoError(t, h.Close(t.Context()))
	got := seen.take()
	require.Len(t, got, 1)
	require.Equal(t, "web ok ok", got[0].Host+" "+got[0].Tool+" "+string(got[0].Outcome))
}
