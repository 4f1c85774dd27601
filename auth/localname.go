package auth

import (
	"errors"
	"net/url"

	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
)

// localName returns the help for metadata that names the same server on this machine
// differently, such as localhost for 127.0.0.1. They are different origins, and tokens of one
// are not sent to the other. It returns "" for other errors.
func localName(err error) (help string) {
	var other *discover.ResourceError
	if !errors.As(err, &other) {
		return ""
	}
	named, err := url.Parse(other.Resource)
	if err != nil {
		return ""
	}
	asked, err := url.Parse(other.Endpoint)
	if err != nil || named.Scheme != asked.Scheme || named.Port() != asked.Port() || named.Hostname() == asked.Hostname() ||
		!loopback.IsLoopback(named.Hostname()) || !loopback.IsLoopback(asked.Hostname()) {
		return ""
	}
	asked.Host = named.Host
	return "use " + asked.String() + ", which the server calls itself"
}
