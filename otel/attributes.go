package mcpotel

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Attributes of the semantic conventions for generative AI, docs/gen-ai/mcp.md.
// They are in development, so constants of another package could change.
const (
	keyMethod          = attribute.Key("mcp.method.name")
	keyProtocolVersion = attribute.Key("mcp.protocol.version")
	keyResourceURI     = attribute.Key("mcp.resource.uri")
	keyToolName        = attribute.Key("gen_ai.tool.name")
	keyPromptName      = attribute.Key("gen_ai.prompt.name")
	keyOperation       = attribute.Key("gen_ai.operation.name")
	keyRequestID       = attribute.Key("jsonrpc.request.id")
	keyStatusCode      = attribute.Key("rpc.response.status_code")
	keyErrorType       = attribute.Key("error.type")
	keyTransport       = attribute.Key("network.transport")
	keyProtocolName    = attribute.Key("network.protocol.name")
	keyServerAddress   = attribute.Key("server.address")
	keyServerPort      = attribute.Key("server.port")
)

// Attributes of our own.
const (
	keyServer        = attribute.Key("mainstay.server")
	keyAttempts      = attribute.Key("mainstay.attempts")
	keyClass         = attribute.Key("mainstay.class")
	keyDelivery      = attribute.Key("mainstay.delivery")
	keyServerVerdict = attribute.Key("mainstay.verdict.server")
	keyToolVerdict   = attribute.Key("mainstay.verdict.tool")
	keyOutcome       = attribute.Key("mainstay.outcome")
	keyReason        = attribute.Key("mainstay.reason")
	keyScope         = attribute.Key("mainstay.scope")
	keyState         = attribute.Key("mainstay.state")
)

// toolError is the error.type of a result with isError.
const toolError = "tool_error"

// spanName returns the method and, for tools and prompts, the name. Other targets, such as
// URIs, have too many values.
func spanName(inv *client.Invocation) string {
	switch inv.Method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		if inv.Name != "" {
			return inv.Method + " " + inv.Name
		}
	}
	return inv.Method
}

// common returns the attributes of a span and of its value in the histogram.
func common(inv *client.Invocation) []attribute.KeyValue {
	// The capacity is enough for all attributes that may follow.
	all := append(make([]attribute.KeyValue, 0, 16), keyMethod.String(inv.Method))
	switch inv.Method {
	case mcp.MethodToolsCall:
		all = append(all, keyToolName.String(inv.Name), keyOperation.String("execute_tool"))
	case mcp.MethodPromptsGet:
		all = append(all, keyPromptName.String(inv.Name))
	}
	return append(all, connection(inv.Version, inv.Transport, inv.Server, inv.Address)...)
}

// connection returns the attributes of a server and of its connection.
func connection(version mcp.Version, transport, server, address string) []attribute.KeyValue {
	all := []attribute.KeyValue{keyServer.String(server)}
	if version != "" {
		all = append(all, keyProtocolVersion.String(string(version)))
	}
	switch transport {
	case "stdio":
		return append(all, keyTransport.String("pipe"))
	case "http":
		all = append(all, keyTransport.String("tcp"), keyProtocolName.String("http"))
	}
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		all = append(all, keyServerAddress.String(u.Hostname()))
		port, err := strconv.Atoi(u.Port())
		switch {
		case err == nil:
		case u.Scheme == "https":
			port = 443
		case u.Scheme == "http":
			port = 80
		}
		if port != 0 {
			all = append(all, keyServerPort.Int(port))
		}
	}
	return all
}

// resource returns the URI of a call about a resource without its user and query, which
// may be secret.
func resource(inv *client.Invocation) string {
	switch inv.Method {
	case mcp.MethodResourcesRead, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		u, err := url.Parse(inv.Name)
		if err != nil {
			return ""
		}
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String()
	}
	return ""
}

// failure returns the attributes of a failed call and the description for the span. attrs
// is nil if the call succeeded.
func failure(inv *client.Invocation, raw []byte, err error) (attrs []attribute.KeyValue, words string) {
	if err == nil {
		if inv.Method == mcp.MethodToolsCall && isError(raw) {
			return []attribute.KeyValue{keyErrorType.String(toolError)}, ""
		}
		return nil, ""
	}
	e := errormap.From(err, mcperrors.Unknown)
	switch {
	case e.RPC != nil:
		code := strconv.FormatInt(e.RPC.Code, 10)
		return []attribute.KeyValue{keyErrorType.String(code), keyStatusCode.String(code)}, spoken(e.RPC.Message)
	case e.HTTP != nil:
		return []attribute.KeyValue{keyErrorType.String(strconv.Itoa(e.HTTP.Status))}, spoken(e.Message)
	}
	return []attribute.KeyValue{keyErrorType.String(e.Kind.String())}, spoken(e.Message)
}

// spoken returns a text of a server, shortened and without secrets, because spans leave
// the program.
func spoken(s string) string {
	const most, looked = 256, 4096
	s = mcperrors.Redact(strings.ToValidUTF8(s[:min(len(s), looked)], "\uFFFD"))
	for len(s) > most || !utf8.ValidString(s) {
		s = s[:min(len(s)-1, most)]
	}
	return s
}

// isError reports whether a result of tools/call has isError set.
func isError(raw []byte) bool {
	failed := false
	_ = jsonrpc.Members(raw, func(name, value []byte) bool { // the client has validated it
		if string(name) != "isError" {
			return true
		}
		failed = string(value) == "true"
		return false
	})
	return failed
}
