package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	fetchTimeout = 5 * time.Second // for metadata and keys together
	maxDocument  = 512 << 10       // bytes
	maxKeys      = 100
	freshKeys    = 5 * time.Minute  // then they are fetched again
	staleKeys    = time.Hour        // how long they are used while the issuer is down
	refetchKeys  = 10 * time.Second // between two fetches, whatever tokens name
	firstKeys    = time.Second      // between two fetches while there are none
)

// keys are the public keys of an issuer. They are fetched when a token needs them.
type keys struct {
	issuer string
	log    *slog.Logger
	client *http.Client

	mu      sync.Mutex
	set     []jose.JSONWebKey
	fetched time.Time // when the set came
	asked   time.Time // when the last fetch ended
	failure error     // of the last fetch
	flight  *flight   // the fetch that runs
}

// flight is a fetch that several requests wait for.
type flight struct {
	done chan struct{}
	set  []jose.JSONWebKey
	err  error
}

// unavailableError says that the keys of the issuer cannot be had.
type unavailableError struct{ err error }

func (e *unavailableError) Error() string { return e.err.Error() }

// Unwrap returns what failed.
func (e *unavailableError) Unwrap() error { return e.err }

func newKeys(issuer string, log *slog.Logger) *keys {
	return &keys{issuer: issuer, log: log, client: &http.Client{
		// A connection is used once in minutes: none is kept open for that.
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the issuer is a fixed place (RFC 8414 §3.1)
		},
	}}
}

// find returns the keys that may have made a signature: all with the name and the
// algorithm. It waits for a fetch if it needs one, as long as ctx lives. None and
// no error means that the issuer has no such key.
func (k *keys) find(ctx context.Context, kid, algorithm string) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	found := matching(k.set, kid, algorithm)
	age, pause := time.Since(k.fetched), refetchKeys
	if k.set == nil {
		pause = firstKeys
	}
	switch {
	case len(found) > 0 && age < freshKeys:
		k.mu.Unlock()
		return found, nil
	case k.flight == nil && !k.asked.IsZero() && time.Since(k.asked) < pause: // too early to ask again
		failure := k.failure
		k.mu.Unlock()
		return settle(found, age, failure)
	}
	f := k.join(ctx)
	k.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, &unavailableError{ctx.Err()}
	}
	if f.err != nil {
		return settle(found, age, f.err)
	}
	return matching(f.set, kid, algorithm), nil
}

// settle decides about keys that could not be fetched again: an issuer that is
// down for a while shall not lock everybody out.
func settle(found []jose.JSONWebKey, age time.Duration, failure error) ([]jose.JSONWebKey, error) {
	if failure == nil || len(found) > 0 && age < staleKeys {
		return found, nil
	}
	return nil, &unavailableError{failure}
}

// join returns the fetch that runs, or begins one. k.mu is held.
func (k *keys) join(ctx context.Context) *flight {
	if k.flight != nil {
		return k.flight
	}
	f := &flight{done: make(chan struct{})}
	k.flight = f
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout) // it is for all that wait
	go func() {
		defer cancel()
		f.set, f.err = k.fetch(ctx)
		if f.err != nil {
			k.log.LogAttrs(ctx, slog.LevelError, "authorization_server_unavailable",
				slog.String("issuer", k.issuer), slog.String("error", f.err.Error()))
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.asked, k.failure, k.flight = time.Now(), f.err, nil
		if f.err == nil {
			k.set, k.fetched = f.set, k.asked
		}
		close(f.done)
	}()
	return f
}

// matching returns the keys of a set that fit a signature. A token without a kid
// may be signed with any.
func matching(set []jose.JSONWebKey, kid, algorithm string) (found []jose.JSONWebKey) {
	for _, key := range set {
		if (kid == "" || key.KeyID == kid) && (key.Algorithm == "" || key.Algorithm == algorithm) {
			found = append(found, key)
		}
	}
	return found
}

// fetch finds the metadata of the issuer and reads the keys that they name.
func (k *keys) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	place, err := k.place(ctx)
	if err != nil {
		return nil, err
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if _, err := k.read(ctx, place, &document); err != nil {
		return nil, err
	}
	set := make([]jose.JSONWebKey, 0, min(len(document.Keys), maxKeys))
	for _, raw := range document.Keys {
		var key jose.JSONWebKey
		// Keys of kinds that are unknown are for others (RFC 7517 §5), and so are
		// secret ones.
		if json.Unmarshal(raw, &key) != nil || !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
			continue
		}
		if set = append(set, key); len(set) == maxKeys {
			break
		}
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("%s has no key for signatures", place)
	}
	return set, nil
}

// place returns the URL of the keys.
func (k *keys) place(ctx context.Context) (string, error) {
	u, err := url.Parse(k.issuer)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	root := u.Scheme + "://" + u.Host
	for _, at := range []string{ // RFC 8414 §3 and §5, OpenID Connect Discovery §4
		root + "/.well-known/oauth-authorization-server" + path,
		root + "/.well-known/openid-configuration" + path,
		root + path + "/.well-known/openid-configuration",
	} {
		var document struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		status, err := k.read(ctx, at, &document)
		switch {
		case status == http.StatusNotFound:
			continue
		case err != nil:
			return "", err
		case document.Issuer != k.issuer: // RFC 8414 §3.3
			return "", fmt.Errorf("%s is of the issuer %q, not %q", at, document.Issuer, k.issuer)
		}
		place, err := url.Parse(document.Keys)
		if err != nil || place.Host == "" || !protected(place) {
			return "", fmt.Errorf("%s names no jwks_uri with https", at)
		}
		return document.Keys, nil
	}
	return "", errors.New("it has no metadata at any of the well-known places")
}

// read fetches a document. It returns the status if there was an answer.
func (k *keys) read(ctx context.Context, at string, into any) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Accept", "application/json")
	res, err := k.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, fmt.Errorf("%s answered %s", at, res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	switch {
	case err != nil:
		return res.StatusCode, fmt.Errorf("%s: %w", at, err)
	case len(body) > maxDocument:
		return res.StatusCode, fmt.Errorf("%s is larger than %d KiB", at, maxDocument>>10)
	}
	if json.Unmarshal(body, into) != nil {
		return res.StatusCode, fmt.Errorf("%s is not the JSON that it should be", at)
	}
	return res.StatusCode, nil
}
