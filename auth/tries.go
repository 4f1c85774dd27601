package auth

import (
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// tries are the logins of the last ten minutes whose call has not succeeded. Their number is
// limited, so that a server cannot open one browser window after the other, whichever scopes
// it names. A login whose call succeeded does not count, so that a server may want another
// scope for each tool. Its methods require the serial of the server.
type tries struct {
	all []try
	// rest is when a call may log in again after another call reached its limit: for the
	// application, several calls may be one, such as a call and its list of tools.
	rest time.Time
}

type try struct {
	at   time.Time
	want string // see [wanted]
	call *transport.ChallengedCall
}

const (
	triesByCall = 2 // logins by one call
	triesAlike  = 2 // logins for the same thing
	triesInAll  = 4
	triesMemory = 10 * time.Minute
)

// wanted is what a challenge asks for, and the call that was refused.
type wanted struct {
	what string // the names of the scopes, or [anotherToken]; "" for the first token
	call *transport.ChallengedCall
}

// scopes reports whether more scopes are wanted.
func (w wanted) scopes() bool { return w.what != "" && w.what != anotherToken }

// anotherToken is what a server wants that refuses a token before its expiry.
const anotherToken = "another token"

// add counts a login.
func (t *tries) add(w wanted) {
	t.all = append(t.all, try{at: time.Now(), want: w.what, call: w.call})
}

// allow returns why one more login may not begin, nil if it may.
func (t *tries) allow(w wanted) *triesError {
	now := time.Now()
	t.all = slices.DeleteFunc(t.all, func(r try) bool { return now.Sub(r.at) >= triesMemory || r.call.Succeeded() })
	var byCall, alike []try
	for _, r := range t.all {
		if w.call != nil && r.call == w.call {
			byCall = append(byCall, r)
		}
		if w.what != "" && r.want == w.what {
			alike = append(alike, r)
		}
	}
	// next is when one of the last logins no longer counts.
	next := func(counted []try, most int) time.Time { return counted[len(counted)-most].at.Add(triesMemory) }
	switch {
	case len(byCall) >= triesByCall:
		t.rest = now.Add(retryDelay)
		return &triesError{count: len(byCall), of: "of this call", next: t.rest}
	case len(alike) >= triesAlike:
		return &triesError{count: len(alike), of: "for the same reason in the last ten minutes", next: next(alike, triesAlike)}
	case len(t.all) >= triesInAll:
		return &triesError{count: len(t.all), of: "in the last ten minutes", next: next(t.all, triesInAll)}
	case now.Before(t.rest):
		return &triesError{count: triesByCall, of: "a moment ago", next: t.rest}
	}
	return nil
}

// triesError reports that several logins did not help.
type triesError struct {
	count int
	of    string
	next  time.Time // when another login may begin
}

func (e *triesError) Error() string {
	return fmt.Sprintf("%d logins %s did not help", e.count, e.of)
}

// pause is the time until another login may begin.
func (e *triesError) pause() time.Duration { return max(time.Until(e.next), 0) }
