package server

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// subscribed is the middleware that keeps news (what has changed on the server) from those who have
// not asked for it. go-sdk takes a session whose first request it has not read yet for one of the
// session era, and sends it everything: over HTTP a request of the stateless era that comes in while
// a list changes would get news without a subscription (2026-07-28, basic/patterns/subscriptions).
func subscribed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if isNews(method) && !wanted(req) {
			return nil, nil //nolint:nilnil // a notification has no result
		}
		return next(ctx, method, req)
	}
}

// isNews reports whether notifications of method are sent on the server's own account.
func isNews(method string) bool {
	return strings.HasSuffix(method, "/list_changed") || method == "notifications/resources/updated"
}

// wanted reports whether news goes to a session that has been initialized, or names the subscription
// that it is for.
func wanted(req mcp.Request) bool {
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || session.InitializeParams() == nil {
		return false
	}
	return !stateless(req) || req.GetParams().GetMeta()[mcp.MetaKeySubscriptionID] != nil
}
