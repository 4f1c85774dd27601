// Package auth logs a client in to remote MCP servers, as the authorization part of the
// MCP specification describes (OAuth 2.1).
//
//	c, err := client.Dial(ctx, "https://example.com/mcp", auth.Login())
//
// [Login] is for a person with a browser. [ClientCredentials], [PrivateKeyJWT],
// [Workload] and [IDJAG] are for programs. [Bearer] sends tokens that the application
// has. Each returns an [Authorizer] (Bearer a [BearerAuthorizer]), which is an option of
// Dial and the Authorizer of a transport.
//
// An Authorizer finds out who guards a server, obtains a token when the server asks for
// one, renews it before it expires, and obtains another one when the server wants more
// scopes. Its errors are an [*Error]. The page docs/authorization.md has the whole story.
package auth
