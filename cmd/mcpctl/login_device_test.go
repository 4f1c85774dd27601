package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// typist is somebody who reads what a command prints, and types the code on another device.
type typist struct {
	t    *testing.T
	w    *authtest.World
	seen map[string]bool
}

var userCode = regexp.MustCompile(`USER-\d+`)

// Write implements io.Writer.
func (p *typist) Write(data []byte) (int, error) {
	for _, code := range userCode.FindAllString(string(data), -1) {
		if p.seen[code] {
			continue
		}
		p.seen[code] = true
		req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.w.AS.URL+"/device?user_code="+code, nil)
		if err != nil {
			return 0, err
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return 0, err
		}
		_ = resp.Body.Close()
	}
	return len(data), nil
}

// typed runs mcpctl for somebody who types the code that it prints, without a terminal.
func typed(t *testing.T, w *authtest.World, folder string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	who := &typist{t, w, map[string]bool{}}
	code = run(t.Context(), args, console.Streams{
		In: strings.NewReader(""), Out: io.MultiWriter(&out, who), Err: io.MultiWriter(&errs, who), Env: tokensIn(folder),
	})
	require.NotContains(t, out.String()+errs.String(), "planted-secret")
	return code, out.String(), errs.String()
}

func TestLoginWithACode(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]string{"human": "human", "json": "json", "ndjson": "ndjson"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Announce("device_authorization_endpoint")
			at1, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
			code, stdout, stderr := typed(t, w, folder, "auth", "login", "--device", "-o", format, at1)
			require.Zero(t, code, stderr)
			same := strings.NewReplacer(w.MCP.URL, "http://MCP", w.AS.URL, "http://AS").Replace(stdout + "--\n" + stderr)
			same = regexp.MustCompile(`"expires": ?"[^"]+"`).ReplaceAllString(same, `"expires":"TIME"`)
			same = regexp.MustCompile(`until [0-9:]+ \(for [^)]+\)`).ReplaceAllString(same, "until TIME (for LEFT)")
			golden := filepath.Join("testdata", "login", "device-"+name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(same), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), same)

			code, _, stderr = script(t, folder, "", "call", at1, "echo")
			require.Zero(t, code, stderr, "the token is that of every command")
			w.Revoke()
			code, _, stderr = script(t, folder, "", "call", at1, "echo")
			require.Zero(t, code, stderr, "it is renewed")
			require.Equal(t, 1, w.Asked("device"))
		})
	}
}

func TestLoginWithACodeThatIsRefused(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Announce("device_authorization_endpoint")
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			inner.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(rw, `{"error":"expired_token"}`)
	})
	code, stdout, stderr := typed(t, w, t.TempDir()+"/tokens", "auth", "login", "--device", "-o", "json", w.MCP.URL+"/mcp")
	require.Equal(t, failure.KindAuth.ExitCode(), code)
	require.Contains(t, stderr, "the code has expired before anybody logged in")
	require.Contains(t, stderr, "mcpctl auth login --device "+w.MCP.URL+"/mcp")
	var shown struct{ URL, UserCode, URLWithCode, Expires string }
	require.NoError(t, json.NewDecoder(strings.NewReader(stdout)).Decode(&shown))
	require.Equal(t, w.AS.URL+"/device?user_code="+shown.UserCode, shown.URLWithCode)
	_, err := time.Parse(time.RFC3339, shown.Expires)
	require.NoError(t, err)
}

// A page of a pushed request can be opened for a minute: the command prints that.
func TestHandOffOfAPushedRequest(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Announce("pushed_authorization_request_endpoint")
	var out, errs bytes.Buffer // not by script: the page has the name of the request
	code := run(t.Context(), []string{"auth", "login", "-o", "json", "-vv", w.MCP.URL + "/mcp"}, console.Streams{
		In: strings.NewReader(""), Out: &out, Err: &errs, Env: tokensIn(t.TempDir() + "/tokens"),
	})
	require.Equal(t, failure.KindAuth.ExitCode(), code)
	var doc struct {
		URL                 string
		Expires, OpenBefore time.Time
	}
	require.NoError(t, json.NewDecoder(&out).Decode(&doc))
	require.Contains(t, doc.URL, "request_uri=")
	require.True(t, doc.OpenBefore.Before(doc.Expires.Add(-8*time.Minute)))
	for line := range strings.Lines(errs.String()) {
		if strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "→ ") || strings.HasPrefix(line, "← ") {
			require.NotContains(t, line, "planted-secret", "the page is in no trace")
		}
	}
}
