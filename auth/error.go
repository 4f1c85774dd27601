package auth

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// Reason says which part of a login failed.
type Reason string

const (
	// ReasonOption: an option is wrong.
	ReasonOption Reason = "option"
	// ReasonDiscovery: the documents that say how to log in are missing, cannot be
	// reached, or break a rule.
	ReasonDiscovery Reason = "discovery"
	// ReasonRegistration: the authorization server does not know this program, and did
	// not register it.
	ReasonRegistration Reason = "registration"
	// ReasonLogin: the person did not log in, or the answer that came back is not to be
	// trusted.
	ReasonLogin Reason = "login"
	// ReasonToken: the authorization server gave no token.
	ReasonToken Reason = "token"
	// ReasonRefused: the server refuses a token that was obtained for it.
	ReasonRefused Reason = "refused"
	// ReasonScope: the server wants scopes that the token did not get.
	ReasonScope Reason = "scope"
	// ReasonStore: the store of tokens failed.
	ReasonStore Reason = "store"
)

// Error is why there are no credentials. In the errors of a client it is found with
// [errors.As]; their kind is auth.
type Error struct {
	Reason Reason
	// Server is the URL of the MCP server, without query.
	Server string
	// Issuer is the authorization server, "" if it is not known yet.
	Issuer string
	// LoginURL is the page where a person can log in, "" if there is none.
	LoginURL string
	// Help says what to do about it.
	Help string
	Err  error

	pause time.Duration
}

// RetryAfter returns how long it takes until the authorization server is asked again, 0 if
// that is unknown. A call before that fails with the same error.
func (e *Error) RetryAfter() time.Duration { return e.pause }

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("no access to " + e.Server)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Help != "" {
		b.WriteString("; " + e.Help)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrNoClientMethod means that the authorization server wants clients to authenticate in a
// way that this one cannot. [errors.Is] finds it.
var ErrNoClientMethod = grant.ErrNoMethod

// ScopeError means that the server wants scopes that the token does not have, and
// that nobody may be asked for them ([WithoutLogin]).
type ScopeError struct {
	Scopes []string
	// Before are the scopes that the login before asked for: a new login asks for both.
	Before []string
	// Bound reports that the token is bound to a key: a new login needs [WithDPoP], too.
	Bound bool
}

func (e *ScopeError) Error() string {
	return "the server wants a login with the scopes " + strconv.Quote(strings.Join(e.Scopes, " "))
}

// NotLoggedInError says what is known about a login that is missing. [errors.Is] finds
// [ErrNotLoggedIn] in it.
type NotLoggedInError struct {
	// Ended is the error code with which the authorization server ended the last login,
	// such as invalid_grant, "" if it did not.
	Ended string
	// Bound reports that the login that ended used [WithDPoP]: a new one needs it, too.
	Bound bool
	// Damaged are the files of the store that cannot be read: a login may be in one.
	Damaged []*DamagedError
}

func (e *NotLoggedInError) Error() string {
	text := ErrNotLoggedIn.Error()
	if e.Ended != "" {
		text = "the login has ended: the authorization server says " + e.Ended
	}
	for _, file := range e.Damaged {
		text += "; " + file.Error()
	}
	return text
}

// Unwrap returns ErrNotLoggedIn.
func (e *NotLoggedInError) Unwrap() error { return ErrNotLoggedIn }

// newError completes an error with its reason and with what to do, unless it has them
// already.
func newError(reason Reason, help string, err error) error {
	var e *Error
	if err == nil {
		return nil
	}
	if !errors.As(err, &e) {
		return &Error{Reason: reason, Help: help, Err: err}
	}
	if e.Help == "" && help != "" {
		more := *e
		more.Help = help
		return &more
	}
	return err
}
