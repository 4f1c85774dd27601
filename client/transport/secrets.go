package transport

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// leastSecret is the length of the shortest value that is hidden, unless its name indicates a
// secret: "debug" and "true" are everywhere.
const leastSecret = 6

// secretValues collects secrets.
type secretValues []string

func (s *secretValues) add(name, value string) {
	if len(value) >= leastSecret || mcperrors.SecretName(name) {
		*s = append(*s, value)
	}
}

// harmless are headers of callers without secrets.
var harmless = []string{"User-Agent", "Accept-Language", "Accept-Encoding", "Origin", "Traceparent", "Tracestate"}

func (s *secretValues) header(h http.Header) {
	for name, values := range h {
		if slices.Contains(harmless, http.CanonicalHeaderKey(name)) {
			continue
		}
		for _, v := range values {
			s.add(name, v)
			if scheme, credentials, ok := strings.Cut(v, " "); ok {
				s.add(name, strings.TrimSpace(credentials))
				if strings.EqualFold(scheme, "basic") {
					s.basic(strings.TrimSpace(credentials))
				}
			}
			if strings.EqualFold(name, "cookie") {
				for part := range strings.SplitSeq(v, ";") {
					_, value, _ := strings.Cut(part, "=")
					s.add(name, strings.TrimSpace(value))
				}
			}
		}
	}
}

// basic adds the user and the password in basic credentials.
func (s *secretValues) basic(encoded string) {
	plain, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return
	}
	user, password, _ := strings.Cut(string(plain), ":")
	s.add("password", string(plain))
	s.add("password", password)
	if password == "" {
		s.add("token", user)
	}
}

// url adds the user and the query of a URL.
func (s *secretValues) url(u *url.URL) {
	if u.User != nil {
		password, _ := u.User.Password()
		s.basic(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password)))
		s.add("password", base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		s.add(name, value)
		if plain, err := url.QueryUnescape(value); err == nil {
			s.add(name, plain)
		}
	}
}

// Secrets returns the values of headers, and the user and the query of the URL.
func (h *HTTP) Secrets() []string {
	var s secretValues
	s.header(h.Header)
	if u, err := url.Parse(h.URL); err == nil {
		s.url(u)
	}
	return s
}

// Secrets is the same as [HTTP.Secrets].
func (s *SSE) Secrets() []string { return (&HTTP{URL: s.URL, Header: s.Header}).Secrets() }

// Secrets returns the values in Env whose names indicate secrets. It does not include inherited
// variables.
func (c *Command) Secrets() []string {
	var s secretValues
	for _, kv := range c.Env {
		if name, value, _ := strings.Cut(kv, "="); mcperrors.SecretName(name) {
			s.add(name, value)
		}
	}
	return s
}

// Secrets returns the secrets of the connection: the ids of the session and of the last lost
// ones, and recent values of HeaderFunc.
func (c *httpConn) Secrets() []string {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	var s secretValues
	s.url(c.url)
	s.add("session-id", c.session.id)
	if c.session.before != nil {
		for _, id := range *c.session.before {
			s.add("session-id", id)
		}
	}
	if c.asking != nil {
		s = append(s, c.asking.sent.values()...)
	}
	return s
}

// maxSentSecrets limits the caller secrets that are kept: those that were sent last.
const maxSentSecrets = 256

// sentSecrets are secrets that become known when they are sent.
type sentSecrets struct {
	mu    sync.Mutex
	last  map[string]uint64 // when each value was sent last
	count uint64
}

// note records the secrets in the headers of a request.
func (s *sentSecrets) note(h http.Header) {
	var values secretValues
	values.header(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]uint64{}
	}
	s.count++
	for _, v := range values {
		s.last[v] = s.count
	}
	for len(s.last) > maxSentSecrets {
		oldest, when := "", s.count+1
		for v, sent := range s.last {
			if sent < when {
				oldest, when = v, sent
			}
		}
		delete(s.last, oldest)
	}
}

// values returns the secrets in sorted order.
func (s *sentSecrets) values() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.last))
}

// Secrets returns the secrets of the connection: the URL that the server named has the id of its
// session.
func (c *sseConn) Secrets() []string { return c.h.Secrets() }
