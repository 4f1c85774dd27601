package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// The poison rule counts programs that exited during a call, not calls of Note.
func TestPoisonRule(t *testing.T) {
	t.Parallel()
	lost := func(notSent bool, p *mcperrors.ProcessEvidence) *transport.Failure {
		return &transport.Failure{Reason: transport.ReasonLost, NotSent: notSent, Process: p, Err: jsonrpc.ErrPeerClosed}
	}
	died := &mcperrors.ProcessEvidence{Exited: true}
	timeout := &transport.Failure{Reason: transport.ReasonTimeout, Process: died, Err: jsonrpc.ErrIdle}
	var c Crashes
	first, second := &link.Link{Number: 1}, &link.Link{Number: 2}
	steps := []struct {
		what string
		link *link.Link
		f    *transport.Failure
		want bool
	}{
		{"a timeout is no end of a program", first, timeout, false},
		{"nor is a connection that is none of a program", first, lost(false, nil), false},
		{"what was not sent did not end it", first, lost(true, died), false},
		{"once", first, lost(false, died), false},
		{"asked again", first, lost(false, died), false},
		{"twice", second, lost(false, died), true},
		{"asked again", second, lost(false, died), true},
	}
	for _, s := range steps {
		require.Equal(t, s.want, c.Note(s.link, s.f), s.what)
	}
}
