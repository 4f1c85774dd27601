// Package tokensource connects package auth with golang.org/x/oauth2, in both directions:
// [From] makes credentials for MCP servers of an oauth2.TokenSource, and [Of] makes an
// oauth2.TokenSource of a login at an MCP server.
//
//	c, err := client.Dial(ctx, "https://example.com/mcp", client.WithAuthorizer(tokensource.From(ts)))
//
// It is a package of its own, so that other programs do not link golang.org/x/oauth2.
package tokensource
