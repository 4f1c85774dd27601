package transport_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

const (
	withBatches = "2025-03-26"
	noteJSON    = `{"jsonrpc":"2.0","method":"note"}`
)

// A batch answers a call as a JSON body and as an event, only in one revision; a broken message
// does not affect the others.
func TestHTTPBatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text    string
		reason        transport.Reason // 0: answered
		notes, faults int
	}{
		{"answer and notification", `[` + noteJSON + `,` + good + `,` + noteJSON + `]`, 0, 2, 0},
		{"a broken one beside it", `[{"jsonrpc":"2.0","method":1},` + good + `]`, 0, 0, 1},
		{"an answer to nobody beside it", `[` + good + `,{"jsonrpc":"2.0","id":"x","result":{}}]`, 0, 0, 1},
		{"the answer is broken", `[` + noteJSON + `,{"jsonrpc":"2.0","id":ID,"result":{},"result":{}}]`, transport.ReasonProtocol, 1, 0},
		{"one too deep", `[` + noteJSON + `,{"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}]`, transport.ReasonTooLarge, 1, 0},
		{"cut behind the answer", `[` + good + `,{"json`, 0, 0, 1},
		{"an error without id", `[{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}]`, transport.ReasonProtocol, 0, 0},
	}
	for _, tt := range tests {
		for _, form := range []string{"application/json", "text/event-stream"} {
			t.Run(tt.name+" "+form, func(t *testing.T) {
				t.Parallel()
				s := replyServer(t, func(w http.ResponseWriter, id string) {
					text := strings.ReplaceAll(tt.text, "ID", id)
					if form == "text/event-stream" {
						text = "data: " + text + "\n\n"
					}
					w.Header().Set("Content-Type", form)
					_, _ = io.WriteString(w, text)
				})
				p := dial(t, &transport.HTTP{URL: s.url})
				without := max(tt.reason, transport.ReasonProtocol)
				_ = p.fails("m", without) // before a version is known
				for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
					p.UseVersion(version)
					_ = p.fails("m", without)
				}
				_, notes, _ := p.count()
				require.Zero(t, notes, "nothing in it counts")
				p.UseVersion(withBatches)
				before, _, _ := p.count()
				if tt.reason == 0 {
					p.answers("m")
				} else {
					_ = p.fails("m", tt.reason)
				}
				faults, notes, _ := p.count()
				require.Equal(t, []int{tt.notes, tt.faults}, []int{notes, faults - before})
				for _, got := range s.received() {
					require.False(t, strings.HasPrefix(got.body, "["), "RPC-16: none is sent")
				}
			})
		}
	}
}

// An answer to another call in a batch is delivered like one on another stream; a body without
// the answer to its own request fails that request.
func TestHTTPBatchOfOthers(t *testing.T) {
	t.Parallel()
	var waits string
	inBubble(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		switch p.method() {
		case "waits":
			waits = p.id()
			<-r.Context().Done()
		case "m":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `[{"jsonrpc":"2.0","id":%s,"result":{"late":1}}]`, waits)
		}
	}, func(t *testing.T, p *page, _ *web) {
		p.UseVersion(withBatches)
		done := make(chan transport.Answer, 1)
		req := p.request("waits")
		go func() {
			answer, _ := p.Call(t.Context(), req)
			done <- answer
		}()
		synctest.Wait()
		require.ErrorContains(t, p.fails("m", transport.ReasonProtocol), "a batch that does not contain the response")
		require.JSONEq(t, `{"late":1}`, string((<-done).Result))
	})
}

// A line of a byte stream may be a batch, too, only in that revision.
func TestStreamBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, server := transport.InMemory()
		conn, err := tr.Connect(t.Context(), transport.Handler{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		go func() {
			lines := bufio.NewReader(server)
			for {
				line, err := lines.ReadBytes('\n')
				if err != nil {
					return
				}
				if m, err := jsonrpc.Decode(line); err == nil {
					answer := jsonrpc.Response{ID: m.(jsonrpc.Request).ID}
					_, _ = server.Write([]byte("[" + string(answer.AppendJSON(nil)) + "]\n"))
				}
			}
		}()
		call := func(id int64) error {
			_, err := conn.Call(t.Context(), transport.Request{
				Request: jsonrpc.Request{ID: jsonrpc.IntID(id), Method: "m"}, Wait: jsonrpc.Wait{Max: time.Minute},
			})
			return err
		}
		_ = failure(t, call(1), transport.ReasonTimeout)
		conn.UseVersion(withBatches)
		require.NoError(t, call(2))
		conn.UseVersion("2025-06-18")
		_ = failure(t, call(3), transport.ReasonTimeout)
	})
}
