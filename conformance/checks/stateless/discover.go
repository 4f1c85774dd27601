package stateless

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessDiscoverScenarios are about what a stateless server says of itself
// and what it asks of the _meta of each request.
func statelessDiscoverScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "DISC-01", Starts: 1, Gentle: true, Run: runDiscover},
		{ID: "DISC-05", Run: runRequiredMeta},
		{ID: "DISC-06", Starts: 1, Run: runUnsupported},
		{ID: "DISC-14", Starts: 1, Run: runRemoved},
	}
}

func runDiscover(t *engine.Trial) {
	s := t.Raw()
	a, err := s.Request(t.Ctx, mcp.MethodDiscover, nil)
	result, ok := rawjson.Object(a.Result)
	if !t.Check("DISC-01/answered", err == nil && ok, "a result", a.OrError(err)) {
		t.NoError(err)
		return
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
func runRequiredMeta(t *engine.Trial) {
	s := t.Fresh()
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
	t.NoError(err)
}

func runUnsupported(t *engine.Trial) {
	s := t.Fresh()
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
	t.NoError(err)
}

func runRemoved(t *engine.Trial) {
	s := t.Fresh()
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
		{"DISC-14/unknown", fixture.NoMethod, nil},
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
	_, err := s.Send(t.Ctx, wire.Message("", mcp.MethodInitialized, s.WithMeta(nil)))
	t.NoError(err)
	stray, err := s.Settle(t.Ctx)
	t.Check("DISC-14/silent", err == nil && len(stray) == 0, "no answer", "%v", strayNote(stray, err))
	greetOldClient(t)
}

// greetOldClient says initialize as a client does that knows no better.
func greetOldClient(t *engine.Trial) {
	s := t.Raw()
	a, err := s.Misstate(t.Ctx, mcp.MethodInitialize, s.InitializeParams(mcp.LatestSession),
		map[string][]string{wire.HeaderRevision: {}, wire.HeaderMethod: {}})
	named := a.Result != nil
	for _, v := range t.Rev.Report.Target.Offered {
		named = named || a.Err != nil && strings.Contains(a.Err.Message+string(a.Err.Data), v)
	}
	t.Check("DISC-17/initialize", err == nil && named, "a result, or an error that names "+string(t.Rev.Revision), a.OrError(err))
}

func strayNote(stray []wire.Inbound, err error) string {
	if err != nil || len(stray) > 0 {
		return talk.Stray(stray, err)
	}
	return ""
}
