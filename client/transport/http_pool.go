package transport

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Timeouts and size of the default pool: idle connections are cheap, and a burst of calls must
// not reconnect.
const (
	dialTimeout  = 5 * time.Second
	tlsTimeout   = 5 * time.Second
	idleConnTime = 90 * time.Second
	// maxHeaderBytes limits the headers of an answer.
	maxHeaderBytes   = 64 << 10
	idleConnsPerHost = 10_000
	// streamWindow is how much of an unread answer HTTP/2 buffers while the answer waits for
	// space. The default is 4 MiB.
	streamWindow = 256 << 10
)

// shared is the pool of all connections without a RoundTripper, so that idle clients hold no
// sockets of their own.
var shared sharedPool

// sharedPool exists while it has users.
type sharedPool struct {
	mu    sync.Mutex
	users int
	rt    *http.Transport
}

// join returns the pool. Each user calls leave once.
func (p *sharedPool) join() *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == 0 {
		p.rt = newPool()
	}
	p.users++
	return p.rt
}

// leave closes idle connections when the last user leaves.
func (p *sharedPool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 {
		// It also closes connections that become idle later.
		p.rt.CloseIdleConnections()
		p.rt = nil
	}
}

func newPool() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   tlsTimeout,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   idleConnsPerHost,
		IdleConnTimeout:       idleConnTime,
		ExpectContinueTimeout: time.Second,

		MaxResponseHeaderBytes: maxHeaderBytes,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: streamWindow},
	}
}
