package stateless

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessHeaderScenarios are about the headers of a POST that repeat what its
// body says.
func statelessHeaderScenarios() []engine.Scenario {
	overHTTP := engine.Needs{Transport: conformance.TransportHTTP}
	return []engine.Scenario{
		{ID: "HTTP-30", Needs: overHTTP, Run: runMethodHeaders},
		{ID: "HTTP-31-TOOLS", Needs: engine.Needs{Transport: conformance.TransportHTTP, Capability: "tools"}, Run: runToolName},
		{ID: "HTTP-31-PROMPTS", Needs: engine.Needs{Transport: conformance.TransportHTTP, Capability: "prompts"}, Run: runPromptName},
		{ID: "HTTP-31-RESOURCES", Needs: engine.Needs{Transport: conformance.TransportHTTP, Capability: "resources"}, Run: runResourceName},
	}
}

// Codes of the range that is left to servers.
const (
	codeServer   = -32000
	codeNotFound = -32001
)

// headerCase is a request with headers of its own, and what has to come of it.
type headerCase struct {
	id   string
	with http.Header
	// served: it is to be served, else refused with -32020.
	served bool
	// or are codes that are as good as -32020.
	or []int64
}

// headerCases decides a check for each case of one request, and the check of
// the statuses, unless that is "".
func headerCases(t *engine.Trial, s *wire.Session, method string, params any, status string, cases ...headerCase) {
	wrong, refused := "", 0
	var evidence []conformance.Frame // of what is wrong
	for _, c := range cases {
		t.Step(s)
		id := s.NewID()
		a, err := s.AskWith(t.Ctx, id, s.Message(id, method, params), c.with)
		if c.served {
			// What it comes to is no matter of headers.
			ok := err == nil && !a.HasCode(nil, wire.CodeHeader)
			t.Check(c.id, ok, "no refusal", "HTTP %d, %s", a.Status(), a.OrError(err))
			continue
		}
		t.Check(c.id, a.HasCode(err, append(c.or, wire.CodeHeader)...), "error -32020", a.OrError(err))
		if err == nil && a.Err == nil && a.Status() < http.StatusMultipleChoices {
			continue // it was not refused at all
		}
		refused++
		if a.Status() != http.StatusBadRequest {
			wrong, evidence = fmt.Sprintf("%s: HTTP %d", c.id, a.Status()), t.Trace.Since(t.EvidenceFrom)
		}
	}
	switch {
	case status == "":
	case refused == 0:
		t.Skip(status, conformance.SkipPrerequisite, "none is refused")
	case wrong == "":
		t.Pass(status)
	default:
		t.FailBy(status, evidence, "400 for each", wrong)
	}
}

func runMethodHeaders(t *engine.Trial) {
	s := t.Fresh()
	spelled := func(spell func(string) string) http.Header {
		return http.Header{
			wire.HeaderMethod: {}, wire.HeaderRevision: {},
			spell(wire.HeaderMethod):   {mcp.MethodDiscover},
			spell(wire.HeaderRevision): {string(t.Rev.Revision)},
		}
	}
	cases := []headerCase{
		{id: "HTTP-30/missing", with: http.Header{wire.HeaderMethod: {}}},
		{id: "HTTP-30/other", with: http.Header{wire.HeaderMethod: {mcp.MethodToolsList}}},
		{id: "HTTP-30/case", with: http.Header{wire.HeaderMethod: {"Server/Discover"}}},
		{id: "HTTP-29/other", with: http.Header{wire.HeaderRevision: {"1999-01-01"}}, or: []int64{mcp.CodeUnsupportedProtocolVersion}},
		{id: "HTTP-11/lower-case", with: spelled(strings.ToLower), served: true},
		{id: "HTTP-11/upper-case", with: spelled(strings.ToUpper), served: true},
		{id: "HDR-11/unknown", with: http.Header{wire.HeaderParam + "Nobody-Knows": {"x"}}, served: true},
	}
	missing := headerCase{id: "HTTP-29/missing", with: http.Header{wire.HeaderRevision: {}}}
	if t.Rev.SpeaksSessions() {
		// It MAY take such a request for one of 2025-03-26, and may refuse it as that.
		missing.or = []int64{wire.CodeInvalidRequest, wire.CodeInvalidParams, wire.CodeMethodNotFound, codeServer, codeNotFound}
	}
	headerCases(t, s, mcp.MethodDiscover, nil, "HTTP-32/status", append(cases, missing)...)
}

// headerNames decides the checks of Mcp-Name for one kind of thing.
func headerNames(t *engine.Trial, s *wire.Session, kind, method, name string, params any) {
	in64 := func(text string) http.Header {
		return http.Header{wire.HeaderName: {"=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="}}
	}
	other := strings.ToUpper(name)
	if other == name {
		other = strings.ToLower(name)
	}
	headerCases(t, s, method, params, "HTTP-32/"+kind+"-status",
		headerCase{id: "HTTP-31/" + kind + "-missing", with: http.Header{wire.HeaderName: {}}},
		headerCase{id: "HTTP-31/" + kind + "-other", with: http.Header{wire.HeaderName: {"mainstay-another"}}},
		headerCase{id: "HTTP-31/" + kind + "-case", with: http.Header{wire.HeaderName: {other}}},
		headerCase{id: "HDR-05/" + kind + "-base64", with: in64(name), served: true},
		headerCase{id: "HDR-05/" + kind + "-base64-other", with: in64("mainstay-another")},
		headerCase{id: "HDR-05/" + kind + "-base64-bad", with: http.Header{wire.HeaderName: {"=?base64?%%%?="}}},
	)
}

func runToolName(t *engine.Trial) {
	name, ok := bareTool(t.Rev)
	if !ok {
		t.SkipRest(conformance.SkipSideEffects, "no tool that may be called without arguments")
		return
	}
	s := t.Fresh()
	headerNames(t, s, "tool", mcp.MethodToolsCall, name, engine.CallParams(name, struct{}{}))
}

// bareTool returns a tool that may be called and asks for no arguments; the
// official fixture of that kind when it is there.
func bareTool(l *engine.RevisionRun) (string, bool) {
	found := ""
	for _, tool := range l.Tools {
		if !l.MayCall(tool.Name) || len(fixture.ReadSchema(tool.InputSchema).Required) > 0 || strings.HasPrefix(tool.Name, "test_trigger_") {
			continue
		}
		if tool.Name == fixture.ToolSimpleText || found == "" {
			found = tool.Name
		}
	}
	return found, found != ""
}

func runPromptName(t *engine.Trial) {
	s := t.Fresh()
	prompts, err := wire.WalkList(t.Ctx, s, wire.PromptList)
	t.NoError(err)
	if len(prompts.Entries) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "no prompts")
		return
	}
	name := rawjson.Text(prompts.Entries[0]["name"])
	headerNames(t, s, "prompt", mcp.MethodPromptsGet, name, map[string]any{"name": name})
}

func runResourceName(t *engine.Trial) {
	s := t.Fresh()
	resources, err := wire.WalkList(t.Ctx, s, wire.ResourceList)
	t.NoError(err)
	if len(resources.Entries) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "no resources")
		return
	}
	uri := rawjson.Text(resources.Entries[0]["uri"])
	headerNames(t, s, "resource", mcp.MethodResourcesRead, uri, map[string]any{"uri": uri})
}
