package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// BlockedError reports a URL whose address the guard does not allow, because a stranger
// may have named it. Nothing was sent.
type BlockedError struct {
	URL     string // without query
	Address string // the address, or the name of this machine
	Reason  string // "private", "link-local", …
}

func (e *BlockedError) Error() string {
	return e.URL + " is blocked: it leads to " + e.Address + " (" + e.Reason + ")"
}

// Private reports whether the address is one that AllowPrivate allows.
func (e *BlockedError) Private() bool { return e.Reason == private }

// Loopback reports whether the address is this machine.
func (e *BlockedError) Loopback() bool { return e.Reason == loopback }

// URLError reports a URL that is never requested. Nothing was sent.
type URLError struct {
	URL    string // without query
	Reason string
}

func (e *URLError) Error() string { return strconv.Quote(e.URL) + " is refused: " + e.Reason }

// TooLargeError reports a body over the limit.
type TooLargeError struct {
	URL   string // without query
	Limit int64
}

func (e *TooLargeError) Error() string {
	return "the answer of " + e.URL + " is over " + strconv.FormatInt(e.Limit, 10) + " bytes"
}

// Error reports an exchange without a complete answer.
type Error struct {
	Method string
	URL    string // without query
	// Err is the cause: an error of package net, of TLS or of the context. Of the
	// peer's bytes it quotes only the names in a certificate, because a peer may send
	// back a secret.
	Err error
	// NotSent is set if no byte of the request was sent: the server cannot have run it.
	NotSent bool
}

func (e *Error) Error() string { return e.Method + " " + e.URL + ": " + Printable(e.Err.Error()) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrRedirect is in the chain of an [Error] if the server answered with a redirect that
// is not followed.
var ErrRedirect = errors.New("a redirect is not followed")

var (
	errRedirects = fmt.Errorf("%w: there are more than three in a row", ErrRedirect)
	errDowngrade = fmt.Errorf("%w: it leads from https to http", ErrRedirect)
	errLocation  = fmt.Errorf("%w: it does not lead to a URL", ErrRedirect)

	errTimeout = errors.New("no complete answer in time")
	errNotHTTP = errors.New("the connection broke, or the answer is not correct HTTP")
	errNotTLS  = errors.New("the peer does not speak TLS")
	errProxy   = errors.New("the proxy's settings are wrong")
)

// CauseOf returns the part of an error of the transport that is safe to show. Errors of
// net/http quote bytes of the peer, and a hostile peer can send back the form with the
// client's secret as its status line.
func CauseOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); errors.Is(cause, ctx.Err()) {
			return cause
		}
		return ctx.Err() // the caller knows its own cause
	}
	var (
		operation *net.OpError
		name      *net.DNSError
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		timeout   interface{ Timeout() bool }
	)
	switch {
	case errors.As(err, &verify):
		return verify
	case errors.As(err, &authority):
		return authority
	case errors.As(err, &hostname):
		return hostname
	case errors.As(err, &invalid):
		return invalid
	case errors.As(err, &record):
		return errNotTLS
	case errors.As(err, &alert):
		return alert
	case errors.As(err, &name):
		return name
	case errors.As(err, &operation):
		return operation
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.As(err, &timeout) && timeout.Timeout():
		return errTimeout // of the TLS handshake, of the header
	}
	return errNotHTTP
}

// Show returns a URL for logs and errors: scheme, host and path only, printable
// and bounded in length.
func Show(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(not a URL)"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	if u.Opaque != "" {
		return Printable(u.Scheme) + ":…"
	}
	return Printable(u.String())
}

// Printable makes untrusted text fit for a log: on one line, without control
// characters, limited in length.
func Printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, s)
	const most = 300
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + "…"
}
