package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// planted are secrets that look like none: only who sends them knows.
var planted = map[string]string{
	"bearer":   "plain-words-of-a-bearer",
	"header":   "tenant/alpha&beta",
	"query":    "q+value=with spaces",
	"password": "correct horse",
	"session":  "sitting-number-seven",
}

// gossip is a server that repeats everything it gets, in the place that a tool's name
// selects.
type gossip struct {
	mu   sync.Mutex
	told []string
}

func (g *gossip) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	_ = json.Unmarshal(body, &req)
	user, password, _ := r.BasicAuth()
	all := []string{r.Header.Get("Authorization"), r.Header.Get("X-Tenant"), r.Header.Get("X-Bearer"), r.URL.RawQuery, r.URL.Query().Get("key"), user, password, r.Header.Get("Mcp-Session-Id")}
	text := strings.Join(all, " ")
	quoted, _ := json.Marshal(text)
	g.mu.Lock()
	g.told = append(g.told, all...)
	g.mu.Unlock()
	answer := func(member, value string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%q:%s}`, req.ID, member, value)
	}
	refuse := func(status int, media string) {
		w.Header().Set("Content-Type", media)
		w.Header().Set("Www-Authenticate", "Bearer realm="+text)
		w.Header().Set("X-Request-Id", text)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.Repeat(text+"\n", 100)) // cut somewhere
	}
	switch {
	case r.Method != http.MethodPost:
		refuse(http.StatusMethodNotAllowed, "text/plain")
	case req.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", planted["session"])
		answer("result", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"gossip","version":"1"}}`)
	case req.Method == "server/discover":
		answer("result", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
	case req.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case req.Method != "tools/call":
		answer("result", `{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[]}`)
	default:
		switch req.Params.Name {
		case "message":
			answer("error", `{"code":-32000,"message":`+string(quoted)+`}`)
		case "data":
			answer("error", `{"code":-32000,"message":"no","data":{"headers":[`+string(quoted)+`]}}`)
		case "body":
			refuse(http.StatusInternalServerError, "text/plain")
		case "login":
			refuse(http.StatusUnauthorized, "text/plain")
		case "page":
			refuse(http.StatusOK, "text/x-"+url.QueryEscape(r.Header.Get("X-Bearer")))
		case "elsewhere":
			w.Header().Set("Location", "/"+url.PathEscape(r.Header.Get("X-Bearer")))
			w.WriteHeader(http.StatusFound)
		case "status":
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 500 "+text+"\r\nContent-Length: 0\r\n\r\n")
				_ = conn.Close()
			}
		case "broken":
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s`, req.ID, quoted)
		case "stray":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":%s}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":%s}}\n\n", quoted, req.ID, quoted)
		case "lost":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, text)
		}
	}
}

// faces is everything a program may show of an error.
func faces(t *testing.T, err error) string {
	t.Helper()
	var b bytes.Buffer
	raw, failed := json.Marshal(err)
	require.NoError(t, failed)
	fmt.Fprintf(&b, "%v\n%+v\n%s\n", err, err, raw)
	slog.New(slog.NewTextHandler(&b, nil)).Error("x", "error", err)
	slog.New(slog.NewJSONHandler(&b, nil)).Error("x", "error", err)
	for rest := []error{err}; len(rest) > 0; rest = rest[1:] {
		fmt.Fprintf(&b, "%v\n", rest[0])
		if one := errors.Unwrap(rest[0]); one != nil {
			rest = append(rest, one)
		}
		if many, ok := rest[0].(interface{ Unwrap() []error }); ok {
			rest = append(rest, many.Unwrap()...)
		}
	}
	var e *mcperrors.Error
	if errors.As(err, &e) {
		fmt.Fprintf(&b, "%q %+v %+v", e.Message, e.HTTP, e.Process)
		if e.RPC != nil {
			fmt.Fprintf(&b, " %s %s", e.RPC.Message, e.RPC.Data)
		}
	}
	return b.String()
}

// noSecrets looks for the secrets, as they are and as JSON and URLs write them.
func noSecrets(t *testing.T, where, text string, secrets map[string]string) {
	t.Helper()
	for name, value := range secrets {
		quoted, _ := json.Marshal(value)
		for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value), strings.Trim(string(quoted), `"`), value[:len(value)-2]} {
			require.NotContains(t, text, form, "%s shows the %s", where, name)
		}
	}
}

// shown collects the output of a client: its log, events, records and errors.
type shown struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shown) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *shown) options() []client.Option {
	frame := func(p []byte) { fmt.Fprintf(s, "%s\n", p) }
	return []client.Option{
		client.WithLogger(slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		client.WithTrace(transport.Trace{Sent: frame, Received: frame, Noise: frame, Stderr: func(line string) { fmt.Fprintln(s, line) }}),
		client.OnEvent(func(_ context.Context, e client.Event) { fmt.Fprintf(s, "%T %+v\n", e, e) }),
		client.WithValidation(client.Validation{Arguments: client.ValidateOff}),
	}
}

// What a client sends as a secret, no face of it shows, wherever a server repeats
// it.
func TestSecretsAreShownNowhere(t *testing.T) {
	t.Parallel()
	headers := http.Header{"X-Tenant": {planted["header"]}, "X-Bearer": {"Bearer " + planted["bearer"]}}
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		for _, place := range []string{"message", "data", "body", "login", "page", "elsewhere", "status", "broken", "stray", "lost", "message per call", "login per call", "stray per call"} {
			t.Run(era+" "+place, func(t *testing.T) {
				place, called := strings.CutSuffix(place, " per call")
				t.Parallel()
				g := &gossip{}
				srv := httptest.NewServer(g)
				t.Cleanup(srv.Close)
				address, err := url.Parse(srv.URL)
				require.NoError(t, err)
				address.User, address.RawQuery = url.UserPassword("someone", planted["password"]), "key="+url.QueryEscape(planted["query"])
				said := &shown{}
				tr := &transport.HTTP{URL: address.String(), Header: headers}
				if called {
					tr.Header, tr.HeaderFunc = nil, func(context.Context) (http.Header, error) { return headers, nil }
				}
				c, err := client.Connect(t.Context(), tr, append(said.options(), client.WithProtocolVersion(era))...)
				require.NoError(t, err)
				_, err = c.CallTool(t.Context(), place, map[string]any{})
				require.Error(t, err)
				require.NoError(t, c.Close())
				g.mu.Lock()
				told := strings.Join(g.told, " ")
				g.mu.Unlock()
				for name, value := range planted {
					if name != "session" || era == "2025-11-25" {
						require.Contains(t, told, value, "the server got the %s", name)
					}
				}
				noSecrets(t, "the error", faces(t, err), planted)
				noSecrets(t, "the log, the trace or an event", said.text(), planted)
			})
		}
	}
}

// gossipProgram repeats a secret of its environment on stderr, on stdout and in an
// error, and ends.
func gossipProgram() {
	secret := os.Getenv("THE_TOKEN")
	fmt.Fprintln(os.Stderr, "starting with", secret)
	fmt.Println("banner " + secret)
	lines := json.NewDecoder(os.Stdin)
	for {
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if lines.Decode(&req) != nil {
			return
		}
		switch {
		case req.ID == nil:
		case req.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"gossip","version":"1"}}}`+"\n", req.ID)
		case req.Method == "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}`+"\n", req.ID)
		case req.Method != "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":1,"cacheScope":"private","tools":[]}}`+"\n", req.ID)
		case req.Params.Name == "message":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q,"data":%q}}`+"\n", req.ID, secret, secret)
		default:
			return
		}
	}
}

func TestSecretsOfAProgramAreShownNowhere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a process")
	}
	secret := map[string]string{"token": "words that open a door"}
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		for _, place := range []string{"message", "end"} {
			t.Run(era+" "+place, func(t *testing.T) {
				t.Parallel()
				said := &shown{}
				c, err := client.Connect(t.Context(), &transport.Command{
					Argv: programArgv("gossip"), Env: []string{"GORACE=atexit_sleep_ms=0", "THE_TOKEN=" + secret["token"]},
				}, append(said.options(), client.WithProtocolVersion(era),
					client.WithResilience(client.Resilience{Restart: client.Restart{Off: true}}))...)
				require.NoError(t, err)
				_, err = c.CallTool(t.Context(), place, map[string]any{})
				require.Error(t, err)
				require.NoError(t, c.Close())
				require.Contains(t, said.text(), "banner [redacted]")
				noSecrets(t, "the error", faces(t, err), secret)
				noSecrets(t, "the log, the trace or an event", said.text(), secret)
			})
		}
	}
}
