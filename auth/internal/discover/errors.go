package discover

import (
	"errors"
	"strconv"
)

// ErrNoMetadata reports that no place has a document.
var ErrNoMetadata = errors.New("no authorization metadata found")

// ResourceError reports resource metadata for another resource than the endpoint. It
// must not be used (RFC 9728 §3.3).
type ResourceError struct {
	Resource string // without query
	Endpoint string // without query
	Reason   string
}

func (e *ResourceError) Error() string {
	return "the metadata is for the resource " + strconv.Quote(e.Resource) + ", not for " + e.Endpoint + ": " + e.Reason
}

// IssuerError reports authorization server metadata for another issuer than expected.
// It must not be used (RFC 8414 §3.3).
type IssuerError struct {
	URL  string // of the document, without query
	Want string // printable and bounded
	Got  string // printable and bounded
}

func (e *IssuerError) Error() string {
	return "the metadata at " + e.URL + " is of the issuer " + strconv.Quote(e.Got) + ", not of " + strconv.Quote(e.Want)
}

// OnlySlash reports whether the issuers differ only by a trailing slash, which
// SlashConcession accepts.
func (e *IssuerError) OnlySlash() bool { return sameRoot(e.Got, e.Want) }

// DocumentError reports a document that cannot be used: the server did not return it,
// or it breaks the rules of its format.
type DocumentError struct {
	What   string // as in [Step]
	URL    string // without query
	Status int    // of the HTTP response
	Err    error
}

func (e *DocumentError) Error() string {
	return "the " + e.What + " at " + e.URL + " cannot be used: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *DocumentError) Unwrap() error { return e.Err }
