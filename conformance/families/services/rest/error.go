package rest

import (
	"strings"
	"unicode"
)

// A Kind says what went wrong with a call, in the terms a tool answers with.
type Kind int

// The kinds of failure.
const (
	// Unavailable is no answer, an answer of 5xx, or one nobody can use.
	Unavailable Kind = iota
	// Timeout is no answer in time.
	Timeout
	// Refused is what the service says is wrong with the request itself.
	Refused
	// Denied is a missing or wrong API key.
	Denied
	// Missing is something the service does not have.
	Missing
)

// maxDetail bounds what of a service's text reaches a caller, in characters.
const maxDetail = 300

// An Error is a failed call of a service. Its text names the service and the
// kind, never what an answer of HTTP contained.
type Error struct {
	// Service is the name of the service in plain words.
	Service string
	Kind    Kind
	// Detail is the service's own sentence about a request it refused.
	Detail string
	// Undecided says that the request may have taken effect all the same: it was
	// sent, and no answer of the service itself came back.
	Undecided bool
	// Err is the cause, for logs.
	Err error
}

func (e *Error) Error() string {
	switch e.Kind {
	case Timeout:
		return "the " + e.Service + " did not answer in time"
	case Refused:
		return "the " + e.Service + " refused the request: " + e.Detail
	case Denied:
		return "the " + e.Service + " refused the API key"
	case Missing:
		return "the " + e.Service + " does not have it: " + e.Detail
	default:
		return "the " + e.Service + " is not available"
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// clean makes one short line of what a service said.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if r := []rune(s); len(r) > maxDetail {
		return string(r[:maxDetail]) + "…"
	}
	return s
}
