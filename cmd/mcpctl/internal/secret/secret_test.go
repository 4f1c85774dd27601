package secret

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	var k Keeper
	k.Keep("MODE", "debug")
	k.Keep("TOKEN", "abcd")
	k.Keep("DSN", "db://x?y=1234567")
	require.Equal(t, "debug", k.Hide("debug"), "a short value without a telling name stays")
	require.NotContains(t, k.Hide("it is abcd"), "abcd", "a telling name makes it a secret")
	require.NotContains(t, k.Safe("cannot open db://x?y=1234567"), "1234567")
	require.NotContains(t, k.Command([]string{"server", "--dsn", "db://x?y=1234567"}), "db://x?y=1234567")
}

// TestError: no part of an error shows a secret; the error itself stays unchanged.
func TestError(t *testing.T) {
	t.Parallel()
	var k Keeper
	k.Keep("DSN", "hunter2222")
	k.Keep("QUOTED", `say "hello" to me`)
	cause := errors.New("hunter2222")
	e := &mcperrors.Error{
		Message: "no hunter2222", UserMessage: "hunter2222", SuggestedAction: "hunter2222", Cause: cause,
		RPC:     &jsonrpc.Error{Message: "bad hunter2222", Data: json.RawMessage(`{"n":9007199254740993,"a":["hunter2222","say \"hello\" to me"]}`)},
		HTTP:    &mcperrors.HTTPEvidence{URL: "http://h/?x=hunter2222", Body: "hunter2222"},
		Process: &mcperrors.ProcessEvidence{Command: []string{"p", "hunter2222"}, Noise: "hunter2222", Stderr: []string{"hunter2222"}},
	}
	safe := k.Error(e)
	raw, err := json.Marshal(safe)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "hunter2222")
	require.NotContains(t, string(raw), `hello`)
	require.Contains(t, string(safe.RPC.Data), `"n":9007199254740993`, "other bytes stay unchanged")
	require.ErrorIs(t, safe, cause)
	require.NotContains(t, safe.Cause.Error(), "hunter2222")
	require.Equal(t, "bad hunter2222", e.RPC.Message)
}
