package transport_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// The text of an error has only what a program wrote since its last answer or since the request.
// The evidence has everything.
func TestCommandStderrExplains(t *testing.T) {
	t.Parallel()
	const started, said, why = "Starting default (STDIO) server...", "could not say much", "fatal: out of luck"
	for _, tt := range []struct {
		name   string
		first  string // the request of the handshake, if there is one
		agreed bool   // the handshake is complete
		before []string
		mutter bool // writes after the last answer
		crash  string
		all    []string
		shown  []string
	}{
		{"before any answer", "", false, nil, false, "crash", []string{started}, []string{started}},
		{"before any answer, with a reason", "", false, nil, false, "crash and say why", []string{started, why}, []string{started, why}},
		{"within the handshake", "initialize", false, nil, false, "crash and say why", []string{started, why}, []string{started, why}},
		{"a version without a handshake", "", true, nil, false, "crash", []string{started}, []string{started}},
		{"an answer without a handshake", "", true, []string{"list"}, false, "crash and say why", []string{started, why}, []string{why}},
		{"after the handshake", "initialize", true, nil, false, "crash", []string{started}, nil},
		{"after the handshake, with a reason", "initialize", true, nil, false, "crash and say why", []string{started, why}, []string{why}},
		{"after the handshake, with words that look like no error", "initialize", true, nil, false, "crash and mutter", []string{started, said}, []string{said}},
		{"what was said before an answer", "initialize", true, []string{"say", "list"}, false, "crash and say why", []string{started, said, why}, []string{why}},
		{"what was said after the last answer", "initialize", true, []string{"list"}, true, "crash", []string{started, said}, []string{said}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := run(t, "speaks and crashes", nil)
			written := func(line string) {
				eventually(t, line, func() bool { return slices.Contains(c.stderr.all(), line) })
			}
			written(started)
			if tt.first != "" {
				_, err := c.Call(t.Context(), c.request(tt.first, ""))
				require.NoError(t, err)
			}
			if tt.agreed {
				c.UseVersion("2025-11-25")
			}
			for _, method := range tt.before {
				_, err := c.Call(t.Context(), c.request(method, ""))
				require.NoError(t, err)
				if method == "say" {
					written(said)
				}
			}
			if tt.mutter {
				req := c.request("mutter", "")
				req.Wait.Idle = time.Millisecond
				require.Error(t, c.fails(req, transport.ReasonTimeout))
				written(said)
			}
			f := c.fails(c.request(tt.crash, ""), transport.ReasonLost)
			require.Equal(t, tt.all, f.Process.Stderr)
			e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.Unknown, "x", nil)
			e.Process = f.Process
			for _, line := range []string{started, said, why} {
				if slices.Contains(tt.shown, line) {
					require.ErrorContains(t, e, line)
				} else {
					require.NotContains(t, e.Error(), line)
				}
			}
			if tt.shown == nil {
				require.NotContains(t, e.Error(), "stderr")
			}
		})
	}
}
