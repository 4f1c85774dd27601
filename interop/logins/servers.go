package main

// server is an authorization server that others wrote, in one configuration.
type server struct {
	name  string
	about string // what is run, and how clients become known there
	// argv starts it; the issuer follows. It prints a JSON line with the event "listening"
	// and its URL, and serves POST /control/lifetime and /control/end.
	argv func(s *stage) []string
	// demo is the example server of the TypeScript SDK, which takes its ports from the
	// environment and is not observed.
	demo bool
	// guarded is set if the reference server stands behind it. Without it, the program
	// brings its own MCP server at /mcp.
	guarded bool
	client  client
	// noRevocation is set if it has no endpoint to take a token back.
	noRevocation bool
	// cannot has the steps that the server cannot do, with the reason.
	cannot map[string]string
}

// client is how programs become known. The zero value registers itself.
type client struct {
	id, secret string
	document   string // URL; its tokens are bound to keys (DPoP)
}

// Tools, with arguments. The second of each pair needs one more scope.
const (
	ownRead, ownWrite         = "read {}", "write {}"
	guardedRead, guardedWrite = "test_simple_text {}", "test_image_content {}"
	demoTool                  = `greet {"name":"Ada"}`
)

func servers() []server {
	node := func(script string, args ...string) func(s *stage) []string {
		return func(s *stage) []string { return append([]string{s.node, s.mjs + "/" + script}, args...) }
	}
	foreign := func(name string) func(s *stage) []string {
		return func(s *stage) []string { return []string{s.bin + "/foreign", name} }
	}
	known := client{id: "known"}
	return []server{
		{
			name: "TypeScript SDK router", about: "`mcpAuthRouter`, opaque tokens; clients register themselves",
			argv: node("router.mjs"),
		},
		{
			name: "TypeScript SDK strict demo", about: "`simpleStreamableHttp.js --oauth --oauth-strict`, unchanged; clients register themselves",
			demo: true, noRevocation: true,
			cannot: map[string]string{
				expiry:     "the demo issues tokens for an hour and cannot refresh",
				rotation:   "the demo issues no refresh token",
				revocation: "the demo issues no refresh token, and no one can end a login",
				stepUp:     "the demo guards no tool with a scope",
			},
		},
		{
			name: "better-auth", about: "plugin `oauth-provider`, JWTs; clients register themselves",
			argv: node("better-auth.mjs"), guarded: true,
		},
		{
			name: "oidc-provider, registration", about: "JWTs by resource indicator; clients register themselves",
			argv: node("oidc-provider.mjs", "registration"), guarded: true,
		},
		{
			name: "oidc-provider, client document and DPoP", about: "a client id metadata document, tokens bound to keys, nonces",
			argv: node("oidc-provider.mjs", "document"), guarded: true,
			client: client{document: "https://client.example/client.json"},
		},
		{
			name: "oidc-provider, known client and pushed requests", about: "a client with a secret, pushed requests required (RFC 9126)",
			argv: node("oidc-provider.mjs", "known"), guarded: true,
			client: client{id: "known", secret: "the secret of the known client"},
		},
		{name: "zitadel/oidc", about: "with the storage of its example, opaque tokens; a known client", argv: foreign("zitadel"), client: known},
		{name: "fosite", about: "HMAC tokens in memory; a known client", argv: foreign("fosite"), client: known},
		{
			name: "go-oauth2", about: "opaque tokens in memory; a known client",
			argv: foreign("go-oauth2"), client: known,
			noRevocation: true,
		},
	}
}

func (s *server) tools() (read, write string) {
	switch {
	case s.demo:
		return demoTool, ""
	case s.guarded:
		return guardedRead, guardedWrite
	default:
		return ownRead, ownWrite
	}
}
