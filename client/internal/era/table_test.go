package era

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// Every row of the table matches some reply, on the transports where it has a step, and every
// reply has a row.
func TestProbeTableIsWhole(t *testing.T) {
	t.Parallel()
	hit := map[string]bool{}
	policies := []Policy{{}, {FreshProcess: true}, {SilenceIsSession: true}, {AuthIsSession: true}, {AnyRefusal: true}}
	for said := meansDiscovered; said <= meansStopped; said++ {
		all := []shares{sharesNothing}
		if said == meansDiscovered || said == meansUnsupported {
			all = append(all, sharesSession, sharesStateless)
		}
		for _, shared := range all {
			for _, traits := range []transport.Traits{{}, {Process: true}, {Exchanges: true}} {
				for _, policy := range policies {
					row, o := judge(&reply{means: said, shares: shared}, traits, policy)
					require.NotEqual(t, "unknown", row.id, "says %d, shares %d", said, shared)
					hit[row.id] = true
					if traits.Exchanges {
						require.NotEqual(t, actNone, o, row.id)
						require.NotEqual(t, actRestart, o, row.id)
					}
				}
			}
		}
	}
	require.Len(t, hit, len(table), "a row that nothing fits")
}

// Replies that do not decide the era on any transport, unless a policy applies.
func TestProbeTableKeepsOutagesOut(t *testing.T) {
	t.Parallel()
	for _, said := range []meaning{meansAuth, meansLater, meansUnreachable, meansStopped, meansOurFault} {
		_, o := judge(&reply{means: said}, transport.Traits{Exchanges: true}, Policy{FreshProcess: true, SilenceIsSession: true, AnyRefusal: true})
		require.Equal(t, actFail, o, "says %d", said)
	}
	row, o := judge(&reply{means: meansAuth}, transport.Traits{Exchanges: true}, Policy{AuthIsSession: true})
	require.Equal(t, "credentials-as-session", row.id)
	require.Equal(t, actSession, o)
	_, o = judge(&reply{means: meansNothing}, transport.Traits{Exchanges: true}, Policy{SilenceIsSession: true})
	require.Equal(t, actSession, o)
	_, o = judge(&reply{means: meansError}, transport.Traits{Process: true}, Policy{FreshProcess: true})
	require.Equal(t, actRestart, o)
}
