package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Every row of the table fits something, on the transports where it says so,
// and no reply is without a row (NEG-04).
func TestProbeTableIsWhole(t *testing.T) {
	t.Parallel()
	hit := map[string]bool{}
	policies := []ProbePolicy{{}, {FreshProcess: true}, {SilenceIsSession: true}, {AuthIsSession: true}, {AnyRefusal: true}}
	for said := saysDiscovered; said <= saysStopped; said++ {
		all := []shares{sharesNothing}
		if said == saysDiscovered || said == saysUnsupported {
			all = append(all, sharesSession, sharesStateless)
		}
		for _, shared := range all {
			for _, traits := range []transport.Traits{{}, {Process: true}, {Exchanges: true}} {
				for _, policy := range policies {
					row, o := judge(&reply{says: said, shares: shared}, traits, policy)
					require.NotEqual(t, "unknown", row.id, "says %d, shares %d", said, shared)
					hit[row.id] = true
					if traits.Exchanges {
						require.NotEqual(t, outcomeNone, o, row.id)
						require.NotEqual(t, outcomeFresh, o, row.id)
					}
				}
			}
		}
	}
	require.Len(t, hit, len(probeTable), "a row that nothing fits")
}

// What is no verdict on any transport unless a policy says so (NEG-14, NEG-15).
func TestProbeTableKeepsOutagesOut(t *testing.T) {
	t.Parallel()
	for _, said := range []says{saysAuth, saysLater, saysUnreachable, saysStopped, saysOurFault} {
		_, o := judge(&reply{says: said}, transport.Traits{Exchanges: true}, ProbePolicy{FreshProcess: true, SilenceIsSession: true, AnyRefusal: true})
		require.Equal(t, outcomeFail, o, "says %d", said)
	}
	row, o := judge(&reply{says: saysAuth}, transport.Traits{Exchanges: true}, ProbePolicy{AuthIsSession: true})
	require.Equal(t, "credentials-as-session", row.id)
	require.Equal(t, outcomeSession, o)
	_, o = judge(&reply{says: saysNothing}, transport.Traits{Exchanges: true}, ProbePolicy{SilenceIsSession: true})
	require.Equal(t, outcomeSession, o)
	_, o = judge(&reply{says: saysError}, transport.Traits{Process: true}, ProbePolicy{FreshProcess: true})
	require.Equal(t, outcomeFresh, o)
}
