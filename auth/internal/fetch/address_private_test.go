package fetch

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKindOf(t *testing.T) {
	for kind, addresses := range map[string][]string{
		"": {
			"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1", "169.253.255.255",
			"172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "223.255.255.255", "168.63.129.17",
			"2606:4700::1111", "2001:4860:4860::8888", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1",
		},
		private: {
			"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255",
			"fc00::1", "fdff::1", "fec0::1", "64:ff9b:1::a00:1",
			"::ffff:10.0.0.1", "::ffff:a00:1", "64:ff9b::10.0.0.1", "2002:a00:1::1", "2002:c0a8:101::1",
		},
		loopback:  {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"},
		linkLocal: {"169.254.0.1", "169.254.169.253", "169.254.255.255", "fe80::1", "fe80::1%eth0", "febf::1", "::ffff:169.254.1.1"},
		metadata: {
			"169.254.169.254", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::",
			"169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254",
		},
		multicast: {"224.0.0.1", "239.255.255.255", "ff02::1", "::ffff:224.0.0.1"},
		reserved: {
			"0.0.0.0", "0.1.2.3", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "240.0.0.1", "255.255.255.255",
			"::", "::10.0.0.1", "::2", "100::1", "2001::1", "2001:db8::1", "3fff::1", "4000::1", "64:ff9b::0.0.0.0", "64:ff9b:2::1", "fe00::1",
			"::ffff:0:1.1.1.1", // SIIT, not 4-in-6
		},
	} {
		for _, address := range addresses {
			t.Run(address, func(t *testing.T) {
				require.Equal(t, kind, kindOf(netip.MustParseAddr(address)))
			})
		}
	}
	require.Equal(t, reserved, kindOf(netip.Addr{}))
}

func TestWhatMayBeAllowed(t *testing.T) {
	kinds := map[string]string{
		private: "10.0.0.1", loopback: "127.0.0.1", linkLocal: "169.254.0.1", metadata: "fd00:ec2::254", multicast: "224.0.0.1", reserved: "0.0.0.0",
	}
	for kind, address := range kinds {
		t.Run(kind, func(t *testing.T) {
			a := netip.MustParseAddr(address)
			require.Equal(t, kind, guard{}.refuse(a))
			require.Equal(t, kind == private, guard{private: true}.refuse(a) == "")
			require.Equal(t, kind == loopback, guard{loopback: true}.refuse(a) == "")
		})
	}
}
