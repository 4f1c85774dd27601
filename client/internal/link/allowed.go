package link

import (
	"fmt"
	"slices"
	"strings"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// CheckMethod returns the error of a method that an application cannot send: the
// handshake, which opens the conversation once, and text that names no method. A header
// of HTTP repeats the name. nil means that it can be sent.
func CheckMethod(method string) *mcperrors.Error {
	if method == "" || strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return invalid(fmt.Sprintf("%q is not a method name; use visible ASCII", jsonrpc.Printable(method, 100)))
	}
	switch method {
	case mcp.MethodInitialize, mcp.MethodInitialized:
		return invalid("the session is open already; connect again for another one")
	}
	return nil
}

// CheckRequest returns the error of a request with a method that cannot be sent under
// a, nil if it can. Methods that no revision has are the application's own and pass.
func CheckRequest(a *Agreement, method string) *mcperrors.Error {
	info, ok := mcp.LookupMethod(method, a.Version)
	switch {
	case !ok:
		return checkRevision(a.Version, method)
	case info.Sender == mcp.FromServer:
		return invalid(method + " is for servers to send")
	case info.Notification:
		return invalid(method + " is a notification, which has no answer; use Client.Notify")
	case info.Capability != "":
		return CheckDeclared(a, info.Capability)
	}
	return nil
}

// CheckNotification is CheckRequest for a notification.
func CheckNotification(a *Agreement, method string) *mcperrors.Error {
	info, ok := mcp.LookupMethod(method, a.Version)
	switch {
	case !ok:
		return checkRevision(a.Version, method)
	case !info.Notification:
		return invalid(method + " is a request; use Client.Call")
	case info.Sender == mcp.FromServer:
		return invalid(method + " is for servers to send")
	}
	return nil
}

// CheckDeclared returns the error of a request that needs a capability, nil if the
// server declared it. A server that was never asked for its capabilities may have it.
func CheckDeclared(a *Agreement, name string) *mcperrors.Error {
	if !a.Declared || a.Capabilities.Has(name) {
		return nil
	}
	return unsupported("MCP server does not support " + name + " capability")
}

// checkRevision returns the error of a method that version does not have and another
// revision has, nil for a method of the application's own.
func checkRevision(version mcp.Version, method string) *mcperrors.Error {
	if !slices.ContainsFunc(mcp.Versions(), func(v mcp.Version) bool { return mcp.MethodIn(method, v) }) {
		return nil
	}
	text := fmt.Sprintf("%s is not part of revision %s", method, version)
	if other := replacement[method]; other != "" {
		text += "; use " + other
	}
	return unsupported(text)
}

// replacement is what a method of one era is in the other.
var replacement = map[string]string{
	mcp.MethodPing:                 mcp.MethodDiscover,
	mcp.MethodLoggingSetLevel:      "Client.SetLogLevel",
	mcp.MethodResourcesSubscribe:   "Client.Subscribe",
	mcp.MethodResourcesUnsubscribe: "Subscription.Close",
	mcp.MethodSubscriptionsListen:  "Client.Subscribe",
	mcp.MethodDiscover:             mcp.MethodInitialize,
	mcp.MethodTasksUpdate:          mcp.MethodTasksResult,
	mcp.MethodTasksResult:          mcp.MethodTasksGet,
}

func invalid(text string) *mcperrors.Error {
	return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, text, nil)
}

func unsupported(text string) *mcperrors.Error {
	return mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, text, nil)
}
