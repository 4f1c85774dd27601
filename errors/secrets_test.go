package mcperrors_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// TestHideError_Data: a secret in the data of an answered error is hidden in each form that JSON
// gives it, and everything around it stays as it was.
func TestHideError_Data(t *testing.T) {
	t.Parallel()
	secrets := mcperrors.NewSecrets(`s3cr"et/1`, "20261128")
	for data, want := range map[string]string{
		`null`:                           `null`,
		`{"a":1,"b":[true,"x"]}`:         `{"a":1,"b":[true,"x"]}`,
		`"s3cr\"et/1"`:                   `"[redacted]"`,
		`{"k":"a s3cr\u0022et\/1 b"}`:    `{"k":"a [redacted] b"}`,
		`{"s3cr\"et/1":2,"n":-20261128}`: `{"[redacted]":2,"n":"-[redacted]"}`,
		` [ 20261128 , 2026112 ] `:       ` [ "[redacted]" , 2026112 ] `,
		`"\\","s3cr\"et/1`:               `"\\","\"[redacted]"`, // no JSON
	} {
		e := &mcperrors.Error{RPC: &jsonrpc.Error{Data: json.RawMessage(data)}}
		got := secrets.HideError(e).(*mcperrors.Error)
		require.Equal(t, want, string(got.RPC.Data), data)
		require.Equal(t, data, string(e.RPC.Data), "the original is not changed")
	}
}

// BenchmarkHideError is the cost of an answered error with 1 MiB of data.
func BenchmarkHideError(b *testing.B) {
	data := `["` + strings.Repeat(`some words of a message, `, 1<<20/25) + `",` + strings.Repeat("1,", 1000) + `2]`
	e := &mcperrors.Error{RPC: &jsonrpc.Error{Data: json.RawMessage(data)}}
	secrets := mcperrors.NewSecrets("a-secret-of-a-server")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_ = secrets.HideError(e)
	}
}
