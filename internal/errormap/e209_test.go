package errormap_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Client and server remain incompatible: E209 is never retryable, whatever its cause and payload.
func TestE209IsNotRetryable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	check := func(what string, e *mcperrors.Error) {
		if e.Code == mcperrors.CodeIncompatible {
			seen[what] = true
			require.False(t, e.Retryable, "%s: %v", what, e)
			require.Zero(t, e.RetryAfter, "%s: %v", what, e)
		}
	}
	codes := []int64{400, 403, 404, 409, 429, 500, 501, 503, 505, 0, 1, -1}
	for code := int64(-32800); code <= -31000; code++ {
		codes = append(codes, code)
	}
	data := []string{``, `{}`, `{"retryable":true}`, `{"retryable":true,"retry_after_seconds":5}`, `{"error":{"code":"E209","retryable":true}}`}
	profiles := []mcperrors.Profile{nil, mcperrors.Plain, mcperrors.Docling, mcperrors.ProfileFunc(func(mcperrors.Report) mcperrors.Meaning {
		return mcperrors.Meaning{Code: mcperrors.CodeIncompatible, Retryable: new(true), RetryAfter: 1}
	})}
	for _, profile := range profiles {
		for _, data := range data {
			for _, code := range codes {
				for _, refused := range []bool{false, true} {
					for _, method := range []string{"", "tools/call", "resources/read", "tools/list"} {
						rpc := jsonrpc.NewError(code, "no", nil)
						rpc.Data = json.RawMessage(data)
						check("an error", errormap.FromRPC(rpc, errormap.Options{Profile: profile, Refused: refused, Method: method}))
					}
				}
				payload := fmt.Sprintf(`{"error":{"code":%d,"retryable":true,"message":"no"}}`, code)
				check("a result", errormap.FromTool("", json.RawMessage(payload), errormap.Options{Profile: profile}))
			}
		}
	}
	for status := 100; status < 600; status++ {
		check("a status", errormap.FromHTTP(mcperrors.HTTPEvidence{Status: status}, 5))
	}
	for kind := mcperrors.Kind(0); kind <= 50; kind++ {
		check("a kind", mcperrors.New(mcperrors.CodeIncompatible, kind, mcperrors.Unknown, "no", nil))
	}
	check("a limit", errormap.TooLarge(mcperrors.Answered, "too large", nil))
	require.Subset(t, keys(seen), []string{"an error", "a status", "a kind", "a limit"})
}

func keys(m map[string]bool) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}
