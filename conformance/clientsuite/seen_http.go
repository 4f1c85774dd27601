package clientsuite

import (
	"net/http"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const httpArea = "http"

// seenHTTP judges the HTTP requests of all other scenarios.
func seenHTTP() []scenario {
	sending := func(quote string) conformance.Spec {
		return spec("basic/transports#sending-messages-to-the-server", quote)
	}
	modern := func(quote string) conformance.Spec {
		return spec("basic/transports/streamable-http#sending-messages", quote)
	}
	session := func(quote string) conformance.Spec { return spec("basic/transports#session-management", quote) }
	accept := "The client MUST include an Accept header, listing both application/json and text/event-stream as supported content types."
	post := func(look func(t *trial, m *message) (bool, string)) func(*trial, func(*message, string)) {
		return each(func(t *trial, m *message) (bool, string) {
			if m.verb != http.MethodPost || m.path != endpoint {
				return false, ""
			}
			return look(t, m)
		})
	}
	return []scenario{
		observed(scenario{id: "C-HTTP-REQUESTS", area: httpArea, title: "every HTTP request", transport: conformance.TransportHTTP}, []seenCheck{
			{
				must("C-HTTP-01/post", "messages are sent by POST, one each", sending("Every JSON-RPC message sent from the client MUST be a new HTTP POST request to the MCP endpoint.")).
					or(modern("Every JSON-RPC message sent from the client MUST be a new HTTP POST request")),
				"POST with one message", each(func(_ *trial, m *message) (bool, string) {
					if len(m.data) > 0 && m.verb != http.MethodPost {
						return true, m.verb + " with a body"
					}
					return len(m.data) > 0, ""
				}),
			},
			{
				must("C-HTTP-02/accept", "Accept of a POST lists application/json and text/event-stream", sending(accept)).or(modern(accept)),
				"application/json and text/event-stream", post(func(_ *trial, m *message) (bool, string) {
					got := strings.ToLower(strings.Join(m.header.Values("Accept"), ","))
					if !strings.Contains(got, jsonBody) || !strings.Contains(got, eventStream) {
						return true, "Accept: " + got
					}
					return true, ""
				}),
			},
			{
				must("C-HTTP-02/content-type", "Content-Type of a POST is application/json", sending("The body of the POST request MUST be a single JSON-RPC request, notification, or response.")).
					or(modern("The body of the HTTP POST MUST be a single JSON-RPC request or notification.")),
				jsonBody, post(func(_ *trial, m *message) (bool, string) {
					kind, _, _ := strings.Cut(m.header.Get("Content-Type"), ";")
					if !strings.EqualFold(strings.TrimSpace(kind), jsonBody) {
						return true, "Content-Type: " + m.header.Get("Content-Type")
					}
					return true, ""
				}),
			},
		}),
		observed(scenario{
			id: "C-HTTP-SESSION", area: httpArea, title: "HTTP requests within a session", transport: conformance.TransportHTTP, until: mcp.LatestSession,
		}, []seenCheck{
			{
				must("C-HTTP-12/session", "every request after initialize has the session id that its answer gave", session("clients using the Streamable HTTP transport MUST include it in the MCP-Session-Id header on all of their subsequent HTTP requests.")),
				"the session id", sessionIDs,
			},
			{
				must("C-HTTP-12/initialize", "initialize has no session id", session("it MUST start a new session by sending a new InitializeRequest without a session ID attached.")),
				"no session id", post(func(_ *trial, m *message) (bool, string) {
					if m.method() == mcp.MethodInitialize && m.header.Get(sessionHeader) != "" {
						return true, sessionHeader + ": " + m.header.Get(sessionHeader)
					}
					return m.method() == mcp.MethodInitialize, ""
				}),
			},
			{
				must("C-HTTP-14/version", "every request after initialize has the negotiated version in its header", spec("basic/transports#protocol-version-header", "If using HTTP, the client MUST include the MCP-Protocol-Version: <protocol-version> HTTP header on all subsequent requests to the MCP server")).from(mcp.Version2025_06_18),
				"the negotiated version", versionHeaders,
			},
			{
				should("C-HTTP-18/delete", "a client that has done ends the session with DELETE", session("Clients that no longer need a particular session SHOULD send an HTTP DELETE to the MCP endpoint with the MCP-Session-Id header")),
				"DELETE with the session id", sessionEnds,
			},
		}),
		observed(scenario{
			id: "C-HTTP-STATELESS", area: httpArea, title: "HTTP requests of the stateless era", transport: conformance.TransportHTTP, since: mcp.Version2026_07_28,
		}, []seenCheck{
			{
				must("C-HTTP-28/post-only", "there is no GET, no DELETE and no session id", modern("The client MUST use HTTP POST to send JSON-RPC messages.")),
				"POST without a session id", each(func(_ *trial, m *message) (bool, string) {
					if m.path != endpoint {
						return false, ""
					}
					if m.verb != http.MethodPost {
						return true, m.verb
					}
					if m.header.Get(sessionHeader) != "" {
						return true, sessionHeader + ": " + m.header.Get(sessionHeader)
					}
					return true, ""
				}),
			},
			{
				must("C-HTTP-29/version", "the version header is there and equal to the version of _meta", spec("basic/transports/streamable-http#protocol-version-header", "Every POST request to the MCP endpoint MUST include an MCP-Protocol-Version header. The header value MUST match")).official("request-metadata"),
				"the version of _meta", post(func(t *trial, m *message) (bool, string) {
					if m.method() == "" || t.probing(m) {
						return false, ""
					}
					want, got := text(m.param("_meta", mcp.MetaProtocolVersion)), m.header.Get(versionHeader)
					if got == "" || m.isRequest() && want != got {
						return true, versionHeader + ": " + got + " beside " + want
					}
					return true, ""
				}),
			},
			{
				must("C-HTTP-30/method", "Mcp-Method is the method of the body", spec("basic/transports/streamable-http#standard-request-headers", "Mcp-Method | method | All requests. These headers are REQUIRED for compliance.")).official("http-standard-headers"),
				"Mcp-Method equal to method", post(func(t *trial, m *message) (bool, string) {
					if !m.isRequest() || t.probing(m) {
						return false, ""
					}
					if got := m.header.Get("Mcp-Method"); got != m.method() {
						return true, "Mcp-Method: " + got + " for " + m.method()
					}
					return true, ""
				}),
			},
			{
				must("C-HTTP-31/name", "Mcp-Name is the name or the URI, encoded where it must be", spec("basic/transports/streamable-http#standard-request-headers", "Mcp-Name | params.name or params.uri | tools/call, resources/read, prompts/get requests. These headers are REQUIRED for compliance.")).official("http-standard-headers").
					optional("no tool was called, no resource read and no prompt asked for"),
				"Mcp-Name of params.name or params.uri", post(func(_ *trial, m *message) (bool, string) {
					var want string
					switch m.method() {
					case mcp.MethodToolsCall, mcp.MethodPromptsGet:
						want = text(m.param("name"))
					case mcp.MethodResourcesRead:
						want = text(m.param("uri"))
					default:
						return false, ""
					}
					if got, ok := decodeHeader(m.header.Get("Mcp-Name")); !ok || got != want {
						return true, "Mcp-Name: " + m.header.Get("Mcp-Name") + " for " + want
					}
					return true, ""
				}),
			},
			{
				must("C-HTTP-35/no-resume", "no stream is resumed", spec("basic/transports/streamable-http#receiving-messages", "Resumable SSE streams via Last-Event-ID are not supported.")),
				"no Last-Event-ID", each(func(_ *trial, m *message) (bool, string) {
					if m.header.Get("Last-Event-Id") != "" {
						return true, "Last-Event-ID: " + m.header.Get("Last-Event-Id")
					}
					return m.path == endpoint, ""
				}),
			},
		}),
	}
}

// given follows, over one trial, the session id and the version that the client
// was last given.
func given(t *trial, look func(m *message, session, version string)) {
	session, version, before := "", "", ""
	from := 0
	var since time.Duration
	for _, m := range t.tape.all() {
		if m.path != endpoint {
			continue
		}
		if from != 0 && m.seq > from && m.method() != mcp.MethodInitialize && !t.probing(m) {
			if before != "" && m.header.Get(sessionHeader) == before && m.at-since < crossing {
				look(m, before, version)
			} else {
				look(m, session, version)
			}
		}
		if m.method() == mcp.MethodInitialize && m.answered != 0 && m.reply.Get("Content-Type") != "" {
			before, since = session, m.at
			session, version, from = m.reply.Get(sessionHeader), m.agreed, m.answered
		}
	}
}

// crossing is how long a request may be on its way that was written before the
// session was opened anew.
const crossing = time.Second

func sessionIDs(t *trial, about func(*message, string)) {
	given(t, func(m *message, session, _ string) {
		wrong := ""
		if got := m.header.Get(sessionHeader); got != session {
			wrong = m.verb + " " + m.method() + " with " + quote(got) + " where " + quote(session) + " was given"
		}
		about(m, wrong)
	})
}

func versionHeaders(t *trial, about func(*message, string)) {
	given(t, func(m *message, _, version string) {
		if v, known := mcp.ParseVersion(version); !known || v.Era() != mcp.EraSession {
			return // nothing was negotiated
		}
		wrong := ""
		if got := m.header.Get(versionHeader); got != version {
			wrong = m.verb + " " + m.method() + " with " + quote(got) + " where " + version + " was negotiated"
		}
		about(m, wrong)
	})
}

// sessionEnds looks at trials that went as they should: a session was opened, and
// the client ended by itself.
func sessionEnds(t *trial, about func(*message, string)) {
	var opened, deleted *message
	for _, m := range t.tape.all() {
		switch {
		case m.method() == mcp.MethodInitialized:
			opened = m
		case m.verb == http.MethodDelete:
			deleted = m
		}
	}
	if opened == nil || t.over == 0 || t.proxy != nil || opened.header.Get(sessionHeader) == "" {
		return
	}
	if deleted == nil {
		about(opened, "no DELETE")
		return
	}
	about(deleted, "")
}
