// Package discover finds the documents that a login needs: the protected resource
// metadata of an MCP server (RFC 9728) and the metadata of its authorization server
// (RFC 8414, OpenID Connect Discovery). It checks each document before it is used.
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

// Step is one request for a document, or one check of a rule.
type Step struct {
	What   string // the document: "protected resource metadata", "authorization server metadata"
	URL    string // without query
	Status int    // of an answer, else 0
	Rule   string // of a rule, else ""
	Found  string // the value that was checked, printable and bounded; "" if Err has it
	Err    error  // why there is no document, or why the rule does not hold
	// Minor is set if Err alone does not make the login fail: another place may have
	// the document, or another rule may apply.
	Minor bool
	Help  string // what to do about Err
}

// Finder finds and checks metadata. It keeps nothing; its methods may be
// called concurrently if OnStep may.
type Finder struct {
	HTTP *fetch.Client
	// NoFallback makes Fallback fail with ErrNoMetadata.
	NoFallback bool
	// SlashConcession accepts an issuer without path that differs from the
	// expected one only by a trailing slash.
	SlashConcession bool
	// StrictResource requires that the resource identifier is the endpoint itself.
	// By default it may also be a parent path.
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
	// other is set if this place may be down although the next ones are not.
	other bool
}

// acceptor checks a document and keeps it, or returns an error. from differs from
// asked after a redirect.
type acceptor func(asked, from string, d *document) error

// search fetches the document from the first place whose document accept accepts. If
// a place has none, or an invalid one, search tries the next.
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

// others returns the text that n more places were tried.
func others(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " and 1 other place"
	}
	return fmt.Sprintf(" and %d other places", n)
}

var errNowhere = errors.New("there is no document at any of the places for it")

// missing reports as a step that no place has a document.
func (f *Finder) missing(what, url, rule, help string, minor bool, err error) {
	if errors.Is(err, ErrNoMetadata) {
		f.step(Step{What: what, URL: fetch.Show(url), Rule: rule, Err: errNowhere, Minor: minor, Help: help})
	}
}

// isDown reports whether an error means that a server does not answer, so that
// another place on it would only take time.
func isDown(err error) bool {
	var failed *fetch.Error
	return errors.As(err, &failed) && !errors.Is(err, fetch.ErrRedirect)
}

// Missing reports whether an error means that there is no document or that the
// server fails, and not that a document breaks a rule.
func Missing(err error) bool {
	var broken *DocumentError
	return errors.Is(err, ErrNoMetadata) || isDown(err) || errors.As(err, &broken) && broken.Status != http.StatusOK
}

// read fetches a document and passes it to accept.
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

// open returns the document of an answer. A status of the 400s means that there is no
// document, except those that ask the client to wait.
func open(a *fetch.Answer) (*document, error) {
	switch {
	case a.Status == http.StatusOK:
		return parse(a.Body)
	case 400 <= a.Status && a.Status < 500 && a.Status != http.StatusTooManyRequests && a.Status != http.StatusRequestTimeout:
		return nil, fmt.Errorf("status %d: %w", a.Status, errAbsent)
	}
	return nil, fmt.Errorf("status %d", a.Status)
}

// unread returns what to do about an answer that is not a document.
func unread(err error) string {
	if err == nil || errors.Is(err, errAbsent) {
		return ""
	}
	return "its operator must serve a JSON object there, with status 200"
}

// unreachable returns what to do about a URL without an answer.
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
		return "addresses of this machine are used only for MCP servers on it; its operator must name a public address"
	case errors.As(err, &blocked), errors.As(err, &large):
		return "do not log in there before its operator has explained it"
	case errors.As(err, &refused):
		return "its operator must name an https URL"
	case errors.As(err, &cert):
		return "its certificate is not trusted here; if it is of your company, give its authority in SSL_CERT_FILE"
	case errors.As(err, &name) && name.IsNotFound:
		return "there is no host of that name: its operator must name another one"
	case errors.Is(err, fetch.ErrRedirect):
		return "its operator must serve the document at that URL, without a redirect"
	}
	return "try again later, or ask its operator: nothing answers there"
}

// checks returns a function that reports the check of a rule about a document as a
// step, and returns the error for the caller. help is what to do about it.
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
