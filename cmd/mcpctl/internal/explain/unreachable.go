package explain

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

// connecting explains why a server cannot be reached.
func (x *Explainer) connecting(f *failure.Failure, e *mcperrors.Error, t target.Target) {
	var (
		dns   *net.DNSError
		opErr *net.OpError
	)
	switch {
	case x.Common(f, t, e):
	case t.Argv != nil && e.Process != nil && !e.Process.Exited && e.Process.PID == 0 && f.Kind == failure.KindUnreachable:
		f.Message = "the program cannot be started: " + x.Secrets.Safe(failure.RootCause(e))
	case t.Argv != nil && e.Process != nil && e.Process.Exited:
		if name := MissingVariable(e.Process.Stderr); name != "" {
			f.Try = append(f.Try, "-e "+name+"=…")
		} else if len(e.Process.Stderr) == 0 {
			f.Try = append(f.Try, "run the program without mcpctl and see what it prints")
		}
	case t.Argv != nil && e.Kind == mcperrors.KindTimeout:
		f.Message = "the program started, but does not answer"
	case t.Argv != nil:
	case errors.As(e, &dns):
		f.Add("url", "%s", target.Shown(t.URL))
		f.Message = "there is no host named " + dns.Name
	case e.HTTP != nil && (e.HTTP.Status == 404 || e.HTTP.Status == 405):
		f.Try = nil
		f.Message = fmt.Sprintf("there is no MCP endpoint at this address (HTTP %d)", e.HTTP.Status)
		if url := strings.TrimRight(target.Shown(t.URL), "/"); !strings.HasSuffix(url, "/mcp") {
			f.Try = append(f.Try, url+"/mcp")
		}
	case errors.As(e, &opErr) && e.HTTP == nil:
		f.Add("url", "%s", target.Shown(t.URL))
		f.Message = "cannot reach " + target.Address(t.URL) + ": " + x.Secrets.Safe(failure.RootCause(e))
	case e.HTTP == nil:
		f.Add("url", "%s", target.Shown(t.URL))
	}
}

// Common explains the most common reasons: no such program, a closed port, and
// failures of TLS. It reports whether the error was one of them.
func (x *Explainer) Common(f *failure.Failure, t target.Target, err error) bool {
	var (
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		plain   tls.RecordHeaderError
	)
	switch {
	case t.Argv == nil && errors.As(err, &cert):
		f.Evidence, f.Try = nil, nil
		f.Add("url", "%s", target.Shown(t.URL))
		f.Message = "the certificate of " + target.Address(t.URL) + " is not trusted: " + x.Secrets.Safe(cert.Err.Error())
		if errors.As(err, &unknown) {
			f.Note = "for a private certificate authority, give its certificate (PEM) with --cacert FILE"
		}
	case t.Argv == nil && strings.Contains(err.Error(), "tls: certificate required"): // an alert of RFC 8446, whose type is not exported
		f.Evidence, f.Try = nil, nil
		f.Add("url", "%s", target.Shown(t.URL))
		f.Message = target.Address(t.URL) + " wants a client certificate: give it with --cert FILE"
	case t.Argv == nil && (errors.As(err, &plain) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")):
		f.Evidence, f.Try = nil, []string{"http://" + strings.TrimPrefix(target.Shown(t.URL), "https://")}
		f.Add("url", "%s", target.Shown(t.URL))
		f.Message = target.Address(t.URL) + " does not use TLS"
	case t.Argv != nil && errors.Is(err, exec.ErrNotFound):
		f.Evidence = nil
		f.Message = fmt.Sprintf("program %s not found in PATH", t.Argv[0])
		if near := suggest.Nearest(t.Argv[0], x.programs()); len(near) > 0 {
			f.Try = append(f.Try, "did you mean "+strings.Join(near, ", ")+"?")
		}
	case t.Argv == nil && errors.Is(err, syscall.ECONNREFUSED):
		f.Evidence = nil
		f.Add("url", "%s", target.Shown(t.URL))
		f.Message = "nothing listens on " + target.Address(t.URL)
		f.Try = append(f.Try, "start the server, or check the port")
	default:
		return false
	}
	return true
}

// programs returns the names of all programs in PATH, to suggest one for a program
// that does not exist.
func (x *Explainer) programs() []string {
	path, _ := x.Console.Env("PATH")
	var names []string
	for _, dir := range filepath.SplitList(path) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // PATH often names folders that do not exist
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names) // a program may be in several folders
	return slices.Compact(names)
}

var notSet = lazyregexp.New(`\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*\b(?i:not set|missing|required|undefined|not defined|must be set|needs?)\b`)

// MissingVariable returns the environment variable that a program reports as
// missing, or "".
func MissingVariable(lines []string) string {
	for _, line := range lines {
		if m := notSet.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}
