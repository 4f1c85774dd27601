// Package auth logs a client in to remote MCP servers, as the authorization part of the
// MCP specification describes (OAuth 2.1).
//
//	c, err := client.Dial(ctx, "https://example.com/mcp", client.WithAuthorizer(auth.Login()))
//
// [Login], [HandOff] and [Device] log in a person. [ClientCredentials], [PrivateKeyJWT],
// [Workload], [IDJAG] and [TokenExchange] are for programs. Each returns an [Authorizer]
// for client.WithAuthorizer. [Bearer] is for tokens that the application already has: it
// returns a [BearerAuthorizer], which is used the same way. For credentials in other
// headers, such as API keys, use HeaderFunc of [transport.HTTP] without this package.
//
// An Authorizer discovers the authorization server of an MCP server and obtains a token
// when the server asks for one. It renews the token before it expires, and logs in again
// when the server wants more scopes. Its errors are an [*Error]. The page
// docs/authorization.md is the guide.
//
// # Experimental
//
// These parts may still change: DPoP ([WithDPoP], [BearerWithKey]), [Device],
// [TokenExchange], and the exceptions for providers ([WithoutResource],
// [WithAssumedPKCE], [WithAuthorizeParams], [WithIssuerSlash]).
package auth
