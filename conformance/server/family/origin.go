package family

import "encoding/json"

// An Origin says where a call came from.
type Origin struct {
	// Agent is who calls: `_meta.agentName`, else the header X-Agent-Name, else
	// the session id, else the transport's name.
	Agent string
	// Session is the session id over HTTP in the session era, else empty.
	Session string
	// Transport is "stdio", "http" or "sse", the HTTP+SSE transport of 2024.
	Transport string
	// Version is the protocol revision in force; empty for a direct method
	// without a handshake.
	Version string
	// Direct says that the tool was called as a method of its own.
	Direct bool
	// Meta is the `_meta` of the request, undecoded; nil when there was none.
	Meta json.RawMessage
}
