package api

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// foreign reports whether r came by the page of another site. The services
// listen where every page a user opens can reach them, also under a name that
// its owner makes point here (DNS rebinding): such a page is of the same site
// as far as its browser knows, but its requests bear that name.
func (s *service) foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return true
	}
	for _, origin := range r.Header.Values("Origin") {
		if origin != "http://"+r.Host && origin != "https://"+r.Host {
			return true
		}
	}
	return !s.named(r.Host)
}

// named reports whether host, with or without a port, is a name of this
// service: one of its Hosts, or loopback.
func (s *service) named(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	ip := net.ParseIP(host)
	if host == "localhost" || ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(s.Hosts, func(name string) bool {
		return strings.EqualFold(name, host) || ip != nil && ip.Equal(net.ParseIP(name))
	})
}
