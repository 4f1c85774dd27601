package suitetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	httpchecks "github.com/mainstay-mcp/mainstay/conformance/checks/http"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestMaySo: what servers written by others do, and may, is not held against
// them; and what was only waited for in vain is inconclusive.
func TestMaySo(t *testing.T) {
	t.Parallel()
	says := func(m fakeMessage) []any {
		return []any{success(m.id, reply{"resultType": "complete", "content": []any{reply{"type": "text", "text": "Found 1 root(s)"}}})}
	}
	silent := func(tool string) rewritten {
		return rewritten{options: onlyFixtures, first: func(m fakeMessage) ([]any, bool) { return nil, m.call == tool }}
	}
	var once atomic.Bool
	var resumed, hungUp atomic.Int32
	proxied := rewritten{header: http.Header{"Authorization": {credential}}, http: guarded(func(_ *http.Request, no *refusal) {
		no.challenge = `Bearer resource_metadata="https://mcp.example` + httpchecks.WellKnownResource + `"`
	})}
	cases := map[string]struct {
		rewritten
		want conformance.Status
	}{
		"STDIO-08/after": {rewritten{options: onlyFixtures, after: func(_ fakeMessage, r reply) []any {
			return []any{r, reply{"jsonrpc": "2.0", "method": mcp.MethodToolsListChanged}}
		}}, conformance.Pass},
		"MRTR-03/roots-used": {rewritten{after: func(m fakeMessage, r reply) []any {
			if m.call == fixture.InputRequired+"list_roots" && m.params["inputResponses"] != nil {
				return says(m)
			}
			return []any{r}
		}}, conformance.Pass},
		"TALK-METHODS/unicode": {answering("tööls", func(m fakeMessage) any { return failure(m.id, wire.CodeHeader, "header mismatch", nil) }), conformance.Pass},
		"RPC-06/known": {rewritten{options: onlyFixtures, also: []string{"RPC-02"}, line: func(line []byte) ([]any, bool) {
			return []any{success(json.RawMessage("1"), reply{})}, bytes.Contains(line, []byte("1.5"))
		}}, conformance.Pass},
		"X-ISO-01/progress": {rewritten{options: onlyFixtures, note: func(n reply) []any {
			params, _ := n["params"].(reply)
			if params["progressToken"] == "same" && once.CompareAndSwap(false, true) {
				return nil
			}
			return []any{n}
		}}, conformance.Pass},
		"LC-01/again": {rewritten{options: onlyFixtures, first: func(m fakeMessage) ([]any, bool) {
			return []any{failure(m.id, wire.CodeInternal, "no protocolVersion", nil)}, m.method == mcp.MethodInitialize && m.params["protocolVersion"] == nil
		}}, conformance.Pass},
		// A stream that was left is noticed to be so a moment later.
		"HTTP-23/rest": {answered(http.StatusConflict, func(r *http.Request, _ []byte) bool {
			return resumes(r) && resumed.Add(1) <= 2
		}), conformance.Pass},
		"HTTP-24/answer": {answered(http.StatusConflict, func(r *http.Request, _ []byte) bool {
			return resumes(r) && hungUp.Add(1) <= 2
		}), conformance.Pass},
		"AUTH-04/metadata": {proxied, conformance.Skip},
		"AUTH-02/invalid":  {proxied, conformance.Pass},
		"X-WIRE-08":        {silent(fixture.ToolSampling), conformance.Inconclusive},
		"SAMP-01/asks":     {silent(fixture.ToolSampling), conformance.Inconclusive},
		"SAMP-01/shape":    {silent(fixture.ToolSampling), conformance.Inconclusive},
	}
	for id, c := range cases {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got := c.judge(t, id)
			require.Equal(t, c.want, got.Status, "%+v", got)
		})
	}
}

// TestWithoutSession: over HTTP without a session id nothing says which question
// an answer of the client belongs to, and a server is not failed for not asking.
func TestWithoutSession(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"SAMP-01/asks", "ELIC-01/asks", "ELIC-03/enums", "ELIC-04/defaults"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got := withoutSession().judge(t, id)
			require.Equal(t, conformance.Skip, got.Status, "%+v", got)
			require.Equal(t, conformance.SkipTransport, got.Reason)
		})
	}
}

// withoutSession keeps the session id from the client.
func withoutSession() rewritten {
	var session atomic.Value
	return rewritten{options: onlyFixtures, http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if id, there := session.Load().(string); there && !bytes.Contains(body, []byte(mcp.MethodInitialize+`"`)) {
				r.Header.Set(wire.HeaderSession, id)
			}
			next.ServeHTTP(&keeping{w, &session}, r)
		})
	}}
}

// keeping takes the session id out of an answer.
type keeping struct {
	http.ResponseWriter
	session *atomic.Value
}

func (w *keeping) hide() {
	if id := w.Header().Get(wire.HeaderSession); id != "" {
		w.session.Store(id)
		w.Header().Del(wire.HeaderSession)
	}
}

func (w *keeping) WriteHeader(status int) {
	w.hide()
	w.ResponseWriter.WriteHeader(status)
}

func (w *keeping) Write(data []byte) (int, error) {
	w.hide()
	return w.ResponseWriter.Write(data)
}

func (w *keeping) FlushError() error {
	w.hide()
	return http.NewResponseController(w.ResponseWriter).Flush()
}
