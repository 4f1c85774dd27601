package fetch

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// names is a DNS server in memory.
type names struct{ addresses []netip.Addr }

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go n.serve(theirs)
		return ours, nil
	}}
}

// serve answers queries on a stream, where a length is before each message.
func (n *names) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for {
		var size uint16
		if binary.Read(conn, binary.BigEndian, &size) != nil {
			return
		}
		query := make([]byte, size)
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		end := 12
		for query[end] != 0 {
			end += int(query[end]) + 1
		}
		end += 5
		kind := binary.BigEndian.Uint16(query[end-4:])
		var count uint16
		var records []byte
		for _, a := range n.addresses {
			if (kind == 1) != a.Is4() || (kind == 28) != a.Is6() {
				continue
			}
			count++
			records = append(records, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(a.AsSlice())))
			records = append(records, a.AsSlice()...)
		}
		answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, byte(count >> 8), byte(count), 0, 0, 0, 0}, query[12:end]...)
		answer = append(answer, records...)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

func TestNamesAreJudgedByTheirAddressesAtDialTime(t *testing.T) {
	for _, tt := range []struct {
		name      string
		guard     guard
		host      string
		addresses []string
		address   string
		reason    string
	}{
		{"loopback", guard{}, "a.test", []string{"127.0.0.1"}, "127.0.0.1", loopback},
		{"loopback 6", guard{}, "a.test", []string{"::1"}, "::1", loopback},
		{"private", guard{loopback: true}, "a.test", []string{"10.0.0.1"}, "10.0.0.1", private},
		{"several", guard{}, "a.test", []string{"10.0.0.1", "10.0.0.2"}, "", private},
		{"metadata service", guard{loopback: true, private: true}, "a.test", []string{"169.254.169.254"}, "169.254.169.254", metadata},
		{"NAT64", guard{}, "a.test", []string{"64:ff9b::a00:1"}, "64:ff9b::a00:1", private},
		{"unspecified", guard{loopback: true}, "a.test", []string{"0.0.0.0"}, "0.0.0.0", reserved},
		{"localhost elsewhere", guard{loopback: true, private: true}, "x.localhost", []string{"10.0.0.1"}, "10.0.0.1", `not this machine, though the host is "localhost"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dns := &names{addresses: []netip.Addr{netip.MustParseAddr("1.1.1.1")}}
			tt.guard.resolver = dns.resolver()
			// The name is allowed when it is checked before the dial.
			before, err := tt.guard.resolver.LookupHost(t.Context(), tt.host+".")
			require.NoError(t, err)
			require.Equal(t, []string{"1.1.1.1"}, before)

			dns.addresses = nil
			for _, a := range tt.addresses {
				dns.addresses = append(dns.addresses, netip.MustParseAddr(a))
			}
			_, err = tt.guard.dialer(nil)(t.Context(), "tcp", tt.host+".:443")
			var blocked *BlockedError
			require.ErrorAs(t, err, &blocked)
			require.Equal(t, tt.reason, blocked.Reason)
			if tt.address != "" {
				require.Equal(t, tt.address, blocked.Address)
			}
		})
	}
}

func TestAnAllowedAddressBesideABlockedOneIsUsed(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	dns := &names{addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1")}}
	conn, err := guard{loopback: true, resolver: dns.resolver()}.dialer(nil)(t.Context(), "tcp", "a.test.:"+port)
	require.NoError(t, err)
	require.Equal(t, l.Addr().String(), conn.RemoteAddr().String())
	require.NoError(t, conn.Close())
}

func TestABlockedAddressIsToldRatherThanAFailureOfAnother(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	for _, private := range []string{"10.0.0.1", "192.168.0.1"} {
		dns := &names{addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr(private)}}
		_, err = guard{loopback: true, resolver: dns.resolver()}.dialer(nil)(t.Context(), "tcp", "a.test.:"+port)
		var blocked *BlockedError
		require.ErrorAs(t, err, &blocked)
		require.Equal(t, private, blocked.Address)
	}
}

func TestAddressesInAnySpellingAreNotDialed(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "0", "2130706433", "0x7f.1", "127.1", "0177.0.0.1"} {
		t.Run(host, func(t *testing.T) {
			g := guard{resolver: (&names{addresses: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}).resolver()}
			_, err := g.dialer(nil)(t.Context(), "tcp", net.JoinHostPort(host, "443"))
			require.Error(t, err) // blocked, or not a name for Go's resolver
		})
	}
}

func TestLocalHosts(t *testing.T) {
	for _, host := range []string{"localhost", "LOCALHOST", "localhost.", "a.b.localhost", "127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"} {
		require.True(t, isLocal(host), host)
	}
	for _, host := range []string{"", "localhost.example.com", "notlocalhost", "10.0.0.1", "0.0.0.0", "example.com", "localhost.localdomain"} {
		require.False(t, isLocal(host), host)
	}
}

type refusing struct{ t *testing.T }

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) {
	r.t.Error("the request was sent")
	return nil, io.EOF
}

// A transport that the guard cannot check is not called for a name with a refused address.
func TestNamesAreLookedUpForAForeignTransport(t *testing.T) {
	c := New(Options{Transport: refusing{t}})
	c.guard.resolver = (&names{addresses: []netip.Addr{netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("10.0.0.1")}}).resolver()
	_, err := c.Get(t.Context(), "https://a.test./", nil)
	var blocked *BlockedError
	require.ErrorAs(t, err, &blocked)
	require.Equal(t, "10.0.0.1", blocked.Address)
}
