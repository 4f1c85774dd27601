package faults

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Authority issues the certificates of a TLS listener: a valid one, and those of fault A5.
// Its keys do not depend on the seed of a plan. It is safe for concurrent use.
type Authority struct {
	pool  *x509.CertPool
	right tls.Certificate
	wrong map[string]tls.Certificate // by the form of A5
}

// NewAuthority returns an authority for hosts, which are names or addresses; the default is
// localhost and the loopback addresses. Certificates are valid for ten years.
func NewAuthority(hosts ...string) (*Authority, error) {
	if len(hosts) == 0 {
		hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	now := time.Now()
	trusted, err := newIssuer("faults authority", now)
	if err != nil {
		return nil, err
	}
	unknown, err := newIssuer("faults unknown authority", now)
	if err != nil {
		return nil, err
	}
	a := &Authority{pool: x509.NewCertPool(), wrong: map[string]tls.Certificate{}}
	a.pool.AddCert(trusted.cert)
	if a.right, err = trusted.issue(hosts, now.Add(-time.Hour), now.AddDate(10, 0, 0)); err != nil {
		return nil, err
	}
	if a.wrong["expired"], err = trusted.issue(hosts, now.Add(-48*time.Hour), now.Add(-24*time.Hour)); err != nil {
		return nil, err
	}
	if a.wrong["wrong-host"], err = trusted.issue([]string{"other.invalid"}, now.Add(-time.Hour), now.AddDate(10, 0, 0)); err != nil {
		return nil, err
	}
	a.wrong["unknown-ca"], err = unknown.issue(hosts, now.Add(-time.Hour), now.AddDate(10, 0, 0))
	return a, err
}

// Pool returns the certificates that a client must trust.
func (a *Authority) Pool() *x509.CertPool { return a.pool }

// config returns the TLS configuration of one connection.
func (a *Authority) config(fault, form string) *tls.Config {
	cert := a.right
	if fault == "A5" {
		cert = a.wrong[form]
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}
}

type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newIssuer(name string, now time.Time) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("certificates of the faults proxy: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificates of the faults proxy: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	return &issuer{cert: cert, key: key}, err
}

func (i *issuer) issue(hosts []string, from, until time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificates of the faults proxy: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(until.UnixNano()), Subject: pkix.Name{CommonName: hosts[0]}, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, key.Public(), i.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificates of the faults proxy: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der, i.cert.Raw}, PrivateKey: key}, nil
}
