package proxy

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Bounds of what all hosts of a [Handler] may give it to do at once. Those at one address that is
// not loopback may have a quarter of each.
const (
	maxReading = 64 << 20  // bytes of messages that are being read
	maxWorking = 256 << 20 // bytes of messages that are being read or worked on
)

// load is what the hosts of a [Handler] have given it to do.
type load struct {
	mu               sync.Mutex
	reading, working int64
	of               map[string]*share // by address
}

// share is the part of one address.
type share struct {
	requests int // without a session
	working  int64
}

// addressOf returns the address of a host, "" for one that all hosts of this machine have.
func addressOf(r *http.Request) string {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	if ip := net.ParseIP(address); ip == nil || ip.IsLoopback() {
		return ""
	}
	return address
}

// add adds to the share of an address, and to the sum. Requires l.mu.
func (l *load) add(address string, requests int, bytes int64) {
	l.working += bytes
	if address == "" {
		return
	}
	s := l.of[address]
	if s == nil {
		if l.of == nil {
			l.of = map[string]*share{}
		}
		s = &share{}
		l.of[address] = s
	}
	s.requests += requests
	s.working += bytes
	if *s == (share{}) {
		delete(l.of, address)
	}
}

// share returns the part of an address. Requires l.mu.
func (l *load) share(address string) share {
	if s := l.of[address]; s != nil {
		return *s
	}
	return share{}
}

// read makes room for a message that is to be read, nil if there is none.
func (l *load) read(address string, size int64) *body {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading+size > maxReading || l.working+size > maxWorking || address != "" && l.share(address).working+size > maxWorking/4 {
		return nil
	}
	l.reading += size
	l.add(address, 0, size)
	b := &body{load: l, address: address, size: size}
	b.users.Store(1)
	return b
}

// enter counts a request without a session, and returns false if its address has too many.
func (l *load) enter(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if address != "" && l.share(address).requests >= maxOpen/4 {
		return false
	}
	l.add(address, 1, 0)
	return true
}

// exit removes a request that enter has counted.
func (l *load) exit(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(address, -1, 0)
}

// body is a message that is being read or worked on.
type body struct {
	load    *load
	address string
	size    int64
	users   atomic.Int32
}

// bodyKey is the key of a context for the *body of its HTTP request.
type bodyKey struct{}

// isRead notes the true size of a message that was read.
func (b *body) isRead(size int64) {
	b.load.mu.Lock()
	defer b.load.mu.Unlock()
	b.load.reading -= b.size
	b.load.add(b.address, 0, size-b.size)
	b.size = size
}

// release ends one use of a message.
func (b *body) release() {
	if b.users.Add(-1) > 0 {
		return
	}
	b.load.mu.Lock()
	defer b.load.mu.Unlock()
	b.load.add(b.address, 0, -b.size)
}

// keepBody uses the message of an HTTP request until release is called: a call outlives its
// connection.
func keepBody(ctx context.Context) (release func()) {
	b, _ := ctx.Value(bodyKey{}).(*body)
	b.users.Add(1)
	return b.release
}
