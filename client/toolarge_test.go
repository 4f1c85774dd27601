package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// largeServer is a server of both eras with the tool big, whose result exceeds the
// limit of the test, and the tool small. form tells where big's answer has its id.
type largeServer struct{ form string }

const largeLimit = 128 << 10

func (s largeServer) answer(line []byte) string {
	var r struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if json.Unmarshal(line, &r) != nil || r.ID == nil {
		return ""
	}
	result := func(text string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, text) }
	switch {
	case r.Method == "initialize":
		return result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"large","version":"1"}}`)
	case r.Method == "server/discover":
		return result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
	case r.Method == "tools/list":
		return result(`{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[{"name":"big","inputSchema":{"type":"object"}},{"name":"small","inputSchema":{"type":"object"}}]}`)
	case r.Params.Name != "big":
		return result(`{"resultType":"complete","content":[{"type":"text","text":"ok"}]}`)
	}
	pad := strings.Repeat("x", 2*largeLimit)
	switch s.form {
	case "id first":
		return result(`{"resultType":"complete","content":[{"type":"text","text":"` + pad + `"}]}`)
	case "id last":
		return fmt.Sprintf(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":%q}]},"id":%s}`, pad, r.ID)
	case "id out of sight":
		return fmt.Sprintf(`{"result":{"content":[{"type":"text","text":%q}]},"id":%s,"jsonrpc":"2.0","x":%q}`, pad, r.ID, pad)
	default: // it never ends
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, r.ID) + strings.Repeat(pad, 20)
	}
}

// carriers are the ways to the server.
var carriers = map[string]func(t *testing.T, s largeServer) transport.Transport{
	"stdio": func(t *testing.T, s largeServer) transport.Transport {
		in, toServer, err := os.Pipe()
		require.NoError(t, err)
		fromServer, out, err := os.Pipe()
		require.NoError(t, err)
		go func() {
			defer out.Close() //nolint:errcheck // a pipe of the test
			defer in.Close()  //nolint:errcheck // a pipe of the test
			for lines := bufio.NewReader(in); ; {
				line, err := lines.ReadBytes('\n')
				if err != nil {
					return
				}
				if answer := s.answer(line); answer != "" {
					_, _ = io.WriteString(out, answer+"\n")
				}
			}
		}()
		return &transport.Stream{In: fromServer, Out: toServer, Limits: transport.Limits{MessageBytes: largeLimit}}
	},
	"HTTP, length known":   largeOverHTTP("application/json", true),
	"HTTP, length unknown": largeOverHTTP("application/json", false),
	"HTTP, event":          largeOverHTTP("text/event-stream", false),
}

func largeOverHTTP(media string, announced bool) func(t *testing.T, s largeServer) transport.Transport {
	return func(t *testing.T, s largeServer) transport.Transport {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			answer := ""
			if r.Method == http.MethodPost && err == nil {
				answer = s.answer(body)
			}
			switch {
			case r.Method != http.MethodPost:
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			case answer == "":
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", media)
			if media == "text/event-stream" {
				answer = "data: " + answer + "\n\n"
			}
			if announced {
				w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			} else {
				w.(http.Flusher).Flush()
			}
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
		return &transport.HTTP{URL: srv.URL, Limits: transport.Limits{MessageBytes: largeLimit}}
	}
}

// The error of a result over the limit names the limit and how to raise it. If the
// client has read the id, the call was answered; otherwise its outcome is unknown.
// Calls beside it and after it continue, and no circuit counts it.
func TestResultOverTheLimit(t *testing.T) {
	t.Parallel()
	for way, open := range carriers {
		for _, era := range []string{"2025-11-25", "2026-07-28"} {
			for _, form := range []string{"id first", "id last", "id out of sight", "endless"} {
				t.Run(way+" "+era+" "+form, func(t *testing.T) {
					t.Parallel()
					c, err := client.Connect(t.Context(), open(t, largeServer{form}), client.WithProtocolVersion(era))
					require.NoError(t, err)
					t.Cleanup(func() { require.NoError(t, c.Close()) })
					var opts []client.CallOption
					if way == "stdio" && form == "id out of sight" {
						opts = append(opts, client.WithTimeouts(300*time.Millisecond, -1)) // nobody can tell that it was answered
					}
					for range 6 { // more than a circuit allows
						_, err = c.CallTool(t.Context(), "big", map[string]any{}, opts...)
						var e *mcperrors.Error
						require.ErrorAs(t, err, &e)
						if len(opts) > 0 {
							require.Equal(t, mcperrors.KindTimeout, e.Kind)
							require.Equal(t, mcperrors.Unknown, e.Delivery)
							break
						}
						require.Equal(t, mcperrors.KindTooLarge, e.Kind, err)
						require.Equal(t, mcperrors.CodeIncompatible, e.Code)
						require.Contains(t, e.Error(), "the answer is larger than 128 KiB; raise Limits.MessageBytes")
						require.NotContains(t, e.Error(), "not a JSON-RPC message")
						require.False(t, e.Retryable)
						require.Equal(t, 1, e.Attempts)
						want := mcperrors.Answered
						if form == "id out of sight" || way != "stdio" && form == "id last" && !strings.Contains(way, "event") {
							want = mcperrors.Unknown
						}
						require.Equal(t, want, e.Delivery)
						res, err := c.CallTool(context.WithoutCancel(t.Context()), "small", map[string]any{})
						require.NoError(t, err, "the next call goes on")
						require.False(t, res.IsError)
					}
				})
			}
		}
	}
}
