// Package tokensource connects package auth with golang.org/x/oauth2, in both directions:
// [From] sends the tokens of an oauth2.TokenSource to MCP servers, and [Of] returns an
// oauth2.TokenSource with the token of a login at an MCP server.
//
//	c, err := client.Dial(ctx, "https://example.com/mcp", client.WithAuthorizer(tokensource.From(ts)))
//
// It is a package of its own, so that other programs do not link golang.org/x/oauth2.
package tokensource
