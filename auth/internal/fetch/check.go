package fetch

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL bounds a URL. Authorization endpoints with a query stay far below it.
const maxURL = 4096

// Check returns an error if the client would not request a URL, as far as that is known
// without the network. The scheme must be https, or http to this machine if that is
// allowed. A user name or a fragment is an error. The guard must allow an address in
// the URL. The error is a [*BlockedError] or a [*URLError].
func (c *Client) Check(url string) error {
	_, err := c.check(url)
	return err
}

func (c *Client) check(text string) (*url.URL, error) {
	refuse := func(reason string) (*url.URL, error) {
		return nil, &URLError{URL: Show(text), Reason: reason}
	}
	if len(text) > maxURL {
		return refuse("it is longer than " + strconv.Itoa(maxURL) + " bytes")
	}
	u, err := url.Parse(text)
	if err != nil {
		return refuse("it does not parse")
	}
	host := u.Hostname()
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("its scheme is not https")
	case u.Opaque != "" || host == "":
		return refuse("it has no host")
	case u.User != nil:
		return refuse("it has a user name")
	case strings.Contains(text, "#"):
		return refuse("it has a fragment")
	case !validPort(u):
		return refuse("there is no such port")
	case strings.Contains(host, "%"):
		return refuse("its address has a zone")
	case isNumeric(host):
		return refuse("its host is an IP address in a nonstandard notation")
	}
	local := isLocal(host)
	if _, err := netip.ParseAddr(host); err == nil {
		if blocked := c.guard.judge(host, local); blocked != nil {
			blocked.URL = Show(text)
			return nil, blocked
		}
	}
	if local && !c.guard.loopback {
		return nil, &BlockedError{URL: Show(text), Address: Printable(host), Reason: loopback}
	}
	if u.Scheme == "http" && !local {
		return refuse("its scheme is not https")
	}
	return u, nil
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// isNumeric reports whether a host ends in a number. Some resolvers read such a host as
// an address: 2130706433 and 0x7f.1 are 127.0.0.1. No name on the internet ends in a
// number.
func isNumeric(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil {
		return true
	}
	_, err := strconv.ParseUint(last, 10, 64) // 08 and 09 are numbers, too
	return err == nil
}
