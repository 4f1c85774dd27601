package client

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// gate refuses, without traffic, what the negotiated revision does not have and
// what the server did not declare (LC-11, DISC-15, DISC-18). Methods that no
// revision knows are the application's own and pass.
func (c *Client) gate(s outcome.Subject) error {
	agreed := c.live.Agreed()
	info, ok := mcp.LookupMethod(s.Method, agreed.Version)
	switch {
	case !ok && inSomeRevision(s.Method):
		text := fmt.Sprintf("%s is not part of revision %s", s.Method, agreed.Version)
		if other := replacement[s.Method]; other != "" {
			text += "; use " + other
		}
		return c.about(s, mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, text, nil))
	case ok && info.Sender == mcp.FromServer:
		return c.misused(s, "is for servers to send")
	case ok && info.Notification:
		return c.misused(s, "is a notification, which has no answer; use Client.Notify")
	case ok && info.Capability != "":
		return c.require(s, info.Capability)
	}
	return nil
}

// gateNotification is gate for what has no answer.
func (c *Client) gateNotification(method string) error {
	s := outcome.Subject{Method: method}
	info, ok := mcp.LookupMethod(method, c.live.Agreed().Version)
	switch {
	case ok && !info.Notification:
		return c.misused(s, "is a request; use Client.Call")
	case ok && info.Sender != mcp.FromServer:
		return nil
	}
	return c.gate(s)
}

func (c *Client) misused(s outcome.Subject, why string) error {
	return c.about(s, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, s.Method+" "+why, nil))
}

func inSomeRevision(method string) bool {
	for _, v := range mcp.Versions() {
		if mcp.MethodIn(method, v) {
			return true
		}
	}
	return false
}

// replacement says what stands in for a method in the other era.
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

// reserved refuses what belongs to the handshake: the session is opened once
// (AC-002.6). It refuses too what names no method: a header repeats the name as
// it is (HTTP-31).
func reserved(method string) error {
	if method == "" || strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			fmt.Sprintf("%q is not a method name; use visible ASCII", jsonrpc.Printable(method, 100)), nil)
	}
	switch method {
	case mcp.MethodInitialize, mcp.MethodInitialized:
		return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the session is open already; connect again for another one", nil)
	}
	return nil
}
