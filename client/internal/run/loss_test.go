package run

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A lost session is retryable for every delivery of the request, also if it may have run.
func TestLostSessionIsRetryable(t *testing.T) {
	t.Parallel()
	for _, f := range []transport.Failure{{NotSent: true}, {Rejected: true}, {}} {
		f.Reason, f.Err = transport.ReasonSession, errors.New("the session is gone")
		for name, made := range map[string]*mcperrors.Error{
			"of a call":    outcome.OfFailure(&outcome.Sent{Method: "tools/call"}, &f).Err,
			"of no call":   outcome.ErrorOf(&f),
			"of a listing": outcome.OfFailure(&outcome.Sent{Method: "tools/list"}, &f).Err,
		} {
			require.Equal(t, mcperrors.CodeSessionExpired, made.Code, name)
			require.Equal(t, mcperrors.KindSessionLost, made.Kind, name)
			require.True(t, made.Retryable, "%s: %v", name, made.Delivery)
			require.Equal(t, "Try again", made.SuggestedAction, name)
		}
	}
}
