package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

// explainConnecting says why a server cannot be reached, in words of its own
// where the reason is a common one.
func (a *app) explainConnecting(f *failure, e *mcperrors.Error, t target) {
	var (
		dns   *net.DNSError
		opErr *net.OpError
	)
	switch {
	case a.explainCommon(f, t, e):
	case t.argv != nil && e.Process != nil && !e.Process.Exited && e.Process.PID == 0 && f.kind == kindUnreachable:
		f.message = "the program cannot be started: " + a.safe(rootCause(e))
	case t.argv != nil && e.Process != nil && e.Process.Exited:
		if name := missingVariable(e.Process.Stderr); name != "" {
			f.try = append(f.try, "-e "+name+"=…")
		} else if len(e.Process.Stderr) == 0 {
			f.try = append(f.try, "run the program by itself and see what it says")
		}
	case t.argv != nil && e.Kind == mcperrors.KindTimeout:
		f.message = "the program started and does not answer"
	case t.argv != nil:
	case errors.As(e, &dns):
		f.add("url", "%s", withoutSecrets(t.url))
		f.message = "no host is called " + dns.Name
	case e.HTTP != nil && (e.HTTP.Status == 404 || e.HTTP.Status == 405):
		f.try = nil
		f.message = fmt.Sprintf("there is no MCP endpoint at this address (HTTP %d)", e.HTTP.Status)
		if url := strings.TrimRight(withoutSecrets(t.url), "/"); !strings.HasSuffix(url, "/mcp") {
			f.try = append(f.try, url+"/mcp")
		}
	case errors.As(e, &opErr) && e.HTTP == nil:
		f.add("url", "%s", withoutSecrets(t.url))
		f.message = "cannot reach " + address(t.url) + ": " + a.safe(rootCause(e))
	case e.HTTP == nil:
		f.add("url", "%s", withoutSecrets(t.url))
	}
}

// explainCommon says it for the commonest reasons: no such program, nobody at that
// port, and no TLS that both sides accept.
func (a *app) explainCommon(f *failure, t target, err error) bool {
	var (
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		plain   tls.RecordHeaderError
	)
	switch {
	case t.argv == nil && errors.As(err, &cert):
		f.evidence, f.try = nil, nil
		f.add("url", "%s", withoutSecrets(t.url))
		f.message = "the certificate of " + address(t.url) + " is not accepted: " + a.safe(cert.Err.Error())
		if errors.As(err, &unknown) {
			f.note = "for an authority of your own set SSL_CERT_FILE to its certificates (PEM), or add them to the system's"
		}
	case t.argv == nil && (errors.As(err, &plain) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")):
		f.evidence, f.try = nil, []string{"http://" + strings.TrimPrefix(withoutSecrets(t.url), "https://")}
		f.add("url", "%s", withoutSecrets(t.url))
		f.message = address(t.url) + " does not speak TLS"
	case t.argv != nil && errors.Is(err, exec.ErrNotFound):
		f.evidence = nil
		f.message = fmt.Sprintf("program %s not found in PATH", t.argv[0])
		if near := suggest.Nearest(t.argv[0], a.programs()); len(near) > 0 {
			f.try = append(f.try, "did you mean "+strings.Join(near, ", ")+"?")
		}
	case t.argv == nil && errors.Is(err, syscall.ECONNREFUSED):
		f.evidence = nil
		f.add("url", "%s", withoutSecrets(t.url))
		f.message = "nothing listens on " + address(t.url)
	default:
		return false
	}
	return true
}

// rootCause is the innermost reason of an error.
func rootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
				err = many.Unwrap()[0]
				continue
			}
			return err.Error()
		}
		err = next
	}
}
