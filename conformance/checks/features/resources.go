package features

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// resourceScenarios are about resources in both eras.
func resourceScenarios() []engine.Scenario {
	needs := engine.Needs{Capability: "resources"}
	return []engine.Scenario{
		{ID: "RES-02", Gentle: true, Needs: needs, Run: runResources},
		{ID: "RES-07", Gentle: true, Needs: needs, Run: runTemplates},
		{ID: "RES-04", Needs: engine.Needs{Capability: "resources.subscribe"}, Run: runSubscribe},
	}
}

func runResources(t *engine.Trial) {
	s := t.Shared()
	list, err := wire.WalkList(t.Ctx, s, wire.ResourceList)
	ofList := []string{"RES-02/entries", "RES-02/unique", "RES-07/members", "RES-02/read", "RES-02/uri", "RES-02/mime"}
	switch {
	case errors.Is(err, wire.ErrListRefused):
		for _, id := range ofList {
			t.Inconclusive(id, err.Error())
		}
	case err != nil:
		t.NoError(err)
		return
	}
	const unknown = "mainstay-no-such-scheme://nothing/at-all"
	entries, members, twice := "", "", ""
	seen := map[string]bool{}
	for _, e := range list.Entries {
		uri := rawjson.Text(e["uri"])
		if !observe.IsAbsoluteURI(uri) || rawjson.Text(e["name"]) == "" {
			entries = fmt.Sprintf("uri %s, name %s", rawjson.OrAbsent(e["uri"]), rawjson.OrAbsent(e["name"]))
		}
		if seen[uri] {
			twice = uri
		}
		seen[uri] = true
		if fault := resourceEntryFault(e); fault != "" {
			members = uri + ": " + fault
		}
	}
	if len(list.Entries) == 0 {
		for _, id := range ofList {
			t.Skip(id, conformance.SkipNoFixture, "no resources") // but what is decided
		}
	} else {
		t.Check("RES-02/entries", entries == "", "an absolute uri and a name", "%s", entries)
		t.Check("RES-02/unique", twice == "", "each uri once", "%s", twice)
		t.Check("RES-07/members", members == "", "the types of the schema", "%s", members)
		readEach(t, s, list.Entries[:min(10, len(list.Entries))])
	}
	if !t.MayProvoke() {
		return
	}
	t.Step(s)
	a, err := s.Request(t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": unknown})
	if t.Rev.Stateless() {
		t.Check("RES-03/code", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	} else {
		t.Check("RES-03/session-code", a.HasCode(err, mcp.CodeResourceNotFound), "error -32002", a.OrError(err))
	}
	data, _ := rawjson.Object(a.ErrorData())
	t.Check("RES-03/data", rawjson.Text(data["uri"]) == unknown, "data.uri "+unknown, a.OrError(err))
	t.NoError(err)
	readBeside(t, s, list.Entries)
}

// readBeside reads a URI that begins like a listed one and that nothing has. What is there all the
// same is no fault.
func readBeside(t *engine.Trial, s *wire.Session, entries []wire.ListEntry) {
	if len(entries) == 0 {
		t.Skip("RES-03/empty", conformance.SkipNoFixture, "no resources")
		return
	}
	t.Step(s)
	uri := rawjson.Text(entries[0]["uri"]) + "-mainstay-no-such"
	a, err := s.Request(t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
	t.NoError(err)
	if a.Err == nil && len(a.Contents()) > 0 {
		t.Skip("RES-03/empty", conformance.SkipNoFixture, "there is something at "+uri)
		return
	}
	t.Check("RES-03/empty", a.Err != nil, "an error", "%s: %s", uri, a.OrError(nil))
}

// resourceEntryFault says which optional member of a resource or template has
// not its type, "" when each has.
func resourceEntryFault(e wire.ListEntry) string {
	if raw, there := e["size"]; there && (!rawjson.IsInteger(raw) || raw[0] == '-') {
		return "size is " + rawjson.OrAbsent(raw)
	}
	if raw, there := e["mimeType"]; there && !observe.IsMIME(rawjson.Text(raw)) {
		return "mimeType is " + rawjson.OrAbsent(raw)
	}
	for _, name := range []string{"title", "description"} {
		if raw, there := e[name]; there && !rawjson.IsString(raw) {
			return name + " is " + rawjson.OrAbsent(raw)
		}
	}
	if raw, there := e["annotations"]; there {
		return observe.AudienceFault(raw)
	}
	return ""
}

func readEach(t *engine.Trial, s *wire.Session, entries []wire.ListEntry) {
	var denied, failed, other, media fault
	read, failures := 0, 0
	encoded := map[bool]int{} // failed and read ones whose uri has percent-encoding
	for _, e := range entries {
		uri := rawjson.Text(e["uri"])
		if strings.HasPrefix(uri, "https://") { // the web has it, and the server need not (server/resources#common-uri-schemes)
			continue
		}
		t.Step(s)
		a, err := s.Request(t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
		t.NoError(err)
		if a.IsInputRequired() {
			continue
		}
		if strings.Contains(uri, "%") {
			encoded[a.Err != nil]++
		}
		if a.Err != nil {
			if wire.Denies(a, nil) || uri == fixture.ResourceStatic || uri == fixture.ResourceBinary { // fixed contents need nothing that could be away
				denied.note(t, "%s: %s", uri, a.Describe())
			} else {
				failed.note(t, "%s: %s", uri, a.Describe())
				failures++
			}
			continue
		}
		contents := a.Contents()
		read += len(contents)
		for _, c := range contents {
			if got := rawjson.Text(c["uri"]); !strings.HasPrefix(got, uri) {
				other.note(t, "%s for %s", got, uri)
			}
			listed, there := e["mimeType"]
			if got, has := c["mimeType"]; there && has && len(contents) == 1 && !strings.EqualFold(rawjson.Text(got), rawjson.Text(listed)) {
				media.note(t, "%s of %s, listed as %s", rawjson.Text(got), uri, rawjson.Text(listed))
			}
		}
	}
	if read > 0 && failures > 1 && encoded[true] == failures && encoded[false] == 0 {
		denied = failed
		denied.text += ": no uri with percent-encoding can be read, all others can"
	}
	offered(t, "RES-02/read", "contents", denied, failed)
	if read == 0 {
		for _, id := range []string{"RES-02/uri", "RES-02/mime"} {
			t.Skip(id, conformance.SkipNoFixture, "no contents to look at")
		}
		return
	}
	other.decide(t, "RES-02/uri", "the uri that was asked for")
	media.decide(t, "RES-02/mime", "the same MIME type")
}

func runTemplates(t *engine.Trial) {
	s := t.Shared()
	list, err := wire.WalkList(t.Ctx, s, wire.TemplateList)
	if err != nil {
		t.SkipRest(conformance.SkipPrerequisite, err.Error())
		return // a server need not have templates; LC-14 judges the method
	}
	if len(list.Entries) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "no templates")
		return
	}
	fault := ""
	official := false
	for _, e := range list.Entries {
		template := rawjson.Text(e["uriTemplate"])
		official = official || template == "test://template/{id}/data"
		if !isTemplate(template) || rawjson.Text(e["name"]) == "" || resourceEntryFault(e) != "" {
			fault = fmt.Sprintf("uriTemplate %s, name %s %s", rawjson.OrAbsent(e["uriTemplate"]), rawjson.OrAbsent(e["name"]), resourceEntryFault(e))
		}
	}
	t.Check("RES-07/template", fault == "", "a template and a name", "%s", fault)
	if !official {
		t.SkipRest(conformance.SkipNoFixture, "no template test://template/{id}/data")
		return
	}
	for _, each := range [][2]string{{"RES-07/filled", "123"}, {"RES-07/other", "mainstay7"}} {
		id, value := each[0], each[1]
		t.Step(s)
		uri := "test://template/" + value + "/data"
		a, err := s.Request(t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
		holds := false
		for _, c := range a.Contents() {
			holds = holds || strings.Contains(rawjson.Text(c["text"]), value)
		}
		t.Check(id, err == nil && holds, value+" in the text", a.OrError(err))
	}
}

// isTemplate reports whether text has the syntax of RFC 6570: braces that pair
// and hold an expression.
func isTemplate(text string) bool {
	for text != "" {
		literal, rest, open := strings.Cut(text, "{")
		if strings.ContainsAny(literal, "} <>\"") {
			return false
		}
		if !open {
			return true
		}
		expression, after, closed := strings.Cut(rest, "}")
		names := strings.TrimLeft(expression, "+#./;?&")
		if !closed || names == "" || strings.ContainsAny(names, "{ ") {
			return false
		}
		text = after
		if text == "" {
			return true
		}
	}
	return false
}

// runSubscribe asks for news of the official resource. A server that lists it
// need not have the tool that changes it, which is of this suite.
func runSubscribe(t *engine.Trial) {
	s := t.Fresh()
	changes := talk.Offers(t.Rev, fixture.ToolChangeResource) && t.Rev.MayCall(fixture.ToolChangeResource)
	if !changes {
		list, err := wire.WalkList(t.Ctx, s, wire.ResourceList)
		t.NoError(err)
		if !list.Has(wire.ResourceList, fixture.ResourceWatched) {
			t.SkipRest(conformance.SkipNoFixture, "no resource "+fixture.ResourceWatched)
			return
		}
	}
	if w, ok := s.Conn.(*wire.HTTPConn); ok {
		_, err := w.Listen(t.Ctx, "")
		t.NoError(err)
	}
	t.Step(s)
	watched := map[string]any{"uri": fixture.ResourceWatched}
	a, err := s.Request(t.Ctx, mcp.MethodResourcesSubscribe, watched)
	t.Check("RES-04/subscribe", err == nil && wire.IsEmptyResult(a), "an empty result", a.OrError(err))
	if !changes {
		a, err = s.Request(t.Ctx, mcp.MethodResourcesUnsubscribe, watched)
		t.Check("RES-04/unsubscribe", err == nil && wire.IsEmptyResult(a), "an empty result", a.OrError(err))
		t.SkipRest(conformance.SkipNoFixture, "no tool "+fixture.ToolChangeResource) // what is left
		return
	}
	_, err = t.Call(s, fixture.ToolChangeResource, struct{}{})
	t.NoError(err)
	long := s.Timeout
	s.Timeout = min(s.Timeout, wire.NewsWait)
	in, err := s.AwaitUnsolicited(t.Ctx, func(in wire.Inbound) bool { return in.Method() == mcp.MethodResourcesUpdated })
	s.Timeout = long
	t.Check("RES-04/updated", err == nil && rawjson.Text(wire.Param(in, "uri")) == fixture.ResourceWatched, mcp.MethodResourcesUpdated, "%v, uri %s", err, rawjson.OrAbsent(wire.Param(in, "uri")))
	a, err = s.Request(t.Ctx, mcp.MethodResourcesUnsubscribe, watched)
	t.Check("RES-04/unsubscribe", err == nil && wire.IsEmptyResult(a), "an empty result", a.OrError(err))
	had := len(s.Notifications(mcp.MethodResourcesUpdated))
	_, err = t.Call(s, fixture.ToolChangeResource, struct{}{})
	t.NoError(err)
	_, err = s.Settle(t.Ctx)
	t.NoError(err)
	more := len(s.Notifications(mcp.MethodResourcesUpdated)) - had
	t.Check("RES-04/stopped", more == 0, "no news", "%d notifications", more)
}
