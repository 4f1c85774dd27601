package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
)

// The limits of a fetch (tools.md §4.7).
const (
	// MaxBody is how large a fetched document may be, decompressed.
	MaxBody = 50 << 20
	// MaxRedirects is how often a server may point elsewhere.
	MaxRedirects = 5
	// MaxURL is how long a URL may be, in bytes.
	MaxURL = 2048
)

// What can be wrong with a fetch, beside the network and ErrBlocked.
var (
	ErrURL       = errors.New("not a URL that is fetched")
	ErrRedirects = fmt.Errorf("more than %d redirects", MaxRedirects)
	ErrTooLarge  = fmt.Errorf("the document is over %d MiB", MaxBody>>20)
	// ErrEncoding is an encoding that was not asked for, ErrEncoded a document that
	// does not have the one it claims.
	ErrEncoding = errors.New("the document is in an encoding that is not supported")
	ErrEncoded  = errors.New("the document is not in the encoding it claims")
)

// A StatusError is an answer that is not the document.
type StatusError struct{ Code int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answered with status %d", e.Code)
}

// A Resource is what was fetched.
type Resource struct {
	// URL is where the redirects ended.
	URL *url.URL
	// ContentType is the header of that name; MIMEType is its type alone.
	ContentType, MIMEType string
	Body                  []byte
}

// Filename is the last part of the URL's path, or the host's name.
func (r *Resource) Filename() string {
	if base := path.Base(r.URL.Path); base != "." && base != "/" {
		return base
	}
	return r.URL.Hostname()
}

// A Fetcher fetches documents past a guard.
type Fetcher struct {
	client *http.Client
	most   int64 // MaxBody
}

// NewFetcher returns a fetcher that connects where guard lets it.
func NewFetcher(guard *Guard) *Fetcher {
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: guard.control}
	return &Fetcher{most: MaxBody, client: &http.Client{
		Transport: &http.Transport{
			// No proxy: it would resolve names past the guard.
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true, // documents of one server are rarely fetched in a row
			TLSHandshakeTimeout:    30 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > MaxRedirects {
				return ErrRedirects
			}
			return checkURL(req.URL)
		},
	}}
}

// ParseURL returns the URL to fetch, or ErrURL, or ErrBlocked for an address in
// another form than a.b.c.d.
func ParseURL(text string) (*url.URL, error) {
	if len(text) > MaxURL {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrURL, MaxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it does not parse", ErrURL)
	}
	return u, checkURL(u)
}

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w: only http and https", ErrURL)
	case u.Hostname() == "":
		return fmt.Errorf("%w: it has no host", ErrURL)
	case !validPort(u.Port()):
		return fmt.Errorf("%w: there is no such port", ErrURL)
	case numeric(u.Hostname()):
		return fmt.Errorf("%w: %v", ErrBlocked, "an address in another form than a.b.c.d")
	case u.User != nil:
		return fmt.Errorf("%w: it holds credentials", ErrURL)
	}
	return nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// numeric says that a host is a number, or ends in one, as browsers and some
// resolvers read addresses: 2130706433 and 0x7f.1 are 127.0.0.1. No name on the
// internet ends in a number.
func numeric(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	host = strings.TrimSuffix(host, ".")
	_, err := strconv.ParseUint(host[strings.LastIndexByte(host, '.')+1:], 0, 64)
	return err == nil
}

// Fetch fetches u.
func (f *Fetcher) Fetch(ctx context.Context, u *url.URL) (*Resource, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrURL, err)
	}
	req.Header.Set("User-Agent", "mainstay-refserver")
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.5")
	res, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // it was read, or is not wanted
	if res.StatusCode != http.StatusOK {
		return nil, &StatusError{res.StatusCode}
	}
	if res.ContentLength > f.most {
		return nil, ErrTooLarge
	}
	plain, err := decoded(res)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(plain, f.most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > f.most {
		return nil, ErrTooLarge
	}
	kind := res.Header.Get("Content-Type")
	mediaType, _, err := mime.ParseMediaType(kind)
	if err != nil {
		mediaType, _, _ = strings.Cut(strings.ToLower(kind), ";")
	}
	return &Resource{URL: res.Request.URL, ContentType: kind, MIMEType: strings.TrimSpace(mediaType), Body: body}, nil
}
