package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// broken returns the failure for an error of the HTTP layer.
func (x *exchange) broken(err error) *Failure {
	f := x.failure(ReasonLost, err)
	f.Reused = x.resp == nil && x.body.reused.Load()
	cause := context.Cause(x.ctx)
	var (
		cert     *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		plain    tls.RecordHeaderError
		op       *net.OpError
		failed   *callback.Error
		dns      *net.DNSError
	)
	switch {
	case x.caller.Err() != nil:
		f.Reason, f.Err = ReasonCanceled, endOf(x.caller)
	case errors.Is(cause, jsonrpc.ErrClosed):
		f.Reason, f.Err = ReasonClosed, cause
	case errors.Is(cause, jsonrpc.ErrIdle), errors.Is(cause, jsonrpc.ErrMaxWait):
		f.Reason, f.Err = ReasonTimeout, cause
	case errors.Is(cause, errStalled):
		f.Reason, f.Err = ReasonNoRoom, cause
	case errors.Is(cause, errStreamEnded):
		f.Err = cause
	case errors.As(err, &failed):
		f.Reason = ReasonCallback
	case errors.As(err, &cert), errors.As(err, &unknown), errors.As(err, &hostname), errors.As(err, &invalid):
		f.Reason = ReasonConfig
		f.Err = fmt.Errorf("the server's certificate is not accepted: %w", err)
	case errors.As(err, &plain), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		f.Reason = ReasonConfig
		f.Err = fmt.Errorf("the server does not speak TLS here; try http:// (%w)", err)
	case strings.Contains(err.Error(), "server response headers exceeded"):
		f.Reason = ReasonTooLarge
		f.Err = fmt.Errorf("the headers of the answer are over %d KiB: %w", maxHeaderBytes>>10, err)
	case errors.As(err, &dns), errors.As(err, &op) && op.Op == "dial":
		f.Reason = ReasonUnavailable
	case x.resp == nil && unprocessed(err) && !x.body.earlier.Load():
		f.Reason, f.NotSent = ReasonUnprocessed, true
	case x.resp == nil && errors.As(err, &op) && (op.Op == "write" || op.Op == "readfrom") && x.torn(err):
		// The rest of the request could not be written.
		f.Reason, f.NotSent = ReasonUnavailable, !x.body.earlier.Load()
	case x.resp == nil && f.NotSent:
		// A TLS or proxy failure, or a connection that broke during the request: the server never
		// received all of it.
		f.Reason = ReasonUnavailable
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		f.Err = fmt.Errorf("the connection ended in the middle of the exchange: %w", err)
	}
	return f
}

// torn reports whether a failed write was part of the request. In HTTP/1 nothing else is written.
// In HTTP/2 it may have been an acknowledgement after the server had received the whole request.
func (x *exchange) torn(err error) bool {
	return !x.body.whole() || strings.Contains(err.Error(), "HTTP/1.x transport connection broken") || x.body.alone(x.c.http1)
}

// unprocessed reports whether HTTP/2 proves that the server did not process a request: its stream
// was refused, or is above the last one in a GOAWAY (RFC 9113 section 8.7). The standard library
// repeats most such requests itself. It exports no errors for the others, but their texts have
// not changed since HTTP/2 was added.
func unprocessed(err error) bool {
	text := err.Error()
	return strings.Contains(text, "http2: Transport received Server's graceful shutdown GOAWAY") ||
		strings.Contains(text, "http2: Transport received GOAWAY from server") ||
		(strings.Contains(text, "stream error: stream ID ") && strings.Contains(text, "; REFUSED_STREAM"))
}
