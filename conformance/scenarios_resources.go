package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// resourceScenarios are about resources in both eras.
func resourceScenarios() []Scenario {
	const (
		page      = "server/resources"
		data      = page + "#resource"
		contents  = page + "#resource-contents"
		templates = page + "#resource-templates"
	)
	needs := Needs{Capability: "resources"}
	missing := "Servers SHOULD return standard JSON-RPC errors for common failure cases: Resource not found: -32002"
	return []Scenario{
		{
			ID: "RES-02", Area: "resources", Title: "what is listed can be read", Needs: needs,
			Checks: []Check{
				quoted(Must, "RES-02/entries", "each resource has an absolute uri and a name", data, "uri: Unique identifier for the resource; name: The name of the resource."),
				quoted(Advice, "RES-02/unique", "no uri is listed twice", data, "uri: Unique identifier for the resource"),
				quoted(Must, "RES-07/members", "size, mimeType, title and annotations, when present, have their types", data, "size: Optional size in bytes"),
				quoted(Advice, "RES-02/read", "each of the first ten can be read", page+"#reading-resources", "To retrieve resource contents, clients send a resources/read request"),
				quoted(Advice, "RES-02/uri", "what is read names the uri it was asked for, or one below it", contents, "The URI of this resource."),
				quoted(Advice, "RES-02/mime", "what is read has the MIME type it is listed with", data, "mimeType: Optional MIME type"),
				{
					ID: "RES-03/code", Title: "an unknown resource is refused with -32602", Level: Must, Since: mcp.Version2026_07_28,
					Spec: Spec{Section: page + "#error-handling", Quote: "If the requested resource does not exist, servers MUST return a JSON-RPC error with code -32602 (Invalid Params)."},
				},
				{ID: "RES-03/session-code", Title: "an unknown resource is refused with -32002", Level: Should, House: Must, Until: mcp.LatestSession, Spec: Spec{Section: page + "#error-handling", Quote: missing}},
				quoted(Advice, "RES-03/data", "data.uri says which", page+"#error-handling", missing),
			},
			run: runResources,
		},
		{
			ID: "RES-07", Area: "resources", Title: "templates", Needs: needs,
			Checks: []Check{
				quoted(Must, "RES-07/template", "each template is one of RFC 6570, with a name", templates, "Resource templates allow servers to expose parameterized resources using URI templates."),
				{ID: "RES-07/filled", Title: "the official template is read with its value", Level: Must, Spec: Spec{Section: templates, Quote: "Resource templates allow servers to expose parameterized resources using URI templates."}},
				{ID: "RES-07/other", Title: "and with another value it is another text", Level: Must, Spec: Spec{Section: templates, Quote: "Resource templates allow servers to expose parameterized resources using URI templates."}},
			},
			run: runTemplates,
		},
		{
			ID: "RES-04", Area: "resources", Title: "subscriptions to a resource", Until: mcp.LatestSession, Needs: Needs{Capability: "resources.subscribe"},
			Checks: []Check{
				{ID: "RES-04/subscribe", Title: "resources/subscribe is answered with an empty result", Level: Must, Spec: Spec{Section: page + "#subscriptions", Quote: "The protocol supports optional subscriptions to resource changes."}},
				quoted(Must, "RES-04/updated", "a change is told, with the uri", page+"#subscriptions", "Clients can subscribe to specific resources and receive notifications when they change"),
				{ID: "RES-04/unsubscribe", Title: "resources/unsubscribe is answered with an empty result", Level: Must, Spec: Spec{Section: page + "#subscriptions", Quote: "The protocol supports optional subscriptions to resource changes."}},
				quoted(Must, "RES-04/stopped", "after it no change is told", page+"#subscriptions", "Clients can subscribe to specific resources and receive notifications when they change"),
			},
			run: runSubscribe,
		},
	}
}

func runResources(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	list, err := walk(t.ctx, s, resourceKind)
	ofList := []string{"RES-02/entries", "RES-02/unique", "RES-07/members", "RES-02/read", "RES-02/uri", "RES-02/mime"}
	switch {
	case errors.Is(err, errRefused):
		for _, id := range ofList {
			t.unknown(id, err.Error())
		}
	case err != nil:
		return err
	}
	const unknown = "mainstay-no-such-scheme://nothing/at-all"
	entries, members, twice := "", "", ""
	seen := map[string]bool{}
	for _, e := range list.entries {
		uri := rawjson.Text(e["uri"])
		if !isAbsoluteURI(uri) || rawjson.Text(e["name"]) == "" {
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
	if len(list.entries) == 0 {
		for _, id := range ofList {
			t.skip(id, SkipNoFixture, "no resources") // but what is decided
		}
	} else {
		t.check("RES-02/entries", entries == "", "an absolute uri and a name", "%s", entries)
		t.check("RES-02/unique", twice == "", "each uri once", "%s", twice)
		t.check("RES-07/members", members == "", "the types of the schema", "%s", members)
		if err := readEach(t, s, list.entries[:min(10, len(list.entries))]); err != nil {
			return err
		}
	}
	t.step(s)
	a, err := s.Request(t.ctx, mcp.MethodResourcesRead, map[string]any{"uri": unknown})
	if t.leg.stateless() {
		t.check("RES-03/code", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	} else {
		t.check("RES-03/session-code", a.HasCode(err, mcp.CodeResourceNotFound), "error -32002", a.OrError(err))
	}
	data, _ := rawjson.Object(a.ErrorData())
	t.check("RES-03/data", rawjson.Text(data["uri"]) == unknown, "data.uri "+unknown, a.OrError(err))
	return err
}

// resourceEntryFault says which optional member of a resource or template has
// not its type, "" when each has.
func resourceEntryFault(e entry) string {
	if raw, there := e["size"]; there && (!rawjson.IsInteger(raw) || raw[0] == '-') {
		return "size is " + rawjson.OrAbsent(raw)
	}
	if raw, there := e["mimeType"]; there && !isMIME(rawjson.Text(raw)) {
		return "mimeType is " + rawjson.OrAbsent(raw)
	}
	for _, name := range []string{"title", "description"} {
		if raw, there := e[name]; there && !rawjson.IsString(raw) {
			return name + " is " + rawjson.OrAbsent(raw)
		}
	}
	if raw, there := e["annotations"]; there {
		return audienceFault(raw)
	}
	return ""
}

func readEach(t *trial, s *wire.Session, entries []entry) error {
	denied, failed, other, media := "", "", "", ""
	read := 0
	for _, e := range entries {
		uri := rawjson.Text(e["uri"])
		a, err := s.Request(t.ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
		if err != nil {
			return err
		}
		if a.IsInputRequired() {
			continue
		}
		if a.Err != nil {
			if denies(a, nil) || uri == resourceStatic || uri == resourceBinary { // fixed contents need nothing that could be away
				denied = uri + ": " + a.Describe()
			} else {
				failed = uri + ": " + a.Describe()
			}
			continue
		}
		contents := contents(a)
		read += len(contents)
		for _, c := range contents {
			if got := rawjson.Text(c["uri"]); !strings.HasPrefix(got, uri) {
				other = fmt.Sprintf("%s for %s", got, uri)
			}
			listed, there := e["mimeType"]
			if got, has := c["mimeType"]; there && has && len(contents) == 1 && !strings.EqualFold(rawjson.Text(got), rawjson.Text(listed)) {
				media = fmt.Sprintf("%s of %s, listed as %s", rawjson.Text(got), uri, rawjson.Text(listed))
			}
		}
	}
	offered(t, "RES-02/read", "contents", denied, failed)
	if read == 0 {
		for _, id := range []string{"RES-02/uri", "RES-02/mime"} {
			t.skip(id, SkipNoFixture, "no contents to look at")
		}
		return nil
	}
	t.check("RES-02/uri", other == "", "the uri that was asked for", "%s", other)
	t.check("RES-02/mime", media == "", "the same MIME type", "%s", media)
	return nil
}

// contents returns those of an answer to resources/read.
func contents(a wire.Answer) []entry {
	result, _ := rawjson.Object(a.Result)
	var contents []entry
	_ = json.Unmarshal(result["contents"], &contents) // RES-02/contents judges it
	return contents
}

func runTemplates(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	list, err := walk(t.ctx, s, templateKind)
	if err != nil {
		skipAll(t, SkipPrerequisite, err.Error())
		return nil // a server need not have templates; LC-14 judges the method
	}
	if len(list.entries) == 0 {
		skipAll(t, SkipNoFixture, "no templates")
		return nil
	}
	fault := ""
	official := false
	for _, e := range list.entries {
		template := rawjson.Text(e["uriTemplate"])
		official = official || template == "test://template/{id}/data"
		if !isTemplate(template) || rawjson.Text(e["name"]) == "" || resourceEntryFault(e) != "" {
			fault = fmt.Sprintf("uriTemplate %s, name %s %s", rawjson.OrAbsent(e["uriTemplate"]), rawjson.OrAbsent(e["name"]), resourceEntryFault(e))
		}
	}
	t.check("RES-07/template", fault == "", "a template and a name", "%s", fault)
	if !official {
		skipAll(t, SkipNoFixture, "no template test://template/{id}/data")
		return nil
	}
	for id, value := range pairs("RES-07/filled", "123", "RES-07/other", "mainstay7") {
		t.step(s)
		uri := "test://template/" + value + "/data"
		a, err := s.Request(t.ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
		holds := false
		for _, c := range contents(a) {
			holds = holds || strings.Contains(rawjson.Text(c["text"]), value)
		}
		t.check(id, err == nil && holds, value+" in the text", a.OrError(err))
	}
	return nil
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
func runSubscribe(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	changes := lists(t.leg, toolChangeResource) && t.leg.mayCall(toolChangeResource)
	if !changes {
		list, err := walk(t.ctx, s, resourceKind)
		if err != nil {
			return err
		}
		if !list.has(resourceKind, resourceWatched) {
			skipAll(t, SkipNoFixture, "no resource "+resourceWatched)
			return nil
		}
	}
	if w, ok := s.Conn.(*wire.HTTPConn); ok {
		if _, err := w.Listen(t.ctx, ""); err != nil {
			return err
		}
	}
	t.step(s)
	watched := map[string]any{"uri": resourceWatched}
	a, err := s.Request(t.ctx, mcp.MethodResourcesSubscribe, watched)
	t.check("RES-04/subscribe", err == nil && isEmpty(a), "an empty result", a.OrError(err))
	if !changes {
		a, err = s.Request(t.ctx, mcp.MethodResourcesUnsubscribe, watched)
		t.check("RES-04/unsubscribe", err == nil && isEmpty(a), "an empty result", a.OrError(err))
		skipAll(t, SkipNoFixture, "no tool "+toolChangeResource) // what is left
		return nil
	}
	if _, err := t.call(s, toolChangeResource, struct{}{}); err != nil {
		return err
	}
	long := s.Wait
	s.Wait = min(s.Wait, newsWait)
	in, err := s.Note(t.ctx, func(in wire.Inbound) bool { return in.Method() == mcp.MethodResourcesUpdated })
	s.Wait = long
	t.check("RES-04/updated", err == nil && rawjson.Text(paramMember(in, "uri")) == resourceWatched, mcp.MethodResourcesUpdated, "%v, uri %s", err, rawjson.OrAbsent(paramMember(in, "uri")))
	a, err = s.Request(t.ctx, mcp.MethodResourcesUnsubscribe, watched)
	t.check("RES-04/unsubscribe", err == nil && isEmpty(a), "an empty result", a.OrError(err))
	had := len(s.Noted(mcp.MethodResourcesUpdated))
	if _, err := t.call(s, toolChangeResource, struct{}{}); err != nil {
		return err
	}
	if _, err := s.Settle(t.ctx); err != nil {
		return err
	}
	more := len(s.Noted(mcp.MethodResourcesUpdated)) - had
	t.check("RES-04/stopped", more == 0, "no news", "%d notifications", more)
	return nil
}

// isEmpty reports whether an answer is a result without members but _meta.
func isEmpty(a wire.Answer) bool {
	result, ok := rawjson.Object(a.Result)
	for name := range result {
		ok = ok && (name == "_meta" || name == "resultType")
	}
	return ok
}
