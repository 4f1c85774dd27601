package web

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrBlocked says that an address is none of the public internet's.
var ErrBlocked = errors.New("the address is not public")

// A Guard keeps fetches away from the server's own network (S2-CONV-12). It
// judges the address a connection is about to be made to, after the name was
// resolved and on every redirect, so that no name can point past it.
type Guard struct {
	// Allow are prefixes that are let through although they are not public.
	Allow []netip.Prefix
}

// reserved are the blocks that the methods of netip.Addr do not tell apart from
// public ones (RFC 6890 and its registry).
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

// public6 is what is handed out of IPv6: all else is local, multicast or embeds
// an IPv4 address.
var public6 = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// Check returns ErrBlocked unless addr may be connected to.
func (g *Guard) Check(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	for _, p := range g.Allow {
		if p.Contains(addr) {
			return nil
		}
	}
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Is6() && !public6.Contains(addr) {
		return fmt.Errorf("%w: %v", ErrBlocked, addr)
	}
	for _, p := range reserved {
		if p.Contains(addr) {
			return fmt.Errorf("%w: %v", ErrBlocked, addr)
		}
	}
	return nil
}

// control is a [net.Dialer]'s: it sees every address right before the
// connection, when nothing can change it any more.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %v", ErrBlocked, err)
	}
	return g.Check(to.Addr())
}
