package auth_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
)

const tenant = "11111111-2222-3333-4444-555555555555"

func entraID(t *testing.T) *play {
	p := &play{
		issuer: "https://login.microsoftonline.com/" + tenant + "/v2.0", client: "entra-client",
		page: "login.microsoftonline.com/" + tenant + "/oauth2/v2.0/authorize", token: "login.microsoftonline.com/" + tenant + "/oauth2/v2.0/token",
		renewable: func(asked url.Values) bool { return wants(asked, "offline_access") },
		refuses: func(asked url.Values) (string, string) {
			scopes := strings.Fields(asked.Get("scope"))
			of := func(scope string) bool {
				return strings.HasPrefix(scope, "api://tickets/") || scope == "offline_access"
			}
			switch {
			case asked.Has("resource"):
				return "invalid_target", "AADSTS9010010: The resource parameter does not match the requested scopes."
			case len(scopes) == 0 || !slices.ContainsFunc(scopes, of) || slices.ContainsFunc(scopes, func(s string) bool { return !of(s) }):
				return "invalid_scope", "AADSTS70011: The scope is not valid."
			case asked.Get("prompt") == "consent":
				return "access_denied", "AADSTS90094: An administrator must consent."
			}
			return "", ""
		},
		refusesForm: func(form url.Values) (string, string) {
			if form.Has("resource") {
				return "invalid_request", "AADSTS901002: The 'resource' request parameter is not supported."
			}
			return "", ""
		},
	}
	p.at("login.microsoftonline.com/"+tenant+"/v2.0/.well-known/openid-configuration", map[string]any{
		"scopes_supported": []string{"openid", "profile", "email", "offline_access"},
	})
	p.at("login.microsoftonline.com/common/v2.0/.well-known/openid-configuration", map[string]any{"issuer": "https://login.microsoftonline.com/{tenantid}/v2.0"})
	return p.start(t)
}

// none refuses no authorization request.
func none(url.Values) (code, description string) { return "", "" }

// only refuses scopes that a provider does not know.
func only(known ...string) func(url.Values) (string, string) {
	return func(asked url.Values) (string, string) {
		for _, scope := range strings.Fields(asked.Get("scope")) {
			if !slices.Contains(known, scope) {
				return "invalid_scope", "Unknown scope."
			}
		}
		return "", ""
	}
}

func amazonCognito(t *testing.T) *play {
	const pool = "cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Abc123"
	p := &play{
		issuer: "https://" + pool, client: "cognito-client", refuses: only("read", "write"),
		page: "acme.auth.eu-west-1.amazoncognito.com/oauth2/authorize", token: "acme.auth.eu-west-1.amazoncognito.com/oauth2/token",
	}
	return p.at(pool+"/.well-known/openid-configuration", map[string]any{"scopes_supported": []string{"openid", "email", "phone", "profile"}}).start(t)
}

func googleAccounts(t *testing.T) *play {
	const calendar = "https://www.googleapis.com/auth/calendar"
	p := &play{
		issuer: "https://accounts.google.com", client: "google-client", secret: "google-planted-secret",
		page: "accounts.google.com/o/oauth2/v2/auth", token: "oauth2.googleapis.com/token",
		refuses:   only(calendar, calendar+".readonly"),
		renewable: func(asked url.Values) bool { return asked.Get("access_type") == "offline" },
	}
	p.at("accounts.google.com/.well-known/openid-configuration", map[string]any{"code_challenge_methods_supported": []string{"plain", "S256"}}).start(t)
	p.Resource["authorization_servers"] = []string{p.issuer + "/"} // as Google's own MCP servers spell it
	return p
}

func auth0Tenant(t *testing.T) *play {
	p := &play{
		issuer: "https://acme.eu.auth0.com/", client: "auth0-client", refuses: none,
		page: "acme.eu.auth0.com/authorize", token: "acme.eu.auth0.com/oauth/token",
		renewable: func(asked url.Values) bool { return wants(asked, "offline_access") },
		elsewhere: func(asked url.Values) bool { return asked.Get("audience") != "https://tickets.example.com/mcp" },
	}
	return p.at("acme.eu.auth0.com/.well-known/openid-configuration", map[string]any{
		"code_challenge_methods_supported": []string{"S256", "plain"}, "scopes_supported": []string{"openid", "offline_access"},
	}).start(t)
}

func atlassianCloud(t *testing.T) *play {
	p := &play{
		issuer: "https://auth.atlassian.com", client: "atlassian-client", secret: "atlassian-planted-secret",
		page: "auth.atlassian.com/authorize", token: "auth.atlassian.com/oauth/token",
		renewable: func(asked url.Values) bool { return wants(asked, "offline_access") },
		refuses: func(asked url.Values) (string, string) {
			if asked.Get("audience") != "api.atlassian.com" || asked.Get("prompt") != "consent" {
				return "invalid_request", "The parameter audience is missing."
			}
			return only("read:jira-work", "write:jira-work", "offline_access")(asked)
		},
	}
	return p.at("auth.atlassian.com/.well-known/openid-configuration", map[string]any{"code_challenge_methods_supported": []string{"S256", "plain"}}).start(t)
}

func oktaOrg(t *testing.T) *play {
	const server = "acme.okta.com/oauth2/default"
	p := &play{
		issuer: "https://" + server, client: "okta-client", register: "acme.okta.com/oauth2/v1/clients", refuses: only("read", "write", "offline_access"),
		page: server + "/v1/authorize", token: server + "/v1/token",
		renewable: func(asked url.Values) bool { return wants(asked, "offline_access") },
	}
	return p.at("acme.okta.com/.well-known/oauth-authorization-server/oauth2/default", map[string]any{
		"code_challenge_methods_supported": []string{"S256"}, "scopes_supported": []string{"openid", "offline_access"},
	}).start(t)
}

func keycloakRealm(t *testing.T) *play {
	const realm = "sso.example.com/realms/acme"
	p := &play{
		issuer: "https://" + realm, register: realm + "/clients-registrations/openid-connect", open: true, refuses: none,
		page: realm + "/protocol/openid-connect/auth", token: realm + "/protocol/openid-connect/token",
		elsewhere: func(asked url.Values) bool { return !wants(asked, "tickets") },
	}
	p.at(realm+"/.well-known/openid-configuration", map[string]any{
		"code_challenge_methods_supported": []string{"plain", "S256"}, "authorization_response_iss_parameter_supported": true,
	}).start(t)
	p.Callback = func(back url.Values) { back.Set("iss", p.issuer) }
	return p
}

// what is one option that a login lacks.
type lack struct {
	option int    // its place in the options of the provider
	names  string // what the error names
	end    bool   // the login works until its token expires
}

var providers = map[string]struct {
	start   func(*testing.T) *play
	options []auth.Option
	more    string // a scope that a call may need in addition
	lacks   []lack
}{
	"Entra ID": {entraID, atEntraID(tenant, "entra-client"), "api://tickets/Tickets.Write", []lack{
		{option: 0, names: "WithClient"},
		{option: 1, names: "WithOnlyScopes"},
		{option: 2, names: `WithoutResource("https://login.microsoftonline.com/` + tenant + `/v2.0")`},
		{option: 3, names: `WithAssumedPKCE("https://login.microsoftonline.com/` + tenant + `/v2.0")`},
	}},
	"Cognito": {amazonCognito, atCognito("cognito-client"), "write", []lack{
		{option: 0, names: "WithClient"},
		{option: 1, names: `WithAssumedPKCE("https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Abc123")`},
	}},
	"Google": {googleAccounts, atGoogle("google-client", "google-planted-secret"), "https://www.googleapis.com/auth/calendar", []lack{
		{option: 0, names: "WithClient"},
		{option: 1, names: "WithIssuerSlash"},
		{option: 2, names: "WithOnlyScopes"},
		{option: 3, names: `WithAuthorizeParams("https://accounts.google.com", "access_type=offline", "prompt=consent")`, end: true},
	}},
	"Auth0": {auth0Tenant, atAuth0("auth0-client"), "write", []lack{
		{option: 0, names: "WithClient"},
		{option: 1, names: `WithAuthorizeParams("https://acme.eu.auth0.com/", "audience=API")`},
	}},
	"Atlassian": {atlassianCloud, atAtlassian("atlassian-client", "atlassian-planted-secret"), "write:jira-work", []lack{
		{option: 0, names: "WithClient"},
		{option: 1, names: "WithOnlyScopes"},
		{option: 2, names: `WithAuthorizeParams("https://auth.atlassian.com", "audience=api.atlassian.com", "prompt=consent")`},
	}},
	"Okta": {oktaOrg, atOkta("okta-client"), "write", []lack{
		{option: 0, names: "WithClient"},
	}},
	"Keycloak": {keycloakRealm, atKeycloak(), "write", []lack{
		{option: 1, names: "WithScopes"},
	}},
}

// TestProviders logs in at each provider with the options of its section, calls, needs one
// more scope, and has the token renewed, also by a program that has no options.
func TestProviders(t *testing.T) {
	t.Parallel()
	for name, row := range providers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := row.start(t)
			folder := t.TempDir() + "/tokens"
			store, err := auth.OpenFiles(folder)
			require.NoError(t, err)
			opts := slices.Concat(row.options, p.reach(), []auth.Option{auth.WithStore(store)})
			c, err := dial(t, p.World, auth.Login(opts...))
			require.NoError(t, err)
			require.NoError(t, once(t.Context(), c))
			require.Equal(t, 1, p.Asked("authorize"))

			p.Needs = row.more
			require.NoError(t, once(t.Context(), c))
			require.Equal(t, 2, p.Asked("authorize"))
			pages, _ := p.asked()
			for _, scope := range strings.Fields(pages[0].Get("scope")) {
				require.True(t, wants(pages[1], scope), "%s is lost", scope)
			}
			require.True(t, wants(pages[1], row.more))

			p.Needs = ""
			p.Revoke()
			require.NoError(t, once(t.Context(), c))
			p.Revoke()
			later, err := dialThere(t.Context(), p.MCP.URL+"/mcp", folder, []auth.Option{auth.WithTransport(p.transport()), auth.WithoutLogin()})
			worked(t, later, err)
			require.Equal(t, 2, p.Asked("refresh_token"))
			require.Equal(t, 2, p.Asked("authorize"))

			pages, forms := p.asked()
			for _, asked := range pages {
				require.Equal(t, "S256", asked.Get("code_challenge_method"), "PKCE is always used")
				require.NotEmpty(t, asked.Get("code_challenge"))
				require.Equal(t, name != "Entra ID", asked.Has("resource"), "only Entra ID is an exception")
			}
			for _, form := range forms {
				require.Equal(t, name != "Entra ID", form.Has("resource"))
			}
		})
	}
}

// Without one of its options, a login fails with an error that names the option.
func TestProvidersWithoutAnOption(t *testing.T) {
	t.Parallel()
	for name, row := range providers {
		for _, lack := range row.lacks {
			t.Run(fmt.Sprintf("%s without %d", name, lack.option), func(t *testing.T) {
				t.Parallel()
				p := row.start(t)
				opts := slices.Delete(slices.Clone(row.options), lack.option, lack.option+1)
				store := auth.NewMemory()
				opts = slices.Concat(opts, p.reach(), []auth.Option{auth.WithStore(store)})
				_, err := dial(t, p.World, auth.Login(opts...))
				if lack.end {
					require.NoError(t, err)
					expire(t, store)
					_, err = dial(t, p.World, auth.Login(append(opts, auth.WithoutLogin())...))
					require.ErrorIs(t, err, auth.ErrNotLoggedIn)
				}
				require.ErrorContains(t, err, lack.names)
			})
		}
	}
}

// expire ends the access tokens of a store.
func expire(t *testing.T, store auth.Store) {
	t.Helper()
	keys, err := store.List(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, keys)
	for _, key := range keys {
		require.NoError(t, store.Update(t.Context(), key, func(r auth.Record) (auth.Record, error) {
			r.Token.Expiry = time.Now().Add(-time.Second)
			return r, nil
		}))
	}
}

// inspected runs an inspection, and returns its steps and what a login would do.
func inspected(t *testing.T, p *play, opts ...auth.Option) (steps []auth.Step, found *auth.Inspection, err error) {
	t.Helper()
	trace := auth.WithTrace(func(s auth.Step) { steps = append(steps, s) })
	found, err = auth.Inspect(t.Context(), p.MCP.URL+"/mcp", slices.Concat(opts, p.reach(), []auth.Option{trace})...)
	require.Zero(t, p.Asked("authorize"))
	return steps, found, err
}

// An inspection proposes the options that a provider needs, and shows each exception with its
// risk.
func TestProvidersInspected(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		start   func(*testing.T) *play
		options []auth.Option
		bare    []auth.Option // what an inspection of a registered client has
		helps   []string      // without the options
		fails   bool          // without the options
		givenUp int
	}{
		"Entra ID": {entraID, atEntraID(tenant, "entra-client"), []auth.Option{auth.WithClient("entra-client", "", "")}, []string{
			`this provider documents S256 without listing it: assume it with WithAssumedPKCE("https://login.microsoftonline.com/` + tenant + `/v2.0")`,
			`leave it out with WithoutResource("https://login.microsoftonline.com/` + tenant + `/v2.0")`,
			`choose another prompt with WithAuthorizeParams("https://login.microsoftonline.com/` + tenant + `/v2.0", "prompt=select_account")`,
		}, true, 2},
		"Cognito": {amazonCognito, atCognito("cognito-client"), []auth.Option{auth.WithClient("cognito-client", "", "")}, []string{
			`assume it with WithAssumedPKCE("https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Abc123")`,
		}, true, 1},
		"Google": {googleAccounts, atGoogle("google-client", "google-planted-secret"), []auth.Option{auth.WithClient("google-client", "x", ""), auth.WithIssuerSlash()}, []string{
			`ask for it with WithAuthorizeParams("https://accounts.google.com", "access_type=offline", "prompt=consent")`,
		}, false, 0},
		"Auth0": {auth0Tenant, atAuth0("auth0-client"), []auth.Option{auth.WithClient("auth0-client", "", "")}, []string{
			`name the API with WithAuthorizeParams("https://acme.eu.auth0.com/", "audience=API")`,
		}, false, 0},
		"Atlassian": {atlassianCloud, atAtlassian("atlassian-client", "x"), []auth.Option{auth.WithClient("atlassian-client", "x", "")}, []string{
			`name it with WithAuthorizeParams("https://auth.atlassian.com", "audience=api.atlassian.com", "prompt=consent")`,
		}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := row.start(t)
			steps, found, err := inspected(t, p, row.bare...)
			require.NotNil(t, found, err)
			require.Equal(t, row.fails, found.Problem != nil, found.Problem)
			for _, help := range row.helps {
				require.True(t, slices.ContainsFunc(steps, func(s auth.Step) bool { return s.Err != nil && strings.Contains(s.Help, help) }), help)
			}

			steps, found, err = inspected(t, p, row.options...)
			require.NotNil(t, found, err)
			require.NoError(t, found.Problem)
			givenUp := 0
			for _, s := range steps {
				require.NotContains(t, s.Help, `("https://`, "nothing more is proposed")
				if strings.Contains(s.Help, "what you give up") {
					require.True(t, s.Minor)
					require.Error(t, s.Err)
					givenUp++
				}
			}
			require.Equal(t, row.givenUp, givenUp)
		})
	}
}

// The document for many tenants has no issuer that a login can be checked against.
func TestEntraIDOfManyTenants(t *testing.T) {
	t.Parallel()
	p := entraID(t)
	p.Resource["authorization_servers"] = []string{"https://login.microsoftonline.com/common/v2.0"}
	steps, _, err := inspected(t, p, atEntraID(tenant, "entra-client")...)
	require.ErrorContains(t, err, `{tenantid}`)
	require.Contains(t, steps[len(steps)-1].Help, "name the issuer with the id of one tenant")
}

// A scope that begins with the resource is what Entra ID wants: then it takes the parameter.
func TestEntraIDTakesTheResourceOfTheScopes(t *testing.T) {
	t.Parallel()
	p := entraID(t)
	issuer := p.issuer
	_, found, err := inspected(t, p, auth.WithClient("entra-client", "", issuer), auth.WithAssumedPKCE(issuer), auth.WithOnlyScopes(p.MCP.URL+"/mcp/.default"))
	require.NotNil(t, found, err)
	require.NoError(t, found.Problem)
}
