package proxy

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// initialize opens the session of a host, and the server for it. The host's revision is
// agreed to if it is known; the server's has nothing to do with it.
func (h *host) initialize(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	h.initializing.Lock()
	defer h.initializing.Unlock()
	h.mu.Lock()
	open := h.session != nil
	h.mu.Unlock()
	if open {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: the session is open already", nil)
	}
	var version string
	var info, capabilities json.RawMessage
	err := jsonrpc.Members(r.Params, func(name, value []byte) bool {
		switch string(name) {
		case "protocolVersion":
			_ = jsonrpc.Unmarshal(value, &version)
		case "clientInfo":
			info = value
		case "capabilities":
			capabilities = value
		}
		return true
	})
	switch {
	case err != nil, version == "":
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: protocolVersion must be a string", nil)
	case capabilities == nil:
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: capabilities is missing", nil)
	case info == nil:
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: clientInfo is missing", nil)
	}
	agreed := mcp.Version(version)
	if agreed.Era() != mcp.EraSession {
		agreed = mcp.LatestSession
	}
	r.version = agreed
	h.mu.Lock()
	h.name = nameOf(info)
	h.mu.Unlock()
	up, fault := h.open(agreed, info, capabilities)
	if fault != nil {
		return failure(r, mcp.EraUnknown, fault)
	}
	answer := up.early(r)
	if answer == nil {
		ctx, cancel := h.untilTimeout(ctx, r.Method)
		defer cancel()
		defer r.beginHeartbeat(up.waitsFor)()
		if err := up.connected(ctx); err != nil {
			up.close()
			return failure(r, mcp.EraUnknown, h.timedOut(ctx, err))
		}
	}
	h.stats.sessions.Add(1)
	h.mu.Lock()
	if h.session = up; h.initialized {
		up.side().begin()
	}
	h.mu.Unlock()
	h.agreed(agreed)
	if answer == nil {
		up.watchLists()
		answer = up.agreement(agreed)
		up.keep(r, answer)
	}
	return answer, nil
}

// agreement returns the server's own description as the result of initialize.
func (up *upstream) agreement(agreed mcp.Version) json.RawMessage {
	info := up.client.ServerInfo()
	raw, _ := mcp.Marshal(&info) // it was read from a message
	out := appendMember([]byte{'{'}, []byte("protocolVersion"), quoted(string(agreed)))
	out = appendMember(out, []byte("serverInfo"), raw)
	return up.describe(out)
}

// discover answers server/discover.
func (up *upstream) discover(context.Context, *request) (json.RawMessage, error) {
	versions, _ := jsonrpc.Marshal(versionNames())
	out := appendMember([]byte{'{'}, []byte("supportedVersions"), versions)
	return up.describe(out), nil
}

// describe completes an object with the server's description of itself, except what belongs
// to its revision.
func (up *upstream) describe(out []byte) json.RawMessage {
	_ = jsonrpc.Members(up.client.InitializeResult(), func(name, value []byte) bool { // the client has read it
		switch string(name) {
		case "protocolVersion", "supportedVersions", "resultType", "ttlMs", "cacheScope":
			return true
		case "serverInfo": // initialize has it already, server/discover has it in _meta
			return true
		case "capabilities":
			value = up.capabilities(value)
		}
		out = appendMember(out, name, value)
		return true
	})
	return append(out, '}')
}

// capabilities returns those of the server that the host's revision has: tasks are of
// revision 2025-11-25, and extensions of the stateless era.
func (up *upstream) capabilities(declared []byte) []byte {
	out := []byte{'{'}
	_ = jsonrpc.Members(declared, func(name, value []byte) bool {
		switch string(name) {
		case "tasks":
			if up.version != mcp.Version2025_11_25 || up.client.ProtocolVersion() != mcp.Version2025_11_25 {
				return true
			}
			if up.shared != nil {
				value = without(value, "list") // it would have those of other hosts
			}
		case "extensions":
			if up.version.Era() != mcp.EraStateless || up.server() != mcp.EraStateless {
				return true
			}
		}
		out = appendMember(out, name, value)
		return true
	})
	return append(out, '}')
}

// notified passes a notification of the server to the host.
func (up *upstream) notified(ctx context.Context, n jsonrpc.Notification) {
	switch {
	case n.Method == mcp.MethodCancelled, // of a request of its own, which the client withdraws
		n.Method == mcp.MethodSubscriptionsAcknowledged: // of a subscription of the proxy
		return
	case known(n.Method) && !mcp.MethodIn(n.Method, up.version):
		return
	}
	if up.reached(ctx) != nil {
		return
	}
	if changes(n.Method) && (up.server() == mcp.EraStateless || up.version.Era() == mcp.EraStateless) {
		return // subscriptions bring it
	}
	on := up.host.line
	of, _ := ctx.Value(requestKey{}).(*request)
	if of != nil {
		on = of.line
	}
	if n.Method == mcp.MethodMessage {
		up.logged(n, of)
		return
	}
	up.host.tell(on, n)
}

// observed notes that the server has another process or session, which may have other lists.
func (up *upstream) observed(_ context.Context, e client.Event) {
	switch e.(type) {
	case client.Restarted, client.Reinitialized:
		up.renewed()
	}
}

// listsChanged tells a session host that lists may have changed.
func (up *upstream) listsChanged() {
	select {
	case <-up.ready:
	default:
		return // the host has seen no list yet
	}
	if !up.isConnected() {
		return
	}
	if up.version.Era() == mcp.EraStateless {
		return // its subscriptions report a gap
	}
	for method, capability := range listCapabilities {
		if up.client.HasCapability(capability) {
			up.host.tell(up.host.line, jsonrpc.Notification{Method: method})
		}
	}
}

var listCapabilities = map[string]string{
	mcp.MethodToolsListChanged: "tools.listChanged", mcp.MethodPromptsListChanged: "prompts.listChanged",
	mcp.MethodResourcesListChanged: "resources.listChanged",
}
