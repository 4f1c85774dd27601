// Package discover finds the documents that say how to log in: the protected
// resource metadata of an MCP server (RFC 9728) and the metadata of its
// authorization server (RFC 8414, OpenID Connect Discovery). It knows where the
// documents can be and what must hold before one is used.
package discover

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// Step is one document that was asked for, or one rule that was checked.
type Step struct {
	What   string // the document: "protected resource metadata", "authorization server metadata"
	URL    string // without query
	Status int    // of an answer, else 0
	Rule   string // of a rule, else ""
	Found  string // the value that was checked, printable and bounded; "" if Err has it
	Err    error  // why there is no document, or why the rule does not hold
	// Minor says that nothing fails for Err: another place or another rule may do.
	Minor bool
	Help  string // what to do about Err
}

// Finder finds and checks metadata. It keeps nothing; its methods may be
// called concurrently if OnStep may.
type Finder struct {
	HTTP *fetch.Client
	// NoLegacy makes Legacy fail with ErrNoMetadata.
	NoLegacy bool
	// SlashConcession accepts an issuer without path that differs from the
	// expected one only by a trailing slash.
	SlashConcession bool
	// StrictResource wants the resource identifier to be the endpoint itself.
	// By default a parent path will do.
	StrictResource bool
	// OnStep is called after each step, on the goroutine of the caller.
	OnStep func(Step)
}

func (f *Finder) step(s Step) {
	if f.OnStep != nil {
		f.OnStep(s)
	}
}

// place is where a document can be.
type place struct {
	url string
	// other says that a failure to reach it says nothing about the next places.
	other bool
}

// acceptor takes a document that was asked for at one URL and came from another one, if
// there was a redirect.
type acceptor func(asked, from string, d *document) error

// search fetches the document from the first place that has one which accept
// takes. A place that has none, or one that is broken, leads to the next.
func (f *Finder) search(ctx context.Context, what string, places []place, header http.Header, accept acceptor) error {
	var first error
	for _, p := range places {
		err := f.read(ctx, what, p.url, header, accept)
		var foreign *ResourceError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil, errors.As(err, &foreign), isDown(err) && !p.other:
			return err
		case first == nil && !errors.Is(err, errAbsent):
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("%w: no %s at %s%s", ErrNoMetadata, what, fetch.Show(places[0].url), others(len(places)-1))
	}
	return first
}

// others writes that n more places were tried.
func others(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " and 1 other place"
	}
	return fmt.Sprintf(" and %d other places", n)
}

var errNowhere = errors.New("none of its places has it")

// missing reports as a step that no place has a document.
func (f *Finder) missing(what, url, rule, help string, minor bool, err error) {
	if errors.Is(err, ErrNoMetadata) {
		f.step(Step{What: what, URL: fetch.Show(url), Rule: rule, Err: errNowhere, Minor: minor, Help: help})
	}
}

// isDown reports whether an error means that a server does not answer, so that
// asking it for another place would only take time.
func isDown(err error) bool {
	var failed *fetch.Error
	return errors.As(err, &failed) && !errors.Is(err, fetch.ErrRedirect)
}

// Missing reports whether an error means that a server cannot be reached, is in trouble
// or has no document, and not that one breaks a rule.
func Missing(err error) bool {
	var broken *DocumentError
	return errors.Is(err, ErrNoMetadata) || isDown(err) || errors.As(err, &broken) && broken.Status != http.StatusOK
}

// read fetches a document and has it accepted.
func (f *Finder) read(ctx context.Context, what, url string, header http.Header, accept acceptor) error {
	answer, err := f.HTTP.Get(ctx, url, header)
	if err != nil {
		f.step(Step{What: what, URL: fetch.Show(url), Err: err, Help: unreachable(err)})
		return err
	}
	d, err := open(answer)
	f.step(Step{What: what, URL: fetch.Show(answer.URL), Status: answer.Status, Err: err, Minor: errors.Is(err, errAbsent), Help: unread(err)})
	if err != nil {
		return &DocumentError{What: what, URL: fetch.Show(answer.URL), Status: answer.Status, Err: err}
	}
	return accept(url, answer.URL, d)
}

// open returns the document of an answer. A refusal by the client's fault means
// that there is none, except for those that ask the client to wait.
func open(a *fetch.Answer) (*document, error) {
	switch {
	case a.Status == http.StatusOK:
		return parse(a.Body)
	case 400 <= a.Status && a.Status < 500 && a.Status != http.StatusTooManyRequests && a.Status != http.StatusRequestTimeout:
		return nil, fmt.Errorf("status %d: %w", a.Status, errAbsent)
	}
	return nil, fmt.Errorf("status %d", a.Status)
}

// unread says what to do about a document that was answered and is none.
func unread(err error) string {
	if err == nil || errors.Is(err, errAbsent) {
		return ""
	}
	return "its operator must serve a JSON object there, with status 200"
}

// unreachable says what to do about a URL that gave no answer.
func unreachable(err error) string {
	var (
		blocked *fetch.BlockedError
		refused *fetch.URLError
		large   *fetch.TooLargeError
		cert    *tls.CertificateVerificationError
		name    *net.DNSError
	)
	switch {
	case errors.As(err, &blocked) && blocked.Private():
		return "if this is your own network, allow it with WithPrivateNetwork"
	case errors.As(err, &blocked) && blocked.Loopback():
		return "this machine is only asked about an MCP server on this machine; its operator must name a public address"
	case errors.As(err, &blocked), errors.As(err, &large):
		return "do not log in there before its operator has explained it"
	case errors.As(err, &refused):
		return "its operator must name an https URL"
	case errors.As(err, &cert):
		return "its certificate is not trusted here; if it is of your company, give its authority in SSL_CERT_FILE"
	case errors.As(err, &name) && name.IsNotFound:
		return "there is no host of that name: its operator must name another one"
	case errors.Is(err, fetch.ErrRedirect):
		return "its operator must serve the document where it is said to be"
	}
	return "try again later, or ask its operator: nothing answers there"
}

// checks returns a function that reports the outcome of a rule about a document
// as a step, and returns the error for the caller. help says what to do about it.
func (f *Finder) checks(what, url string) func(rule, found string, err error, help string) error {
	return func(rule, found string, err error, help string) error {
		s := Step{What: what, URL: fetch.Show(url), Rule: rule, Err: err}
		if err != nil {
			s.Help = help
		} else {
			s.Found = fetch.Printable(found)
		}
		f.step(s)
		var (
			resource *ResourceError
			issuer   *IssuerError
		)
		if err != nil && !errors.As(err, &resource) && !errors.As(err, &issuer) {
			err = &DocumentError{What: what, URL: fetch.Show(url), Status: http.StatusOK, Err: err}
		}
		return err
	}
}
