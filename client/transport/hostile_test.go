package transport_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// ways are the ways in which a text can be the answer to a request. Each answers "m" with answer,
// and everything else correctly.
var ways = map[string]func(t *testing.T, answer func(w io.Writer, id string)) transport.Transport{
	"lines": func(t *testing.T, answer func(io.Writer, string)) transport.Transport {
		tr, server := transport.InMemory()
		t.Cleanup(func() { _ = server.Close() })
		go answerLines(server, answer)
		return tr
	},
	"body":       overHTTP("application/json", ""),
	"event":      overHTTP("text/event-stream", "data: "),
	"old stream": overOldHTTP,
}

func answerLines(server net.Conn, answer func(io.Writer, string)) {
	lines := bufio.NewReader(server)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if m, err := jsonrpc.Decode(line); err == nil {
			out := bufio.NewWriter(server)
			posted{msg: m}.answer(out, answer)
			_, _ = out.WriteString("\n")
			_ = out.Flush() // fails with the connection
		}
	}
}

// answer writes the answer to a request.
func (p posted) answer(w io.Writer, answer func(io.Writer, string)) {
	if p.method() == "m" {
		answer(w, p.id())
		return
	}
	_, _ = io.WriteString(w, strings.ReplaceAll(good, "ID", p.id()))
}

func overHTTP(contentType, before string) func(*testing.T, func(io.Writer, string)) transport.Transport {
	return func(t *testing.T, answer func(io.Writer, string)) transport.Transport {
		s := &web{}
		srv := memhttp.New(s.handlerOf(func(w http.ResponseWriter, _ *http.Request, p posted) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, before)
			p.answer(w, answer)
			if before != "" {
				_, _ = io.WriteString(w, "\n\n")
			}
		}))
		t.Cleanup(srv.Close)
		return &transport.HTTP{URL: memhttp.URL, RoundTripper: srv.Transport()}
	}
}

func overOldHTTP(t *testing.T, answer func(io.Writer, string)) transport.Transport {
	messages := make(chan posted)
	s := &web{}
	srv := memhttp.New(s.handlerOf(func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.verb != http.MethodGet {
			w.WriteHeader(http.StatusAccepted)
			messages <- p
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, endpointEvent)
		for {
			select {
			case p := <-messages:
				_, _ = io.WriteString(w, "data: ")
				p.answer(w, answer)
				write(w, "\n\n")
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	return &transport.SSE{URL: memhttp.URL, RoundTripper: srv.Transport()}
}

// Answers that break whole sessions of other clients fail one call here, at once, with any
// transport and default limits; the next call works.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	around := func(open, inside, end string) func(io.Writer, string) {
		return func(w io.Writer, id string) {
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":`, id)
			_, _ = io.WriteString(w, open+inside+end+"}")
		}
	}
	text := func(text string) func(io.Writer, string) {
		return func(w io.Writer, id string) { _, _ = io.WriteString(w, strings.ReplaceAll(text, "ID_", id)) }
	}
	tests := []struct {
		name   string
		answer func(io.Writer, string)
		reason transport.Reason
	}{
		{"1,000 deep", around(strings.Repeat("[", 1000), "", strings.Repeat("]", 1000)), transport.ReasonTooLarge},
		{"10 MB of brackets", around(strings.Repeat("[", 10<<20), "", ""), transport.ReasonTooLarge},
		{"over 16 MiB", around(`"`, strings.Repeat("x", 17<<20), `"`), transport.ReasonTooLarge},
		{"undecodable", around("", "oops", ""), transport.ReasonProtocol},
		{"not Unicode in a name", around("{\"a\xff\":1,\"a\xff\":2", "", "}"), transport.ReasonProtocol},
		{"RESULT in capitals", text(`{"jsonrpc":"2.0","id":ID_,"RESULT":{}}`), transport.ReasonProtocol},
		{"two results", text(`{"jsonrpc":"2.0","id":ID_,"result":1,"result":2}`), transport.ReasonProtocol},
		{"result and error", text(`{"jsonrpc":"2.0","id":ID_,"result":1,"error":{"code":1,"message":""}}`), transport.ReasonProtocol},
	}
	for way, server := range ways {
		for _, tt := range tests {
			t.Run(way+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				if strings.Contains(tt.name, " M") { // MB, MiB
					testmain.SkipLarge(t)
				}
				synctest.Test(t, func(t *testing.T) {
					p := connectOld(t, server(t, tt.answer))
					began := time.Now()
					_ = p.fails("m", tt.reason)
					// The old stream waits a moment for the reply to the POST.
					require.LessOrEqual(t, time.Since(began), 100*time.Millisecond)
					p.answers("another")
				})
			})
		}
	}
}

// A message without a call's id ends no call and is not an answer, whatever its members look
// like.
func TestHostileAnswersToNobody(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","ID":ID_,"result":{}}`, `{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{"jsonrpc":"2.0","id":"ID_","result":{}}`, `{"jsonrpc":"2.0","id":1e0,"result":{}}`,
	} {
		for way, server := range ways {
			t.Run(way+" "+text, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := connectOld(t, server(t, func(w io.Writer, id string) {
						_, _ = io.WriteString(w, strings.ReplaceAll(text, "ID_", id))
					}))
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					_, err := p.Call(ctx, p.request("m"))
					want := transport.ReasonCanceled // it may still get its answer
					if way == "body" || way == "event" {
						want = transport.ReasonProtocol // it has had its only answer
						if way == "event" && strings.Contains(text, `"id":"`) {
							want = transport.ReasonLost
						}
					}
					_ = failure(t, err, want)
					p.answers("another")
				})
			})
		}
	}
}

// Fifty thousand notifications before an answer are all delivered, in little time.
func TestManyNotifications(t *testing.T) {
	t.Parallel()
	count := testmain.Fewer(50_000, 5)
	for _, way := range []string{"event", "old stream"} { // lines: see package jsonrpc
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := connectOld(t, ways[way](t, func(w io.Writer, id string) {
					_, _ = io.WriteString(w, strings.Repeat(noteJSON+"\n\ndata: ", count)+strings.ReplaceAll(good, "ID", id))
				}))
				p.answers("m")
				_, notes, _ := p.count()
				require.Equal(t, count, notes)
			})
		})
	}
}
