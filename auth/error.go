package auth

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// Reason is the part of a login that failed.
type Reason string

const (
	// ReasonOption: an option is wrong.
	ReasonOption Reason = "option"
	// ReasonDiscovery: the metadata for a login is missing, cannot be reached, or breaks a
	// rule.
	ReasonDiscovery Reason = "discovery"
	// ReasonRegistration: the authorization server does not know this program, and did
	// not register it.
	ReasonRegistration Reason = "registration"
	// ReasonLogin: the person did not log in, or the answer of the login is not trustworthy.
	ReasonLogin Reason = "login"
	// ReasonToken: the authorization server issued no token.
	ReasonToken Reason = "token"
	// ReasonRefused: the MCP server refuses a token that was issued for it.
	ReasonRefused Reason = "refused"
	// ReasonScope: the MCP server wants scopes that the token does not have.
	ReasonScope Reason = "scope"
	// ReasonStore: the store of tokens failed.
	ReasonStore Reason = "store"
)

// Error reports why credentials could not be obtained. [errors.As] finds it in the errors of
// a client, whose kind is auth.
type Error struct {
	Reason Reason
	// Server is the URL of the MCP server, without query.
	Server string
	// Issuer is the authorization server, "" if it is not known yet.
	Issuer string
	// LoginURL is the page where a person can log in, "" for none.
	LoginURL string
	// Help is what to do about it.
	Help string
	Err  error

	pause time.Duration
}

// RetryAfter returns the time until the next request to the authorization server, 0 if that
// is unknown. Calls before that fail with the same error.
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

// ErrNoClientMethod means that this client supports no authentication method of the
// authorization server.
var ErrNoClientMethod = grant.ErrNoMethod

// ScopeError reports scopes that the token lacks while logins are disabled ([WithoutLogin]).
type ScopeError struct {
	Scopes []string
	// Before are the scopes of the last login: a new login needs both.
	Before []string
	// Bound reports whether the token is bound to a key: a new login then needs [WithDPoP].
	Bound bool
}

func (e *ScopeError) Error() string {
	return "the server wants a login with the scopes " + strconv.Quote(strings.Join(e.Scopes, " "))
}

// NotLoggedInError reports that a login is missing, and why. [errors.Is] finds
// [ErrNotLoggedIn] in it.
type NotLoggedInError struct {
	// Ended is the error code with which the authorization server ended the last login,
	// such as invalid_grant, "" for none.
	Ended string
	// Bound reports whether the login that ended used [WithDPoP]: a new one needs it, too.
	Bound bool
	// Damaged are files of the store that cannot be read. One of them may have a login.
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

// newError adds a reason and a help to an error, unless it has them already.
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
