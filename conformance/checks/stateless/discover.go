package stateless

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/nosuch"
	"github.com/mainstay-mcp/mainstay/conformance/internal/probe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessDiscoverScenarios are about what a stateless server says of itself
// and what it asks of the _meta of each request.
func statelessDiscoverScenarios() []conformance.Scenario {
	const (
		discover = "server/discover#discoverresult"
		perCall  = "basic#meta"
		missing  = "A request missing any required field is malformed; the server MUST reject it with JSON-RPC error code -32602 (Invalid params)."
		version  = "basic/versioning#protocol-version-negotiation"
		refuses  = "If the server does not implement the requested version …, it MUST respond with an UnsupportedProtocolVersionError listing the versions it does support"
		removed  = "If the server does not implement the requested RPC method, it MUST respond with 404 Not Found and a JSON-RPC error with code -32601 (Method not found)."
		header   = "basic/transports/streamable-http#protocol-version-header"
	)
	return []conformance.Scenario{
		{
			ID: "DISC-01", Area: "lifecycle", Title: "server/discover", Since: mcp.Version2026_07_28,
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "DISC-01/answered", "server/discover is answered with a result", "basic/versioning#protocol-version-negotiation", "Servers MUST implement server/discover."),
				rule.Quoted(conformance.Must, "DISC-03/versions", "supportedVersions is an array of strings, not empty", discover, "supportedVersions: Protocol versions the server supports."),
				rule.Quoted(conformance.Must, "DISC-03/this-version", "supportedVersions has the revision of the request", discover, "supportedVersions: Protocol versions the server supports."),
				rule.Quoted(conformance.Must, "DISC-03/capabilities", "capabilities is an object whose values are objects, and ids of extensions have a prefix", discover, "capabilities: Capabilities the server supports (tools, resources, prompts, etc.)"),
				rule.Quoted(conformance.Must, "DISC-03/instructions", "instructions, when present, is a string", discover, "instructions: Optional natural-language guidance for LLMs on how to use this server effectively"),
				rule.Quoted(conformance.Should, "DISC-03/identity", "serverInfo stands in _meta and not at the top of the result", discover, "_meta['io.modelcontextprotocol/serverInfo']: Name and version of the server software. Servers SHOULD include this field."),
				rule.Quoted(conformance.Should, "META-07/server-info", "_meta names the server, with name and version as strings", discover, "_meta['io.modelcontextprotocol/serverInfo']: Name and version of the server software. Servers SHOULD include this field."),
			},
			Run: runDiscover,
		},
		{
			ID: "DISC-05", Area: "base", Title: "the _meta that every request has to have", Since: mcp.Version2026_07_28,
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "DISC-05/version", "a request without a protocol version is refused with -32602", perCall, missing),
				rule.Quoted(conformance.Must, "DISC-05/capabilities", "a request without client capabilities is refused with -32602", perCall, missing),
				rule.Quoted(conformance.Must, "DISC-05/meta", "a request without _meta is refused with -32602", perCall, missing),
				rule.Quoted(conformance.Must, "DISC-05/params", "a request without params is refused with -32602", perCall, missing),
				rule.Quoted(conformance.Advice, "DISC-05/version-type", "a protocol version that is a number is refused", perCall, "io.modelcontextprotocol/protocolVersion | string | Yes"),
				rule.Quoted(conformance.Advice, "DISC-05/capabilities-type", "client capabilities that are an array are refused", perCall, "io.modelcontextprotocol/clientCapabilities | ClientCapabilities | Yes"),
				rule.Quoted(conformance.Must, "DISC-05/status", "over HTTP they are refused with status 400", perCall, "On HTTP, the response status MUST be 400 Bad Request."),
				rule.Quoted(conformance.Must, "META-05/anonymous", "a request without clientInfo is served", perCall, "io.modelcontextprotocol/clientInfo | Implementation | No"),
				rule.Quoted(conformance.Must, "META-03/trace", "a request with a trace context is served", perCall, "the keys traceparent, tracestate, and baggage are reserved for OpenTelemetry trace context propagation."),
			},
			Run: runRequiredMeta,
		},
		{
			ID: "DISC-06", Area: "lifecycle", Title: "a revision the server does not speak", Since: mcp.Version2026_07_28,
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "DISC-06/code", "it is refused with -32022", version, refuses),
				rule.Quoted(conformance.Must, "DISC-06/supported", "data.supported lists the revisions, with the one of this leg", version, refuses),
				rule.Quoted(conformance.Must, "DISC-06/requested", "data.requested is the revision that was asked for", "schema#unsupportedprotocolversionerror", "The protocol version that was requested by the client."),
				rule.Quoted(conformance.Must, "DISC-06/status", "over HTTP the status is 400", header, "it MUST respond with 400 Bad Request and an UnsupportedProtocolVersionError listing its supported versions."),
				rule.Quoted(conformance.Advice, "DISC-06/agrees", "data.supported and server/discover name the same revisions", version, refuses),
				rule.Quoted(conformance.Must, "DISC-06/next", "the next request, in a revision it speaks, is served", "basic/versioning#protocol-version-negotiation", "Every request declares the protocol version it is using in its _meta field."),
			},
			Run: runUnsupported,
		},
		{
			ID: "DISC-14", Area: "errors", Title: "methods the stateless era no longer has", Since: mcp.Version2026_07_28,
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "DISC-14/ping", "ping is answered with -32601", header, removed),
				rule.Quoted(conformance.Must, "DISC-14/set-level", "logging/setLevel is answered with -32601", header, removed),
				rule.Quoted(conformance.Must, "DISC-14/subscribe", "resources/subscribe is answered with -32601", header, removed),
				rule.Quoted(conformance.Must, "DISC-14/unsubscribe", "resources/unsubscribe is answered with -32601", header, removed),
				rule.Quoted(conformance.Must, "DISC-14/roots", "roots/list, a method of clients, is answered with -32601", header, removed),
				rule.Quoted(conformance.Must, "DISC-14/unknown", "a method nobody knows is answered with -32601", header, removed),
				rule.Quoted(conformance.Must, "DISC-14/status", "over HTTP their status is 404", header, removed),
				rule.Quoted(conformance.Must, "DISC-14/silent", "notifications/initialized is not answered", "basic#notifications", "The receiver MUST NOT send a response."),
				rule.Quoted(conformance.Should, "DISC-17/initialize", "an error that answers initialize names the revisions", "basic/versioning#backward-compatibility-with-initialization-based-versions", "A server that supports only modern versions SHOULD name the protocol versions it supports in any error it returns to an initialize request"),
			},
			Run: runRemoved,
		},
	}
}

func runDiscover(t *conformance.Trial) error {
	s, err := t.Raw()
	if err != nil {
		return err
	}
	a, err := s.Request(t.Ctx, mcp.MethodDiscover, nil)
	result, ok := rawjson.Object(a.Result)
	if !t.Check("DISC-01/answered", err == nil && ok, "a result", a.OrError(err)) {
		return err
	}
	var versions []string
	ok = json.Unmarshal(result["supportedVersions"], &versions) == nil && len(versions) > 0
	t.Check("DISC-03/versions", ok, "an array of strings", "supportedVersions is %s", rawjson.OrAbsent(result["supportedVersions"]))
	t.Check("DISC-03/this-version", slices.Contains(versions, string(t.Rev.Revision)), string(t.Rev.Revision)+" among them", "supportedVersions is %s", rawjson.OrAbsent(result["supportedVersions"]))
	fault := capabilitiesFault(result["capabilities"])
	t.Check("DISC-03/capabilities", fault == "", "an object of objects", "%s", fault)
	raw, there := result["instructions"]
	t.Check("DISC-03/instructions", !there || rawjson.IsString(raw), "a string, or none", "instructions is %s", rawjson.OrAbsent(raw))
	raw, there = result["serverInfo"]
	t.Check("DISC-03/identity", !there, "no serverInfo at the top", "serverInfo is %s", rawjson.OrAbsent(raw))
	meta, _ := rawjson.Object(result["_meta"])
	info, _ := rawjson.Object(meta[mcp.MetaServerInfo])
	t.Check("META-07/server-info", rawjson.IsString(info["name"]) && rawjson.IsString(info["version"]), "name and version", "%s is %s", mcp.MetaServerInfo, rawjson.OrAbsent(meta[mcp.MetaServerInfo]))
	return nil
}

// capabilitiesFault says what is wrong with the capabilities of a server, "" when
// nothing is. Ids of extensions have a prefix (DISC-16).
func capabilitiesFault(raw json.RawMessage) string {
	capabilities, ok := rawjson.Object(raw)
	if !ok {
		return "capabilities is " + rawjson.OrAbsent(raw)
	}
	for _, name := range rawjson.SortedKeys(capabilities) {
		if !rawjson.IsObject(capabilities[name]) {
			return name + " is " + rawjson.OrAbsent(capabilities[name])
		}
	}
	extensions, _ := rawjson.Object(capabilities["extensions"])
	for _, name := range rawjson.SortedKeys(extensions) {
		if prefix, _, slash := strings.Cut(name, "/"); !slash || prefix == "" || !rawjson.IsObject(extensions[name]) {
			return fmt.Sprintf("the extension %q is %s", name, rawjson.OrAbsent(extensions[name]))
		}
	}
	return ""
}

// runRequiredMeta asks for server/discover, which every server has. On stdio a
// request without a version is one of the session era for a server that speaks
// both: over HTTP the header says which is meant.
func runRequiredMeta(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	_, overHTTP := s.Conn.(*wire.HTTPConn)
	full := func(meta map[string]any) any { return s.WithMeta(map[string]any{"_meta": meta}) }
	statuses := ""
	for _, c := range []struct {
		id     string
		params any
		marked bool // the revision is in it
	}{
		{"DISC-05/version", full(map[string]any{mcp.MetaProtocolVersion: nil}), false},
		{"DISC-05/capabilities", full(map[string]any{mcp.MetaClientCapabilities: nil}), true},
		{"DISC-05/meta", struct{}{}, false},
		{"DISC-05/params", nil, false},
		{"DISC-05/version-type", full(map[string]any{mcp.MetaProtocolVersion: 7}), false},
		{"DISC-05/capabilities-type", full(map[string]any{mcp.MetaClientCapabilities: []any{}}), true},
	} {
		if !c.marked && !overHTTP && t.Rev.SpeaksSessions() {
			t.Skip(c.id, conformance.SkipTransport, "on stdio it is a request of the session era, which the server speaks, too")
			continue
		}
		t.Step(s)
		a, err := s.Misstate(t.Ctx, mcp.MethodDiscover, c.params, nil)
		if strings.HasSuffix(c.id, "-type") {
			t.Check(c.id, err == nil && a.Err != nil, "an error", a.OrError(err))
		} else {
			// A version that is missing in the body differs from that in the header, too.
			ok := a.HasCode(err, wire.CodeInvalidParams) || c.id != "DISC-05/capabilities" && a.HasCode(err, wire.CodeHeader)
			t.Check(c.id, ok, "error -32602", a.OrError(err))
			if a.Status() != 400 {
				statuses = fmt.Sprintf("%s: HTTP %d", c.id, a.Status())
			}
		}
	}
	if overHTTP {
		t.Check("DISC-05/status", statuses == "", "400 for each", "%s", statuses)
	} else {
		t.Skip("DISC-05/status", conformance.SkipTransport, "a rule of http")
	}
	t.Step(s)
	a, err := s.Misstate(t.Ctx, mcp.MethodDiscover, full(map[string]any{mcp.MetaClientInfo: nil}), nil)
	t.Check("META-05/anonymous", err == nil && a.Result != nil, "a result", a.OrError(err))
	t.Step(s)
	a, err = s.Misstate(t.Ctx, mcp.MethodDiscover, full(map[string]any{
		mcp.MetaTraceParent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", mcp.MetaBaggage: "a=1",
	}), nil)
	t.Check("META-03/trace", err == nil && a.Result != nil, "a result", a.OrError(err))
	return err
}

func runUnsupported(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	const past = "1999-01-01"
	params := s.WithMeta(map[string]any{"_meta": map[string]any{mcp.MetaProtocolVersion: past}})
	a, err := s.Misstate(t.Ctx, mcp.MethodDiscover, params, map[string][]string{wire.HeaderRevision: {past}})
	if !t.Check("DISC-06/code", a.HasCode(err, mcp.CodeUnsupportedProtocolVersion), "error -32022", a.OrError(err)) {
		for _, id := range []string{"DISC-06/supported", "DISC-06/requested", "DISC-06/agrees"} {
			t.Skip(id, conformance.SkipPrerequisite, "no error -32022 to look at")
		}
	}
	data, _ := rawjson.Object(a.ErrorData())
	var supported, offered []string
	readable := json.Unmarshal(data["supported"], &supported) == nil && slices.Contains(supported, string(t.Rev.Revision))
	t.Check("DISC-06/supported", readable, "an array with "+string(t.Rev.Revision), "data.supported is %s", rawjson.OrAbsent(data["supported"]))
	t.Check("DISC-06/requested", rawjson.Text(data["requested"]) == past, past, "data.requested is %s", rawjson.OrAbsent(data["requested"]))
	if _, overHTTP := s.Conn.(*wire.HTTPConn); overHTTP {
		t.Check("DISC-06/status", a.Status() == 400, "400", "HTTP %d", a.Status())
	} else {
		t.Skip("DISC-06/status", conformance.SkipTransport, "a rule of http")
	}
	_ = json.Unmarshal(s.Opened.Result["supportedVersions"], &offered) // DISC-03/versions judges it
	slices.Sort(supported)
	slices.Sort(offered)
	t.Check("DISC-06/agrees", slices.Equal(supported, offered), strings.Join(offered, ", "), "%s", strings.Join(supported, ", "))
	t.Step(s)
	a, err = s.Ping(t.Ctx)
	t.Check("DISC-06/next", err == nil && a.Result != nil, "a result", a.OrError(err))
	return err
}

func runRemoved(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	statuses := ""
	uri := map[string]any{"uri": "test://nothing"}
	for _, c := range []struct {
		id, method string
		params     any
	}{
		{"DISC-14/ping", mcp.MethodPing, nil},
		{"DISC-14/set-level", mcp.MethodLoggingSetLevel, map[string]any{"level": "info"}},
		{"DISC-14/subscribe", mcp.MethodResourcesSubscribe, uri},
		{"DISC-14/unsubscribe", mcp.MethodResourcesUnsubscribe, uri},
		{"DISC-14/roots", mcp.MethodRootsList, nil},
		{"DISC-14/unknown", nosuch.Method, nil},
	} {
		t.Step(s)
		a, err := s.Request(t.Ctx, c.method, c.params)
		t.Check(c.id, a.HasCode(err, wire.CodeMethodNotFound), "error -32601", a.OrError(err))
		if a.Status() != 404 {
			statuses = fmt.Sprintf("%s: HTTP %d", c.method, a.Status())
		}
	}
	if _, overHTTP := s.Conn.(*wire.HTTPConn); overHTTP {
		t.Check("DISC-14/status", statuses == "", "404 for each", "%s", statuses)
	} else {
		t.Skip("DISC-14/status", conformance.SkipTransport, "a rule of http")
	}
	t.Step(s)
	if _, err := s.Send(t.Ctx, wire.Message("", mcp.MethodInitialized, s.WithMeta(nil))); err != nil {
		return err
	}
	stray, err := s.Settle(t.Ctx)
	t.Check("DISC-14/silent", err == nil && len(stray) == 0, "no answer", "%v", strayNote(stray, err))
	return greetOldClient(t)
}

// greetOldClient says initialize as a client does that knows no better.
func greetOldClient(t *conformance.Trial) error {
	s, err := t.Raw()
	if err != nil {
		return err
	}
	a, err := s.Misstate(t.Ctx, mcp.MethodInitialize, s.InitializeParams(mcp.LatestSession),
		map[string][]string{wire.HeaderRevision: {}, wire.HeaderMethod: {}})
	named := a.Result != nil
	for _, v := range t.Rev.Report.Target.Offered {
		named = named || a.Err != nil && strings.Contains(a.Err.Message+string(a.Err.Data), v)
	}
	t.Check("DISC-17/initialize", err == nil && named, "a result, or an error that names "+string(t.Rev.Revision), a.OrError(err))
	return nil
}

func strayNote(stray []wire.Inbound, err error) string {
	if err != nil || len(stray) > 0 {
		return probe.Stray(stray, err)
	}
	return ""
}
