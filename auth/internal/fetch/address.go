package fetch

import (
	"net/netip"
)

// The kinds of address that are refused, as [BlockedError] names them. Only
// loopback and private can be allowed.
const (
	loopback  = "loopback"
	private   = "private"
	linkLocal = "link-local"
	metadata  = "cloud metadata service"
	reserved  = "not a public address"
	multicast = "multicast"
)

type network struct {
	prefix netip.Prefix
	kind   string
}

// networks has the addresses that are not public, from the special-purpose
// registries of IANA. The first match counts. All of IPv6 outside 2000::/3 that
// is not listed is reserved, too.
//
// The metadata services of clouds come first. They give credentials to every client
// that can connect, so allowing private addresses does not allow them.
var networks = []network{
	{netip.MustParsePrefix("169.254.169.254/32"), metadata}, // AWS, Azure, Google, …
	{netip.MustParsePrefix("169.254.170.0/23"), metadata},   // AWS: credentials of containers
	{netip.MustParsePrefix("168.63.129.16/32"), metadata},   // Azure
	{netip.MustParsePrefix("100.100.100.200/32"), metadata}, // Alibaba
	{netip.MustParsePrefix("192.0.0.192/32"), metadata},     // Oracle
	{netip.MustParsePrefix("fd00:ec2::/32"), metadata},      // AWS
	{netip.MustParsePrefix("fd20:ce::/32"), metadata},       // Google

	{netip.MustParsePrefix("0.0.0.0/8"), reserved}, // this host: Linux connects to itself
	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("100.64.0.0/10"), private}, // carrier-grade NAT, VPNs
	{netip.MustParsePrefix("127.0.0.0/8"), loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.0.0.0/24"), reserved},
	{netip.MustParsePrefix("192.0.2.0/24"), reserved}, // documentation
	{netip.MustParsePrefix("192.88.99.0/24"), reserved},
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("198.18.0.0/15"), reserved},   // benchmarks
	{netip.MustParsePrefix("198.51.100.0/24"), reserved}, // documentation
	{netip.MustParsePrefix("203.0.113.0/24"), reserved},  // documentation
	{netip.MustParsePrefix("224.0.0.0/4"), multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), reserved}, // and broadcast

	{netip.MustParsePrefix("::1/128"), loopback},
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fec0::/10"), private}, // site-local, deprecated
	{netip.MustParsePrefix("fe80::/10"), linkLocal},
	{netip.MustParsePrefix("ff00::/8"), multicast},
	{netip.MustParsePrefix("64:ff9b:1::/48"), private}, // local NAT64
	{netip.MustParsePrefix("2001::/23"), reserved},     // Teredo, ORCHID, benchmarks, …
	{netip.MustParsePrefix("2001:db8::/32"), reserved}, // documentation
	{netip.MustParsePrefix("3fff::/20"), reserved},     // documentation
}

var (
	global6 = netip.MustParsePrefix("2000::/3")
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4  = netip.MustParsePrefix("2002::/16")
)

// kindOf returns the kind of an address that is not public, or "". An IPv6 address that
// contains an IPv4 address has the kind of that one, because packets go there.
func kindOf(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if !a.IsValid() {
		return reserved
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return kindOf(netip.AddrFrom4([4]byte(b[12:16])))
	case sixTo4.Contains(a):
		return kindOf(netip.AddrFrom4([4]byte(b[2:6])))
	}
	for _, n := range networks {
		if n.prefix.Contains(a) {
			return n.kind
		}
	}
	if a.Is6() && !global6.Contains(a) {
		return reserved
	}
	return ""
}
