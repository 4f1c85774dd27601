package clientsuite

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const negotiation = "negotiation"

// oddProbe is a way in which a server of the session era answers server/discover,
// which it does not know.
type oddProbe struct {
	name, title string
	transport   conformance.TransportKind // empty for both
	answer      func(x *exchange)
}

var oddProbes = []oddProbe{
	// Over HTTP "unknown method" is one of the modern errors.
	{name: "not-found", title: "error -32601", transport: conformance.TransportStdio, answer: refusing(-32601, "Method not found")},
	{name: "invalid-params", title: "error -32602", answer: refusing(-32602, "Invalid request parameters")},
	{name: "invalid-request", title: "error -32600", answer: refusing(-32600, "Invalid Request")},
	{name: "server-error", title: "error -32000", answer: refusing(-32000, "Server not initialized")},
	{name: "own-code", title: "an error code of its own", answer: refusing(17, "initialize first")},
	{name: "silence", title: "nothing", transport: conformance.TransportStdio, answer: func(x *exchange) { x.hold(time.Minute) }},
	{name: "400", title: "the status 400 without a body", transport: conformance.TransportHTTP, answer: answering(http.StatusBadRequest, "", "")},
	{name: "400-text", title: "the status 400 with a text", transport: conformance.TransportHTTP, answer: answering(http.StatusBadRequest, "text/plain", "Bad Request: No valid session ID provided")},
	{
		name: "400-error", title: "the status 400 with an error without an id", transport: conformance.TransportHTTP,
		answer: answering(http.StatusBadRequest, jsonBody, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`),
	},
	{name: "404", title: "the status 404", transport: conformance.TransportHTTP, answer: answering(http.StatusNotFound, "", "")},
	{name: "405", title: "the status 405", transport: conformance.TransportHTTP, answer: answering(http.StatusMethodNotAllowed, "", "")},
}

func refusing(code int64, text string) func(*exchange) {
	return func(x *exchange) { x.fail(code, text, "") }
}

func answering(status int, contentType, body string) func(*exchange) {
	return func(x *exchange) {
		header := http.Header{}
		if contentType != "" {
			header.Set("Content-Type", contentType)
		}
		x.way.status(status, header, body)
	}
}

// versioningPage is where the eras and the way between them are told.
const versioningPage = "basic/versioning#backward-compatibility-with-initialization-based-versions"

// negotiationScenarios are how a client of both eras finds out which one a server
// is of. A client of one era is not judged.
func negotiationScenarios() []scenario {
	all := []scenario{probeScenario()}
	for _, p := range oddProbes {
		all = append(all, p.scenario())
	}
	all = append(all, listedSession())
	for i := range all {
		all[i].until = mcp.LatestSession
	}
	mismatch := recognized("header", "-32020", mcp.CodeHeaderMismatch)
	mismatch.transport = conformance.TransportHTTP // elsewhere there are no headers
	return append(all, recognized("version", "-32022", mcp.CodeUnsupportedProtocolVersion), recognized("capability", "-32021", mcp.CodeMissingRequiredClientCapability),
		mismatch, nothingMutual())
}

// probeScenario looks at the probe itself.
func probeScenario() scenario {
	return scenario{
		id: "C-PROBE", area: negotiation, title: "a client of both eras meets a server of the session era",
		checks: []check{
			should("C-NEG-02/first", "server/discover is sent before anything else", spec("basic/transports/stdio#backward-compatibility", "A client that supports both modern (per-request-metadata) MCP versions and a legacy version that requires an initialize handshake SHOULD probe with server/discover before sending any other request")),
			should("C-NEG-02/version", "it names a version of the stateless era", spec("basic/transports/stdio#backward-compatibility", "setting its preferred modern version in _meta.")),
		},
		play: func(t *trial) {
			t.negotiate = true
			t.do(call("echo", `{"text":"hello"}`))
			probe := t.probe()
			if probe == nil {
				return
			}
			first := t.tape.all()[0]
			t.check("C-NEG-02/first", first.seq == probe.seq, mcp.MethodDiscover, "%s", names([]*message{first}))
			v, _ := mcp.ParseVersion(text(probe.param("_meta", mcp.MetaProtocolVersion)))
			t.check("C-NEG-02/version", v.Era() == mcp.EraStateless, "a revision without sessions", "%s", orNull(probe.param("_meta", mcp.MetaProtocolVersion)))
		},
	}
}

// probe is the request by which the client looked for the stateless era; nil, and
// all checks are skipped, when it does not look.
func (t *trial) probe() *message {
	if !t.needs(len(t.tape.all()) > 0, "nothing was sent") {
		return nil
	}
	if found := t.sent(mcp.MethodDiscover); len(found) > 0 {
		return found[0]
	}
	for _, c := range t.scenario.checks {
		t.skip(c.ID, conformance.SkipNotDeclared, "the client does not probe for the stateless era")
	}
	return nil
}

func (p oddProbe) scenario() scenario {
	id, served := "C-NEG-04/"+p.name, "C-NEG-04/"+p.name+"-served"
	// Over stdio the fallback is a duty, over HTTP advice.
	overStdio := spec("basic/transports/stdio#backward-compatibility", "The fallback MUST NOT be keyed to one specific error code: legacy servers respond to unknown pre-initialize requests with implementation-defined errors (commonly -32601 or -32602) or not at all.")
	overHTTP := spec("basic/transports/streamable-http#backward-compatibility", "If the body is empty or is not a recognized modern JSON-RPC error, fall back to initialize and continue with the legacy version for subsequent requests.")
	// How long to wait for an answer is left to the client.
	over := must
	if p.name == "silence" {
		over = should
	}
	first, second := over(id, "initialize follows", overStdio), over(served, "the caller gets the result of a call", overStdio)
	if p.transport != conformance.TransportStdio {
		first, second = first.advisedOverHTTP(overHTTP), second.advisedOverHTTP(overHTTP)
	}
	return scenario{
		id: "C-PROBE-" + p.name, area: negotiation, title: "the probe is answered with " + p.title, transport: p.transport,
		checks: []check{first, second},
		play: func(t *trial) {
			t.negotiate = true
			t.on(mcp.MethodDiscover, p.answer)
			t.do(call("echo", `{"text":"as ever"}`))
			probe := t.probe()
			if probe == nil {
				return
			}
			opened := slices.ContainsFunc(t.sent(mcp.MethodInitialize), func(m *message) bool { return m.seq > probe.seq })
			t.check(id, opened, mcp.MethodInitialize, "%s", names(t.requestsAfter(probe.seq)))
			t.told(served, 0, says("as ever"), wantsText("as ever"))
		},
	}
}

// listedSession is a server that knows server/discover and names in it only
// versions of the session era.
func listedSession() scenario {
	return scenario{
		id: "C-PROBE-LISTED", area: negotiation, title: "server/discover names versions of the session era alone",
		checks: []check{advised("C-NEG-06/initialize", "a session is opened with a version that was named", row("NEG-06"))},
		play: func(t *trial) {
			t.negotiate = true
			t.on(mcp.MethodDiscover, func(x *exchange) {
				x.bare(fmt.Sprintf(`{"resultType":"complete","supportedVersions":["2099-01-01",%q],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`, x.peer.revision))
			})
			t.do(call("echo", `{"text":"hello"}`))
			probe := t.probe()
			if probe == nil {
				return
			}
			opened := slices.ContainsFunc(t.sent(mcp.MethodInitialize), func(m *message) bool {
				return m.seq > probe.seq && text(m.param("protocolVersion")) == string(t.rev.revision)
			})
			t.check("C-NEG-06/initialize", opened, "initialize with "+string(t.rev.revision), "%s", contents(t.sent(mcp.MethodInitialize)))
		},
	}
}

// recognized is an error that only servers of the stateless era give.
func recognized(name, title string, code int64) scenario {
	id := "C-NEG-05/" + name
	return scenario{
		id: "C-RECOGNIZED-" + name, area: negotiation, title: "the first request is answered with " + title + " by a server of the stateless era", since: mcp.Version2026_07_28,
		checks: []check{should(id, "no initialize follows", spec(versioningPage, "identifies a modern server: the client retries with a supported version rather than falling back."))},
		play: func(t *trial) {
			t.negotiate = true
			data := map[int64]string{
				mcp.CodeUnsupportedProtocolVersion:      `{"supported":["2099-01-01",` + quote(string(t.rev.revision)) + `],"requested":"1900-01-01"}`,
				mcp.CodeMissingRequiredClientCapability: `{"requiredCapabilities":{"extensions":{"com.example/none":{}}}}`,
			}[code]
			t.peer.gate = func(x *exchange) bool {
				if !x.isRequest() || x.method() == mcp.MethodInitialize || x.peer.next() > 1 {
					return false
				}
				x.fail(code, "not like that", data)
				return true
			}
			t.do(call("echo", `{"text":"hello"}`))
			sent := t.requestsAfter(0)
			if !t.needs(len(sent) > 0, "no request was sent") {
				return
			}
			if sent[0].method() == mcp.MethodInitialize {
				t.skip(id, conformance.SkipNotDeclared, "the client begins with initialize")
				return
			}
			opened := t.sent(mcp.MethodInitialize)
			t.check(id, len(opened) == 0, "no initialize", "%s", contents(opened))
		},
	}
}

// nothingMutual is a server of a time to come.
func nothingMutual() scenario {
	surface := spec("basic/versioning#protocol-version-negotiation", "The client SHOULD select a mutually supported version from the supported list and retry the request, or surface an error to the user if no compatible version exists.")
	return scenario{
		id: "C-NOTHING-MUTUAL", area: negotiation, title: "the server speaks only versions that the client does not know", since: mcp.Version2026_07_28,
		checks: []check{
			should("C-DISC-04/none-told", "the caller is told", surface),
			should("C-DISC-04/unknown", "no request names a version that the client cannot know", surface),
			advised("C-DISC-04/bounded", "the client gives up", row("DISC-07")),
		},
		play: func(t *trial) {
			t.negotiate = true
			t.peer.gate = func(x *exchange) bool {
				switch {
				case !x.isRequest():
					return false
				case x.method() == mcp.MethodDiscover:
					x.discovered("2099-01-01", "2098-12-31")
				default:
					x.fail(mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version", `{"supported":["2099-01-01","2098-12-31"],"requested":"1900-01-01"}`)
				}
				return true
			}
			t.do(call("echo", `{"text":"hello"}`))
			sent := t.requestsAfter(0)
			if !t.needs(len(sent) > 0, "no request was sent") {
				return
			}
			later := slices.DeleteFunc(slices.Clone(sent), func(m *message) bool {
				return text(m.param("_meta", mcp.MetaProtocolVersion)) < "2098" && text(m.param("protocolVersion")) < "2098"
			})
			t.check("C-DISC-04/unknown", len(later) == 0, "neither 2099-01-01 nor 2098-12-31", "%s", contents(later))
			t.check("C-DISC-04/bounded", len(sent) <= 8, "at most 8 requests", "%d", len(sent))
			t.told("C-DISC-04/none-told", 0, Line.failed, "an error")
		},
	}
}
