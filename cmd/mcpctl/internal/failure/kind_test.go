package failure

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// deliveries in the order of the columns below.
var deliveries = []mcperrors.Delivery{mcperrors.NotSent, mcperrors.Rejected, mcperrors.Unknown, mcperrors.Answered}

func TestKindOf(t *testing.T) {
	t.Parallel()
	const (
		c3, c7 = KindUnreachable, KindUnknownOutcome
	)
	same := func(k Kind) [4]Kind { return [4]Kind{k, k, k, k} }
	for _, tt := range []struct {
		kind       mcperrors.Kind
		calling    [4]Kind // by delivery
		connecting Kind
	}{
		{mcperrors.KindServer, [4]Kind{c3, c3, c7, c7}, c3},
		{mcperrors.KindCanceled, same(KindInterrupted), KindInterrupted},
		{mcperrors.KindTimeout, [4]Kind{KindUnavailable, c3, c7, c7}, c3},
		{mcperrors.KindTransport, [4]Kind{c3, c3, c7, c7}, c3},
		{mcperrors.KindAuth, same(KindAuth), KindAuth},
		{mcperrors.KindProtocol, same(KindProtocol), KindProtocol},
		{mcperrors.KindVersion, same(KindProtocol), KindProtocol},
		{mcperrors.KindUnsupported, same(KindNotFound), KindNotFound},
		{mcperrors.KindNotFound, same(KindNotFound), KindNotFound},
		{mcperrors.KindInvalidArguments, same(KindUsage), KindUsage},
		{mcperrors.KindInputRequired, same(KindInputRequired), KindInputRequired},
		{mcperrors.KindSessionLost, [4]Kind{c3, c3, c7, c7}, c3},
		{mcperrors.KindCircuitOpen, same(KindUnavailable), KindUnavailable},
		{mcperrors.KindOverloaded, [4]Kind{KindUnavailable, KindUnavailable, c7, KindUnavailable}, KindUnavailable},
		{mcperrors.KindClosed, [4]Kind{c3, c3, c7, c7}, c3},
		{mcperrors.KindTool, same(KindNegative), KindNegative},
		{mcperrors.KindApp, [4]Kind{c3, c3, c7, c7}, c3},
	} {
		t.Run(tt.kind.String(), func(t *testing.T) {
			t.Parallel()
			for i, delivery := range deliveries {
				e := &mcperrors.Error{Kind: tt.kind, Delivery: delivery}
				require.Equal(t, tt.calling[i], Of(e, false), delivery.String())
				require.Equal(t, tt.connecting, Of(e, true), delivery.String())
			}
		})
	}
	require.Equal(t, KindBug, Of(&mcperrors.Error{}, false))
	for k := mcperrors.KindServer; k <= mcperrors.KindApp; k++ {
		require.NotEqual(t, KindBug, Of(&mcperrors.Error{Kind: k}, false), "%s has no exit code", k)
	}
}

// A server that refuses for now is at the right address.
func TestKindOfHTTPErrors(t *testing.T) {
	t.Parallel()
	for _, kind := range []mcperrors.Kind{mcperrors.KindServer, mcperrors.KindTransport, mcperrors.KindOverloaded} {
		e := &mcperrors.Error{Kind: kind, HTTP: &mcperrors.HTTPEvidence{Status: 502}, Delivery: mcperrors.Unknown}
		require.Equal(t, KindUnavailable, Of(e, true), "a read")
		require.Equal(t, KindUnknownOutcome, Of(e, false), "a call")
	}
	e := &mcperrors.Error{Kind: mcperrors.KindOverloaded, HTTP: &mcperrors.HTTPEvidence{Status: 429}, Delivery: mcperrors.Rejected}
	require.Equal(t, KindUnavailable, Of(e, false))
}

func TestKindOfAnAnswer(t *testing.T) {
	t.Parallel()
	rpc := &jsonrpc.Error{Code: -32000, Message: "no"}
	for _, tt := range []struct {
		e    mcperrors.Error
		want Kind
	}{
		{mcperrors.Error{Kind: mcperrors.KindServer, RPC: rpc, Delivery: mcperrors.Answered}, KindRPCError},
		{mcperrors.Error{Kind: mcperrors.KindApp, RPC: rpc, Delivery: mcperrors.Answered}, KindRPCError},
		{mcperrors.Error{Kind: mcperrors.KindUnsupported, RPC: rpc, Delivery: mcperrors.Rejected}, KindRPCError},
		{mcperrors.Error{Kind: mcperrors.KindInvalidArguments, RPC: rpc, Delivery: mcperrors.Rejected}, KindRPCError},
		{mcperrors.Error{Kind: mcperrors.KindNotFound, RPC: rpc, Delivery: mcperrors.Rejected}, KindNotFound},
		{mcperrors.Error{Kind: mcperrors.KindUnsupported, HTTP: &mcperrors.HTTPEvidence{Status: 501}, Delivery: mcperrors.Rejected}, KindUnreachable},
	} {
		require.Equal(t, tt.want, Of(&tt.e, false), tt.e.Kind.String())
	}
}

func TestEveryKindHasACodeAndHelp(t *testing.T) {
	t.Parallel()
	seen := map[int]Kind{}
	for k, code := range exitCodes {
		require.Equal(t, code, k.ExitCode())
		require.Contains(t, ExitCodes, fmt.Sprintf("%3d  %s", code, k), "%s is not in the help", k)
		require.Empty(t, seen[code], "%s and %s share a code", k, seen[code])
		seen[code] = k
	}
}
