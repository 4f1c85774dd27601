package auth

import "net/http"

// action is what the program does about a refused request.
type action uint8

const (
	// doAccept: the refusal is the answer of the request.
	doAccept action = iota
	// doResend: the request is sent again with the current credentials.
	doResend
	// doStepUp: a login asks for more scopes.
	doStepUp
	// doReadStore: another program may have logged in. Then decide again.
	doReadStore
	// doFail: a login or renewal failed shortly before. The request fails with its error.
	doFail
	// doRefresh: the token is renewed. If the authorization server does not renew it, decide
	// again.
	doRefresh
	// doReject: the server refuses a token that was just issued for it. A login would not help.
	doReject
	// doReportLost: the answer is accepted, and later calls need a login of a person.
	doReportLost
	// doLogin: a login obtains a token.
	doLogin
)

// facts are what [decide] depends on.
type facts struct {
	status     int  // of the answer
	retries    int  // how often the request was sent again after a challenge
	background bool // no call waits for the request
	person     bool // a login needs a person
	noteNonce  bool // the server wants its new nonce in the DPoP proof
	wantsScope bool // the server wants more scopes

	known         bool // there are credentials; the next six are about them
	usable        bool // they have not expired
	sent          bool // the request carried them
	lacksScope    bool // they were obtained without a scope of the challenge
	refreshable   bool // they have a refresh token
	justRefreshed bool // by this process, less than [freshFor] ago
	justIssued    bool // by a login less than [freshFor] ago

	failed       bool // a login or renewal failed shortly before
	storeRead    bool // the store was read for this challenge
	refreshTried bool // the authorization server does not renew the token
}

// decide returns what follows when a server answers with status 401 or 403.
func decide(f facts) action {
	switch {
	case f.noteNonce && f.retries < maxNonces:
		return doResend
	case f.noteNonce:
		return doAccept
	case f.usable && !f.sent && !(f.wantsScope && f.lacksScope):
		return doResend // another request or program obtained them meanwhile
	case f.wantsScope && f.background:
		return doAccept
	case f.wantsScope:
		return doStepUp
	case f.status != http.StatusUnauthorized:
		return doAccept
	case !f.refreshable && !f.storeRead:
		return doReadStore
	case f.failed:
		return doFail
	case f.refreshable && !f.refreshTried && !(f.retries > 0 && f.justRefreshed):
		return doRefresh
	case f.retries > 0 && f.justIssued && !f.refreshTried:
		return doReject
	case f.background && f.known && f.person:
		return doReportLost
	case f.background:
		return doAccept // a person is asked only for a call
	}
	return doLogin
}
