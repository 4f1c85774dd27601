package link

import (
	"fmt"
	"slices"
	"strings"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// CheckMethod returns an error for a method that an application cannot send: one of the
// handshake, which happens once, or text that is not a method name. An HTTP header repeats the
// name. It returns nil if the method can be sent.
func CheckMethod(method string) *mcperrors.Error {
	if method == "" || strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return invalid(fmt.Sprintf("%q is not a method name; use visible ASCII", jsonrpc.Printable(method, 100)))
	}
	switch method {
	case mcp.MethodInitialize, mcp.MethodInitialized:
		return invalid("the session is already open; connect again to open another one")
	}
	return nil
}

// CheckRequest returns an error if a request with this method cannot be sent under a. Methods
// that no revision defines belong to the application and pass.
func CheckRequest(a *Agreement, method string) *mcperrors.Error {
	info, ok := mcp.LookupMethod(method, a.Version)
	switch {
	case !ok:
		return checkRevision(a.Version, method)
	case info.Sender == mcp.FromServer:
		return invalid(method + " is a method that only servers send")
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
		return invalid(method + " is a method that only servers send")
	}
	return nil
}

// CheckDeclared returns an error if the server did not declare a capability that the request
// needs. A server that was never asked for its capabilities may have it.
func CheckDeclared(a *Agreement, name string) *mcperrors.Error {
	if !a.Declared || a.Capabilities.Has(name) {
		return nil
	}
	return unsupported("MCP server does not support " + name + " capability")
}

// checkRevision returns an error for a method that another revision has and version does not, nil
// for an application's own method.
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

// replacement maps a method of one era to its counterpart in the other.
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
