package front

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func seeds(f *testing.F) {
	f.Helper()
	for _, s := range []string{
		initialize, alone("1", "tools/list", ""), alone(`"x"`, listenMethod, `"notifications":{"toolsListChanged":true}`),
		`[` + direct("1", `{}`) + `,` + initialize + `,3,[]]`, `[]`, direct("1", `{"_meta":{"agentName":7}}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"limited","_meta":null}}`,
		"{oops\n\n\"" + `{"jsonrpc":"2.0","id":1,"result":null}`,
	} {
		f.Add([]byte(s))
	}
}

// Whatever comes in, the front ends, and what goes out is JSON, line by line.
func FuzzStdio(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		server := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
		var out bytes.Buffer
		tr := &Stdio{In: bytes.NewReader(in), Out: &out, Backend: &backend{}, Session: sessions(server), MaxBytes: 1 << 16, Grace: time.Second}
		require.NoError(t, tr.Serve(t.Context()))
		for l := range bytes.Lines(out.Bytes()) {
			require.True(t, json.Valid(l), "%s", l)
		}
	})
}

// Whatever is posted, the answer is a status and JSON or nothing, unless it
// came from behind.
func FuzzHTTP(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, session := range []string{"", "known", "old"} {
			r := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader(in))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set(sessionHeader, session)
			w := httptest.NewRecorder()
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // nothing hangs
			testHTTP(behind()).ServeHTTP(w, r.WithContext(ctx))
			require.GreaterOrEqual(t, w.Code, 200)
			if w.Header().Get("X-Behind") == "" && w.Body.Len() > 0 {
				require.True(t, json.Valid(w.Body.Bytes()), "%s", w.Body)
			}
		}
	})
}
