package calls

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// mostOffers is how many templates, prompts or completions a scenario tries.
const mostOffers = 12

// runTemplates reads URIs of each template: the examples of the user, those whose values the
// server completes, those with values that it has returned, and one that it cannot have.
func runTemplates(t *engine.Trial) {
	s := t.Shared()
	list, err := wire.WalkList(t.Ctx, s, wire.TemplateList)
	if err != nil || len(list.Entries) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "no templates") // another check judges the list
		return
	}
	v := verdicts{}
	for _, e := range first(list.Entries, mostOffers) {
		template := rawjson.Text(e["uriTemplate"])
		examples := t.Rev.Opts.Calls.Templates[template].Examples
		for _, uri := range examples {
			a := v.read(t, s, uri)
			v.see(t, "CALL-06/examples", a.Err == nil, "the contents of "+uri, "%s", a.OrError(nil))
		}
		var offered []string
		if len(examples) == 0 {
			offered = completed(t, s, template)
		}
		for _, uri := range offered {
			a := v.read(t, s, uri)
			v.see(t, "CALL-06/read", !wire.Denies(a, nil), "the contents of "+uri+", whose values the server completes", "%s", a.OrError(nil))
		}
		for _, uri := range filledIn(template, t.Rev.Known) {
			if !slices.Contains(offered, uri) {
				v.read(t, s, uri) // the values may be those of something else
			}
		}
		if t.MayProvoke("CALL-06/code", "CALL-06/unknown") {
			v.unknown(t, s, template)
		}
	}
	v.decide(t, "no template with an example in --calls, or values that the server completes")
}

// unknown reads a URI of a template whose values nothing has.
func (v verdicts) unknown(t *engine.Trial, s *wire.Session, template string) {
	for _, uri := range filledIn(template, func(string) []string { return []string{"mainstay-no-such-value"} }) {
		a := v.read(t, s, uri)
		code := int64(mcp.CodeResourceNotFound)
		if t.Rev.Stateless() {
			code = wire.CodeInvalidParams
		}
		if a.Err != nil {
			v.see(t, "CALL-06/code", a.HasCode(nil, code), fmt.Sprintf("error %d", code), "%s: %s", uri, a.Describe())
		}
		if contents := a.Contents(); a.Err != nil || contents != nil && len(contents) == 0 { // else a template may make contents of any value
			v.see(t, "CALL-06/unknown", a.Err != nil, fmt.Sprintf("error %d", code), "%s: %s", uri, a.OrError(nil))
		}
	}
}

// read reads a URI of a template.
func (v verdicts) read(t *engine.Trial, s *wire.Session, uri string) wire.Answer {
	t.Step(s)
	a, err := s.Request(t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
	t.NoError(err)
	if a.Err != nil {
		return a
	}
	for _, c := range a.Contents() {
		got := rawjson.Text(c["uri"])
		v.see(t, "CALL-06/uri", strings.HasPrefix(got, uri), uri+", or one below it", "%s", got)
	}
	return a
}

// mostValues is how many values of a variable are tried: a fault may be that of one of them.
const mostValues = 8

// completed returns URIs of a template with values that the server completes.
func completed(t *engine.Trial, s *wire.Session, template string) []string {
	if !t.Rev.Capabilities.Has("completions") {
		return nil
	}
	return filledIn(template, func(name string) []string {
		return completions(t, s, map[string]any{"type": "ref/resource", "uri": template}, name)
	})
}

// filledIn returns URIs of a template: the first has the first value of each variable, and so on.
// It returns none if a variable has no value, or is not a plain one.
func filledIn(template string, valuesOf func(name string) []string) []string {
	values := map[string][]string{}
	longest := 0
	for _, name := range variables(template) {
		values[name] = valuesOf(name)
		if len(values[name]) == 0 {
			return nil
		}
		longest = max(longest, len(values[name]))
	}
	var uris []string
	for nth := range min(longest, mostValues) {
		uri := template
		for name, all := range values {
			uri = strings.ReplaceAll(uri, "{"+name+"}", escape(all[min(nth, len(all)-1)]))
		}
		if strings.ContainsAny(uri, "{}") {
			return nil
		}
		uris = append(uris, uri)
	}
	return uris
}

// escape percent-encodes what a part of a URI may not contain.
func escape(value string) string {
	var out strings.Builder
	for _, b := range []byte(value) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("-._~", b) >= 0 {
			out.WriteByte(b)
		} else {
			const digits = "0123456789ABCDEF"
			out.Write([]byte{'%', digits[b>>4], digits[b&15]})
		}
	}
	return out.String()
}

// variables returns the names of the plain variables of a template (RFC 6570, level 1).
func variables(template string) []string {
	var names []string
	for _, part := range strings.Split(template, "{")[1:] {
		name, _, closed := strings.Cut(part, "}")
		if closed && name != "" && !strings.ContainsAny(name, "+#./;?&,*:") {
			names = append(names, name)
		}
	}
	return names
}

// completions returns the values that a server completes nothing to.
func completions(t *engine.Trial, s *wire.Session, ref map[string]any, argument string) []string {
	a, err := complete(t, s, ref, argument, "")
	t.NoError(err)
	completion, _ := completionOf(a)
	var values []string
	_ = json.Unmarshal(completion["values"], &values) // another check judges it
	return values
}

func complete(t *engine.Trial, s *wire.Session, ref map[string]any, argument, value string) (wire.Answer, error) {
	t.Step(s)
	return s.Request(t.Ctx, mcp.MethodCompletionComplete, map[string]any{"ref": ref, "argument": map[string]any{"name": argument, "value": value}})
}

func completionOf(a wire.Answer) (wire.ListEntry, bool) {
	result, _ := rawjson.Object(a.Result)
	return rawjson.Object(result["completion"])
}

// promptArguments returns the names of the arguments of a prompt.
func promptArguments(e wire.ListEntry) []string {
	var arguments []wire.ListEntry
	_ = json.Unmarshal(e["arguments"], &arguments) // another check judges it
	var names []string
	for _, a := range arguments {
		names = append(names, rawjson.Text(a["name"]))
	}
	return names
}

// runPrompts gets each prompt with all of its arguments.
func runPrompts(t *engine.Trial) {
	s := t.Shared()
	list, err := wire.WalkList(t.Ctx, s, wire.PromptList)
	if err != nil || len(list.Entries) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "no prompts") // another check judges the list
		return
	}
	v := verdicts{}
	for _, e := range first(list.Entries, mostOffers) {
		name := rawjson.Text(e["name"])
		if strings.HasPrefix(name, fixture.InputRequired) {
			continue
		}
		examples := t.Rev.Opts.Calls.Prompts[name].Examples
		for _, arguments := range examples {
			a := v.prompt(t, s, name, arguments, "CALL-07/examples")
			v.see(t, "CALL-07/examples", a.Err == nil, "its messages", "%s: %s", name, a.OrError(nil))
		}
		names := promptArguments(e)
		if len(names) == 0 {
			continue
		}
		offered := map[string][]string{}
		longest := 2
		for _, argument := range names {
			if t.Rev.Capabilities.Has("completions") {
				offered[argument] = completions(t, s, map[string]any{"type": "ref/prompt", "name": name}, argument)
			}
			if len(offered[argument]) == 0 {
				offered[argument] = t.Rev.Known(argument)
			}
			longest = max(longest, min(len(offered[argument]), mostValues))
		}
		for nth := range longest {
			arguments := map[string]string{}
			for _, argument := range names {
				if values := offered[argument]; len(values) > 0 {
					arguments[argument] = values[min(nth, len(values)-1)]
				} else {
					arguments[argument] = fixture.TextFor(argument, []string{"mainstay", "größe 日本 🦊"}[nth%2])
				}
			}
			a := v.prompt(t, s, name, arguments, "CALL-07/get")
			v.see(t, "CALL-07/get", !a.HasCode(nil, wire.CodeInternal, wire.CodeMethodNotFound), "its messages, or a refusal of the values", "%s with %s: %s", name, rawjson.Encode(arguments), a.OrError(nil))
		}
	}
	v.decide(t, "no prompt with arguments")
}

// prompt gets a prompt. A server that is lost with it breaks the check.
func (v verdicts) prompt(t *engine.Trial, s *wire.Session, name string, arguments map[string]string, id string) wire.Answer {
	t.Step(s)
	a, err := s.Request(t.Ctx, mcp.MethodPromptsGet, map[string]any{"name": name, "arguments": arguments})
	if wire.IsLost(err) && !errors.Is(err, wire.ErrLate) {
		t.Fail(id, "its messages, or a refusal of the values", "%s with %s: %v", name, rawjson.Encode(arguments), err)
		v.decide(t, "the server was lost")
	}
	t.NoError(err)
	return a
}

// runCompletions completes each argument of each prompt, and each variable of each template.
func runCompletions(t *engine.Trial) {
	s := t.Shared()
	v := verdicts{}
	asked := 0
	judge := func(ref map[string]any, what string, names []string) {
		for _, name := range names {
			if asked++; asked > mostOffers {
				return
			}
			for _, value := range []string{"", "mainstay-no-such-value"} {
				a, err := complete(t, s, ref, name, value)
				t.NoError(err)
				v.completion(t, fmt.Sprintf("%s, %s %q", what, name, value), a)
			}
		}
	}
	if list, err := wire.WalkList(t.Ctx, s, wire.PromptList); err == nil {
		for _, e := range list.Entries {
			name := rawjson.Text(e["name"])
			judge(map[string]any{"type": "ref/prompt", "name": name}, name, promptArguments(e))
		}
	}
	if list, err := wire.WalkList(t.Ctx, s, wire.TemplateList); err == nil {
		for _, e := range list.Entries {
			template := rawjson.Text(e["uriTemplate"])
			judge(map[string]any{"type": "ref/resource", "uri": template}, template, variables(template))
		}
	}
	v.decide(t, "nothing to complete")
}

// completion judges one answer to completion/complete.
func (v verdicts) completion(t *engine.Trial, what string, a wire.Answer) {
	if a.Err != nil {
		v.see(t, "CALL-08/answered", !a.HasCode(nil, wire.CodeMethodNotFound, wire.CodeInternal), "values, or none", "%s: %s", what, a.Describe())
		return
	}
	v.see(t, "CALL-08/answered", true, "", "")
	completion, _ := completionOf(a)
	var values []string
	ok := json.Unmarshal(completion["values"], &values) == nil && values != nil
	v.see(t, "CALL-08/values", ok, "an array of strings", "%s: values is %s", what, rawjson.OrAbsent(completion["values"]))
	v.see(t, "CALL-08/hundred", len(values) <= 100, "100 at most", "%s: %d", what, len(values))
	raw, there := completion["total"]
	total := 0
	isTotal := rawjson.IsInteger(raw) && json.Unmarshal(raw, &total) == nil && total >= len(values)
	v.see(t, "CALL-08/total", !there || string(raw) == "null" || isTotal, "an integer, no less than there are", "%s: total is %s of %d", what, rawjson.OrAbsent(raw), len(values))
}
