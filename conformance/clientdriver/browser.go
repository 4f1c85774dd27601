package clientdriver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// RedirectURL is a redirect URI for a client whose browser is [Browse].
//
// # Experimental
const RedirectURL = "http://127.0.0.1:7/callback"

// mostPages bounds the redirects from a login page to the client.
const mostPages = 10

// Browse is the person and the browser of a login: it opens the page of an authorization
// request, and follows redirects until one goes to the redirect URI of the request. It
// returns the query of that one, with the code; nothing has to listen there. A query with an
// error is returned with an error, too.
//
// # Experimental
func Browse(ctx context.Context, page string) (url.Values, error) {
	asked, err := url.Parse(page)
	if err != nil {
		return nil, errors.New("the login page has no usable URL")
	}
	back := asked.Query().Get("redirect_uri")
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for range mostPages {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return nil, errors.New("the login page has no usable URL")
		}
		resp, err := browser.Do(req)
		if err != nil {
			return nil, errors.New("the login page cannot be reached") // its URL has secrets
		}
		_ = resp.Body.Close() // what it says is for people
		to, err := resp.Location()
		switch {
		case err != nil:
			return nil, fmt.Errorf("the login page answers with status %d and does not go on", resp.StatusCode)
		case back == "" || !strings.HasPrefix(to.String(), back):
			page = to.String()
			continue
		case to.Query().Has("error"):
			return to.Query(), errors.New("the login failed: " + to.Query().Get("error"))
		}
		return to.Query(), nil
	}
	return nil, errors.New("the login page redirects without an end")
}
