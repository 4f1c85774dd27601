package flags

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
)

// files are those of the flags about TLS, all PEM.
type files struct {
	authorities, certificate, key string
}

// TLS is how HTTPS connections are made, nil for the defaults: the certificate authorities of
// the system and those of --cacert are trusted, and --cert is shown to a server that asks for a
// certificate. [Global.Check] has to be called before. Each caller gets a copy.
func (f *Global) TLS() *tls.Config { return f.tls.Clone() }

// readTLS reads the files.
func (f *Global) readTLS() error {
	if f.files == (files{}) {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if name := f.files.authorities; name != "" {
		pem, err := operand.ReadText(name) // with a mark, its first certificate would be none
		if err != nil {
			return failure.Usage("--cacert: %v", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool() // a system without any
		}
		if !pool.AppendCertsFromPEM(pem) {
			return failure.Usage("--cacert: %s has no certificate in PEM (-----BEGIN CERTIFICATE-----)", name)
		}
		config.RootCAs = pool
	}
	if name := f.files.certificate; name != "" {
		key := f.files.key
		if key == "" {
			key = name // one file with both
		}
		pair, err := tls.LoadX509KeyPair(name, key)
		if err != nil {
			return failure.Usage("--cert: %v", err)
		}
		config.Certificates = []tls.Certificate{pair}
	} else if f.files.key != "" {
		return failure.Usage("--key needs --cert, the certificate of that key")
	}
	f.tls = config
	return nil
}
