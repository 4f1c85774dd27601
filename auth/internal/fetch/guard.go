package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"
)

// guard checks the addresses of connections. It checks each address that is dialed,
// after the name was resolved. So neither a name that resolves differently the second
// time (DNS rebinding) nor a nonstandard notation of an address can circumvent it.
type guard struct {
	loopback, private bool
	resolver          *net.Resolver // nil: the default
}

// refuse returns why the guard refuses an address, or "".
func (g guard) refuse(a netip.Addr) string {
	kind := kindOf(a)
	if kind == loopback && g.loopback || kind == private && g.private {
		return ""
	}
	return kind
}

// judge returns a *BlockedError for an address that the guard refuses. local is set if
// the URL's host names this machine: then all other addresses are refused, because such
// URLs may be http.
func (g guard) judge(address string, local bool) *BlockedError {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return &BlockedError{Address: Printable(address), Reason: reserved}
	}
	reason := g.refuse(a)
	if reason == "" && local && kindOf(a) != loopback {
		reason = "not this machine, though the host is " + `"localhost"`
	}
	if reason == "" {
		return nil
	}
	return &BlockedError{Address: a.String(), Reason: reason}
}

// lookupTime limits judgeName: behind a proxy, many machines cannot resolve names.
const lookupTime = 2 * time.Second

// judgeName returns a *BlockedError if this machine resolves a name to an address that
// the guard refuses. The proxy must check names that this machine cannot resolve.
func (g guard) judgeName(ctx context.Context, host string) *BlockedError {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	r := g.resolver
	if r == nil {
		r = net.DefaultResolver
	}
	found, err := r.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	for _, a := range found {
		if b := g.judge(a.String(), isLocal(host)); b != nil {
			return b
		}
	}
	return nil
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialer returns a dial function of the guard. base is the caller's own, or nil.
func (g guard) dialer(base dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		d := net.Dialer{Timeout: 10 * time.Second, Resolver: g.resolver}
		if ctx.Value(proxyKey{}) != nil {
			if base != nil {
				return base(ctx, network, address)
			}
			return d.DialContext(ctx, network, address)
		}
		host, _, err := net.SplitHostPort(address)
		local := err == nil && isLocal(host)
		if base != nil {
			return g.dialBase(ctx, base, network, address, local)
		}
		// For several addresses the dialer returns its first error. A refusal is
		// more useful.
		var mu sync.Mutex
		var blocked *BlockedError
		d.Control = func(_, address string, _ syscall.RawConn) error {
			b := g.judge(address, local)
			if b == nil {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			blocked = b
			return b
		}
		conn, err := d.DialContext(ctx, network, address)
		if err == nil {
			return conn, nil
		}
		mu.Lock()
		defer mu.Unlock()
		if blocked != nil {
			return nil, blocked
		}
		return nil, err
	}
}

// dialBase dials with the caller's function. The guard cannot see the addresses that it
// dials, so it checks the address of the connection before anything is sent.
func (g guard) dialBase(ctx context.Context, base dialFunc, network, address string, local bool) (net.Conn, error) {
	conn, err := base(ctx, network, address)
	if err != nil {
		return nil, err
	}
	remote, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	if !isTCP {
		return conn, nil
	}
	if b := g.judge(remote.String(), local); b != nil {
		return nil, errors.Join(b, conn.Close())
	}
	return conn, nil
}

// isLocal reports whether a host of a URL is this machine by its name or
// address (RFC 6761 §6.3 for names below localhost).
func isLocal(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return kindOf(a) == loopback
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
