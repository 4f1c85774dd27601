package auth

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/auth/internal/store"
)

const helpNoMethod = "register a client there whose secret this program has, and set it with WithClient, or ask the operator"

// learned returns how the configured client authenticates, if a record shows that only the form
// worked at a server that lists no methods. "" leaves the choice to the metadata.
func (c *config) learned(r store.Record) string {
	if r.Client.Method == grant.MethodPost && c.clientSecret != "" && len(r.Server.TokenAuthMethods) == 0 {
		return grant.MethodPost
	}
	return ""
}

// method returns the method of an earlier token of the configured client, see [config.learned].
func (c *config) method(ctx context.Context, s *site) string {
	if c.clientSecret == "" || len(s.server.TokenEndpointAuthMethods) > 0 {
		return ""
	}
	r, err := c.store.Load(ctx, s.key(c.clientID))
	if err != nil {
		return "" // the methods are tried again
	}
	return c.learned(r)
}

// authenticates reports why this program cannot authenticate at the authorization server, so that
// the login fails before a person is asked. Many servers accept public clients without listing
// "none".
func (s *site) authenticates() error {
	listed, cfg := s.server.TokenEndpointAuthMethods, s.cfg
	if len(listed) == 0 {
		return nil
	}
	if cfg.clientID != "" && (cfg.clientSecret != "" || cfg.key != nil) {
		_, err := grant.ChooseMethod(listed, cfg.clientSecret != "", cfg.key != nil)
		return err
	}
	if !slices.ContainsFunc(listed, func(method string) bool {
		return method == grant.MethodNone || method == grant.MethodBasic || method == grant.MethodPost
	}) {
		return fmt.Errorf("%w: the server supports %s, and this program has no key", ErrNoClientMethod, fetch.Printable(strings.Join(listed, " ")))
	}
	return nil
}
