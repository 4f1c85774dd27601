package auth

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	sent := facts{status: 401, person: true, known: true, usable: true, sent: true, storeRead: true}
	with := func(change func(*facts)) facts {
		f := sent
		change(&f)
		return f
	}
	for name, row := range map[string]struct {
		facts facts
		want  action
	}{
		"no credentials, the store was not read": {facts{status: 401}, doReadStore},
		"no credentials":                         {facts{status: 401, storeRead: true}, doLogin},
		"no credentials, in the background":      {facts{status: 401, storeRead: true, background: true, person: true}, doAccept},
		"the token is refused":                   {sent, doLogin},
		"another request has renewed it":         {with(func(f *facts) { f.sent = false }), doResend},
		"another program may have":               {with(func(f *facts) { f.storeRead = false }), doReadStore},
		"in the background":                      {with(func(f *facts) { f.background = true }), doReportLost},
		"of a program in the background":         {with(func(f *facts) { f.background, f.person = true, false }), doAccept},
		"a login failed before":                  {with(func(f *facts) { f.failed = true }), doFail},
		"a renewal failed before":                {with(func(f *facts) { f.failed, f.refreshable = true, true }), doFail},
		"it can be renewed":                      {with(func(f *facts) { f.refreshable, f.storeRead = true, false }), doRefresh},
		"it was renewed, and the request sent again": {with(func(f *facts) {
			f.refreshable, f.justRefreshed, f.retries = true, true, 1
		}), doLogin},
		"the same after a login": {with(func(f *facts) {
			f.refreshable, f.justRefreshed, f.justIssued, f.retries = true, true, true, 1
		}), doReject},
		"it was renewed for another request": {with(func(f *facts) { f.refreshable, f.justRefreshed = true, true }), doRefresh},
		"it is renewed no more":              {with(func(f *facts) { f.refreshable, f.refreshTried = true, true }), doLogin},
		"it is renewed no more, after a login": {with(func(f *facts) {
			f.refreshable, f.refreshTried, f.justIssued, f.retries = true, true, true, 1
		}), doLogin},
		"a new token":                           {with(func(f *facts) { f.justIssued = true }), doLogin},
		"a new token, again":                    {with(func(f *facts) { f.justIssued, f.retries = true, 1 }), doReject},
		"a new token, again, in the background": {with(func(f *facts) { f.justIssued, f.retries, f.background = true, 1, true }), doReject},
		"a nonce":                               {with(func(f *facts) { f.noteNonce, f.sent = true, false }), doResend},
		"one nonce too many":                    {with(func(f *facts) { f.noteNonce, f.retries = true, maxNonces }), doAccept},
		"403":                                   {with(func(f *facts) { f.status = 403 }), doAccept},
		"403, and another token":                {with(func(f *facts) { f.status, f.sent = 403, false }), doResend},
		"more scopes":                           {with(func(f *facts) { f.status, f.wantsScope, f.lacksScope = 403, true, true }), doStepUp},
		"more scopes, in the background":        {with(func(f *facts) { f.status, f.wantsScope, f.background = 403, true, true }), doAccept},
		"more scopes, which another token has":  {with(func(f *facts) { f.status, f.wantsScope, f.sent = 403, true, false }), doResend},
		"more scopes, which no token has": {with(func(f *facts) {
			f.status, f.wantsScope, f.lacksScope, f.sent = 403, true, true, false
		}), doStepUp},
		"more scopes, after a failure": {with(func(f *facts) { f.status, f.wantsScope, f.failed = 403, true, true }), doStepUp},
	} {
		require.Equal(t, row.want, decide(row.facts), name)
	}
}

// For any facts, a challenge leads to at most one look into the store and one renewal.
func TestDecisionsEnd(t *testing.T) {
	t.Parallel()
	for bits := range 1 << 13 {
		bit := func(n int) bool { return bits>>n&1 == 1 }
		f := facts{
			status: 401, retries: bits & 1, background: bit(1), person: bit(2), noteNonce: bit(3), wantsScope: bit(4), known: bit(5),
			usable: bit(6), sent: bit(7), lacksScope: bit(8), refreshable: bit(9), justRefreshed: bit(10), justIssued: bit(11), failed: bit(12),
		}
		seen := map[action]bool{}
		for {
			next := decide(f)
			require.False(t, seen[next], "%+v", f)
			seen[next] = true
			if next != doReadStore && next != doRefresh {
				break
			}
			f.storeRead, f.refreshTried = f.storeRead || next == doReadStore, f.refreshTried || next == doRefresh
		}
	}
}
