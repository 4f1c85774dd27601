package main

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
		c3, c7 = kindUnreachable, kindUnknownOutcome
	)
	same := func(k kind) [4]kind { return [4]kind{k, k, k, k} }
	for _, tt := range []struct {
		kind       mcperrors.Kind
		calling    [4]kind // by delivery
		connecting kind
	}{
		{mcperrors.KindServer, [4]kind{c3, c3, c7, c7}, c3},
		{mcperrors.KindCanceled, same(kindInterrupted), kindInterrupted},
		{mcperrors.KindTimeout, [4]kind{c3, c3, c7, c7}, c3},
		{mcperrors.KindTransport, [4]kind{c3, c3, c7, c7}, c3},
		{mcperrors.KindAuth, same(kindAuth), kindAuth},
		{mcperrors.KindProtocol, same(kindProtocol), kindProtocol},
		{mcperrors.KindVersion, same(kindProtocol), kindProtocol},
		{mcperrors.KindUnsupported, same(kindNotFound), kindNotFound},
		{mcperrors.KindNotFound, same(kindNotFound), kindNotFound},
		{mcperrors.KindInvalidArguments, same(kindUsage), kindUsage},
		{mcperrors.KindInputRequired, same(kindInputRequired), kindInputRequired},
		{mcperrors.KindSessionLost, [4]kind{c3, c3, c7, c7}, c3},
		{mcperrors.KindCircuitOpen, same(kindUnavailable), kindUnavailable},
		{mcperrors.KindOverloaded, [4]kind{kindUnavailable, kindUnavailable, c7, kindUnavailable}, kindUnavailable},
		{mcperrors.KindClosed, [4]kind{c3, c3, c7, c7}, c3},
		{mcperrors.KindTool, same(kindNegative), kindNegative},
		{mcperrors.KindApp, [4]kind{c3, c3, c7, c7}, c3},
	} {
		t.Run(tt.kind.String(), func(t *testing.T) {
			t.Parallel()
			for i, delivery := range deliveries {
				e := &mcperrors.Error{Kind: tt.kind, Delivery: delivery}
				require.Equal(t, tt.calling[i], kindOf(e, false), delivery.String())
				require.Equal(t, tt.connecting, kindOf(e, true), delivery.String())
			}
		})
	}
	require.Equal(t, kindBug, kindOf(&mcperrors.Error{}, false))
	for k := mcperrors.KindServer; k <= mcperrors.KindApp; k++ {
		require.NotEqual(t, kindBug, kindOf(&mcperrors.Error{Kind: k}, false), "%s has no exit code", k)
	}
}

func TestKindOfAnAnswer(t *testing.T) {
	t.Parallel()
	rpc := &jsonrpc.Error{Code: -32000, Message: "no"}
	for _, tt := range []struct {
		e    mcperrors.Error
		want kind
	}{
		{mcperrors.Error{Kind: mcperrors.KindServer, RPC: rpc, Delivery: mcperrors.Answered}, kindRPCError},
		{mcperrors.Error{Kind: mcperrors.KindApp, RPC: rpc, Delivery: mcperrors.Answered}, kindRPCError},
		{mcperrors.Error{Kind: mcperrors.KindUnsupported, RPC: rpc, Delivery: mcperrors.Rejected}, kindRPCError},
		{mcperrors.Error{Kind: mcperrors.KindInvalidArguments, RPC: rpc, Delivery: mcperrors.Rejected}, kindRPCError},
		{mcperrors.Error{Kind: mcperrors.KindNotFound, RPC: rpc, Delivery: mcperrors.Rejected}, kindNotFound},
		{mcperrors.Error{Kind: mcperrors.KindUnsupported, HTTP: &mcperrors.HTTPEvidence{Status: 501}, Delivery: mcperrors.Rejected}, kindUnreachable},
	} {
		require.Equal(t, tt.want, kindOf(&tt.e, false), tt.e.Kind.String())
	}
}

func TestEveryKindHasACodeAndHelp(t *testing.T) {
	t.Parallel()
	for k, code := range exitCodes {
		require.Contains(t, helpExitCodes, fmt.Sprintf("%3d  %s", code, k), "%s is not in the help", k)
	}
	seen := map[int]kind{}
	for k, code := range exitCodes {
		require.Empty(t, seen[code], "%s and %s share a code", k, seen[code])
		seen[code] = k
	}
}
