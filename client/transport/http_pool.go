package transport

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Times of the default pool and its size: idle connections are
// cheap, and a burst of calls must not reconnect.
const (
	dialTimeout  = 5 * time.Second
	tlsTimeout   = 5 * time.Second
	idleConnTime = 90 * time.Second
	// maxHeaderBytes bounds the headers of an answer.
	maxHeaderBytes   = 64 << 10
	idleConnsPerHost = 10_000
	// streamWindow is what HTTP/2 takes of an answer that is not read, because it
	// waits for room. The default is 4 MiB.
	streamWindow = 256 << 10
)

// shared is the pool of all connections that have no round tripper of their
// own, so that clients which do nothing hold no sockets beside those that do.
var shared sharedPool

// sharedPool is there while anybody uses it.
type sharedPool struct {
	mu    sync.Mutex
	users int
	rt    *http.Transport
}

// join returns the pool. Each user leaves it once.
func (p *sharedPool) join() *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == 0 {
		p.rt = newPool()
	}
	p.users++
	return p.rt
}

// leave closes what is idle when the last one leaves.
func (p *sharedPool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 {
		// It also closes what becomes idle after this.
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
