package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	// patience is how long a request waits for a URL that is down. Many hosts give up after a
	// minute, and should hear why before.
	patience = 50 * time.Second
	// nameWait is patience with a name that was never resolved: it may be wrong, or this machine
	// is not connected yet.
	nameWait = 10 * time.Second
	// Pauses between attempts. A circuit allows few of them.
	minRetry = 100 * time.Millisecond
	maxRetry = time.Second
)

// unreachable is the cause of an error of a request that an open circuit refused, because the
// server could not be reached before.
type unreachable string

// Error implements [error].
func (u unreachable) Error() string { return string(u) }

// away returns how long to wait for a server after a failure, 0 if waiting does not help: only for
// a URL that is being restarted or is out of reach, and only if the request did not run. known
// says that the server was reached before.
func away(method string, err error, known bool) time.Duration {
	var e *mcperrors.Error
	if !errors.As(err, &e) || e.Delivery != mcperrors.NotSent && method == mcp.MethodToolsCall {
		return 0
	}
	if e.HTTP != nil {
		switch e.HTTP.Status {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout: // of what is in front of it
			return patience
		}
		return 0
	}
	if e.Kind != mcperrors.KindTransport && e.Kind != mcperrors.KindSessionLost || e.Process != nil { // the client is patient with programs
		return 0
	}
	var op *net.OpError
	var dns *net.DNSError
	var before unreachable
	switch {
	case errors.As(err, &dns) && dns.IsNotFound && !known:
		return nameWait
	case errors.As(err, &op) && strings.Contains(op.Error(), "tls: "): // the next handshake fails, too
		return 0
	case op != nil, dns != nil, errors.As(err, &before), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return patience
	}
	return 0
}

// sleep waits for d, and reports whether ctx is still there.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tooLong returns the last error of a request that waited for a server.
func tooLong(err error, began time.Time) error {
	var e *mcperrors.Error
	if !errors.As(err, &e) {
		return err
	}
	own := *e
	own.Message = fmt.Sprintf("waited %s for the server: %s", time.Since(began).Round(time.Second), own.Message)
	own.Retryable = true
	return &own
}
