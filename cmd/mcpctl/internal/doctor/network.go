package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// mostAddresses is how many addresses of a host are tried.
const mostAddresses = 6

// soon is when the end of a certificate is a warning.
const soon = 14 * 24 * time.Hour

// Network goes the way to a URL step by step: name, address, TLS. Each connection has limit to open.
// It passes each step to add, and reports whether the server can be reached. now is the time by
// which certificates are judged; config, if not nil, has the authorities that are trusted, and the
// client certificate.
func Network(ctx context.Context, raw string, config *tls.Config, limit time.Duration, now time.Time, add func(Step)) (reached bool) {
	u, err := url.Parse(raw)
	if err != nil {
		add(Step{Step: "url", Status: Problem, Seen: "the URL cannot be read", Why: "there is no address to connect to"})
		return false
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	through, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	switch {
	case err != nil:
		add(Step{Step: "proxy", Status: Problem, Seen: "the proxy of the environment cannot be used", Why: "every request goes through it", Next: []string{"correct HTTPS_PROXY or HTTP_PROXY"}})
		return false
	case through != nil:
		add(Good("proxy", "requests go through "+through.Host+", as HTTPS_PROXY or HTTP_PROXY says"))
		host, port = through.Hostname(), through.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443", "socks5": "1080"}[through.Scheme]
		}
	case hasProxy():
		add(Good("proxy", "not used for this host"))
	}
	addresses := lookup(ctx, host, limit, add)
	if len(addresses) == 0 {
		return false
	}
	open := dial(ctx, addresses, port, limit, add)
	if open == "" {
		return false
	}
	if u.Scheme != "https" {
		if ip := net.ParseIP(host); host != "localhost" && through == nil && (ip == nil || !ip.IsLoopback()) {
			add(Step{
				Step: "tls", Status: Warning, Seen: "none: the URL is http", Why: "everybody on the way can read and change the traffic, and no token is sent",
				Next: []string{"use an https URL"},
			})
		}
		return true
	}
	if through != nil {
		return true // what is behind a proxy, the handshake shows
	}
	return secure(ctx, open, u.Hostname(), config, limit, now, add)
}

// hasProxy reports whether the environment names a proxy.
func hasProxy() bool {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

func lookup(ctx context.Context, host string, limit time.Duration, add func(Step)) []string {
	if net.ParseIP(host) != nil {
		return []string{host}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		add(Step{Step: "name", Status: Problem, Seen: "there is no host named " + host, Why: "nothing can be reached by this name", Next: []string{"correct the host of the URL"}})
	case err != nil:
		add(Step{Step: "name", Status: Problem, Seen: "the name " + host + " cannot be looked up: " + failure.RootCause(err), Why: "nothing can be reached by this name", Next: []string{"check the network and its name servers"}})
	default:
		shown := addresses[:min(len(addresses), mostAddresses)]
		add(Good("name", host+" is "+strings.Join(shown, ", ")))
		return shown
	}
	return nil
}

// dial opens a connection to each address, and returns the first that takes one.
func dial(ctx context.Context, addresses []string, port string, limit time.Duration, add func(Step)) (open string) {
	var bad []string
	var last error
	took := time.Duration(0)
	for _, address := range addresses {
		began := time.Now()
		at := net.JoinHostPort(address, port)
		conn, err := (&net.Dialer{Timeout: limit}).DialContext(ctx, "tcp", at)
		if err != nil {
			bad, last = append(bad, at), err
			continue
		}
		_ = conn.Close() // nothing was sent
		if open == "" {
			open, took = at, time.Since(began)
		}
	}
	switch {
	case open == "" && errors.Is(last, syscall.ECONNREFUSED):
		add(Step{Step: "tcp", Status: Problem, Seen: "nothing listens on " + strings.Join(bad, ", "), Why: "there is no server at this port", Next: []string{"start the server, or check the port"}})
	case open == "":
		add(Step{
			Step: "tcp", Status: Problem, Seen: "no connection to " + strings.Join(bad, ", ") + ": " + failure.RootCause(last), Why: "the server, a firewall or the network lets nothing through",
			Next: []string{"check that the server runs, and that this machine may reach it"},
		})
	case len(bad) > 0:
		add(Step{
			Step: "tcp", Status: Warning, Seen: open + " takes connections, " + strings.Join(bad, ", ") + " does not: " + failure.RootCause(last),
			Why: "clients that try only that address fail, others lose time", Next: []string{"let the server listen on all addresses of its name, or use " + open + " in the URL"},
		})
	default:
		add(Good("tcp", open+" takes connections, in "+rounded(took)))
	}
	return open
}

// secure shakes hands over TLS without trusting the certificate, and then finds what is wrong with
// it.
func secure(ctx context.Context, at, host string, config *tls.Config, limit time.Duration, now time.Time, add func(Step)) (good bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	own := &tls.Config{MinVersion: tls.VersionTLS12}
	if config != nil {
		own = config.Clone()
	}
	own.ServerName, own.InsecureSkipVerify = host, true // it is verified below, to tell each fault; nothing is sent
	dialer := &tls.Dialer{Config: own}
	conn, err := dialer.DialContext(ctx, "tcp", at)
	if err != nil {
		step := Step{Step: "tls", Status: Problem, Seen: "no TLS: " + failure.RootCause(err), Why: "no request can be sent", Next: []string{"check the TLS settings of the server"}}
		if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) {
			step.Seen, step.Next = at+" does not use TLS", []string{"use an http URL, or let the server use TLS"}
		}
		add(step)
		return false
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	secured, ok := conn.(*tls.Conn)
	if !ok || len(secured.ConnectionState().PeerCertificates) == 0 {
		add(Step{Step: "tls", Status: Problem, Seen: "the server sent no certificate", Why: "clients cannot know whom they talk to", Next: []string{"check the TLS settings of the server"}})
		return false
	}
	state := secured.ConnectionState()
	step := certificate(state.PeerCertificates, own.RootCAs, host, now)
	if step.Status == OK {
		step.Seen = tls.VersionName(state.Version) + ", " + step.Seen + ", in " + rounded(time.Since(began))
	}
	add(step)
	return step.Status != Problem
}

// certificate judges the certificates of a server, as of now. Without roots, those of the system
// are trusted.
func certificate(chain []*x509.Certificate, roots *x509.CertPool, host string, now time.Time) Step {
	leaf := chain[0]
	bad := func(seen, next string) Step {
		return Step{Step: "tls", Status: Problem, Seen: seen, Why: "clients refuse the connection", Next: []string{next}}
	}
	others := x509.NewCertPool()
	for _, c := range chain[1:] {
		others.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: others, CurrentTime: now})
	var unknown x509.UnknownAuthorityError
	switch {
	case now.After(leaf.NotAfter):
		return bad(fmt.Sprintf("the certificate of %s expired on %s, %s ago", host, day(leaf.NotAfter), days(now.Sub(leaf.NotAfter))), "renew the certificate of the server")
	case now.Before(leaf.NotBefore):
		return bad(fmt.Sprintf("the certificate of %s begins on %s", host, day(leaf.NotBefore)), "check the clock of this machine, and the certificate")
	case leaf.VerifyHostname(host) != nil:
		return bad(fmt.Sprintf("the certificate is not for %s but for %s", host, names(leaf)), "use a name of the certificate in the URL, or get one for "+host)
	case errors.As(err, &unknown):
		return bad(fmt.Sprintf("the certificate of %s is by %q, which this machine does not trust", host, leaf.Issuer.CommonName),
			"for a private certificate authority, give its certificate (PEM) with --cacert FILE; else let the server send its whole chain")
	case err != nil:
		return bad(fmt.Sprintf("the certificate of %s is not valid: %s", host, failure.RootCause(err)), "correct the certificate of the server")
	}
	return expiry(leaf, host, now)
}

// expiry judges how long a certificate is still good.
func expiry(leaf *x509.Certificate, host string, now time.Time) Step {
	if left := leaf.NotAfter.Sub(now); left < soon {
		return Step{
			Step: "tls", Status: Warning, Seen: fmt.Sprintf("the certificate of %s expires on %s, in %s", host, day(leaf.NotAfter), days(left)),
			Why: "from then on clients refuse the connection", Next: []string{"renew the certificate of the server"},
		}
	}
	return Good("tls", fmt.Sprintf("the certificate is by %q and good until %s", leaf.Issuer.CommonName, day(leaf.NotAfter)))
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func days(d time.Duration) string {
	if n := int(d / (24 * time.Hour)); n != 1 {
		return fmt.Sprintf("%d days", n)
	}
	return "1 day"
}

func names(c *x509.Certificate) string {
	all := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "no host"
	}
	return strings.Join(all[:min(len(all), mostAddresses)], ", ")
}

func rounded(d time.Duration) string {
	if d < time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond / 10).String()
}
