package faults

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// Listen returns a listener that makes the faults of the carrier [Conn] on the connections
// that l accepts: when they are accepted, and inside HTTP/2. With an authority they use
// TLS, with HTTP/1.1 and HTTP/2; nil means plain text, with HTTP/2 for clients that begin
// with it. Serve it with [NewServer], because other servers do not accept HTTP/2 from it.
// Selectors count connections, and for faults inside HTTP/2 requests.
//
// Close closes l and the connections that a fault holds.
func (p *Proxy) Listen(l net.Listener, authority *Authority) net.Listener {
	return &listener{Listener: l, proxy: p, authority: authority, quit: make(chan struct{})}
}

// NewServer returns a server of h with HTTP/1.1 and HTTP/2, for the listener of
// [Proxy.Listen]. The caller closes it.
func NewServer(h http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // TLS, if any, is the listener's
	// Faults are on purpose: Go must not log them.
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	return &http.Server{Handler: h, Protocols: protocols, ErrorLog: quiet} //nolint:gosec // held requests are its purpose: no timeouts
}

type listener struct {
	net.Listener
	proxy     *Proxy
	authority *Authority
	quit      chan struct{}
	once      sync.Once
	jobs      sync.WaitGroup
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		h := l.proxy.match(event{carrier: Conn, point: atConn})
		var fault, form string
		if h != nil {
			fault, form = h.Fault, h.form
		}
		switch fault {
		case "A3":
			l.jobs.Go(func() { l.keep(h, conn) })
			continue
		case "A6":
			l.jobs.Go(func() { l.handshake(h, conn) })
			continue
		case "A9":
			_ = conn.Close() // down
			continue
		}
		if l.authority != nil {
			conn = tls.Server(conn, l.authority.config(fault, form))
		}
		room := ""
		if fault == "B27" {
			room = form
		}
		return newFramed(l.proxy, conn, room), nil
	}
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	err := l.Listener.Close()
	l.once.Do(func() { close(l.quit) })
	l.jobs.Wait()
	return err
}

// keep holds a connection that is not served, and closes it when the fault is over.
func (l *listener) keep(h *hit, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	select {
	case <-h.period.over:
	case <-l.quit:
	}
}

// handshake reads the first bytes of a TLS client and stays silent, or refuses.
func (l *listener) handshake(h *hit, conn net.Conn) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = conn.Read(make([]byte, 4096)) // the hello, or the end
	}()
	defer func() { <-read }()
	defer func() { _ = conn.Close() }()
	if h.form == "alert" {
		select {
		case <-read:
			// A fatal alert of TLS 1.2: handshake_failure.
			_, _ = conn.Write([]byte{21, 3, 3, 0, 2, 2, 40})
		case <-l.quit:
		}
		return
	}
	select {
	case <-h.period.over:
	case <-l.quit:
	}
}
