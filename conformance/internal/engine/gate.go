package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// gate is the reason why a scenario does not run.
type gate struct {
	reason conformance.SkipReason
	detail string
	// broken: the server promised what is missing, so its checks fail.
	broken   bool
	expected string
}

// includes reports whether a scenario is part of the run. Others are not in the report.
func (l *RevisionRun) includes(sc *Scenario) bool {
	suite := sc.suite()
	switch {
	case len(l.Opts.Suites) > 0:
		return slices.Contains(l.Opts.Suites, suite)
	case suite == SuiteProtocol, l.declares(sc.Needs.Profile):
		return true
	}
	return slices.ContainsFunc(l.Opts.Only, func(pattern string) bool { return matchesAny(pattern, []Scenario{*sc}) })
}

// gate returns nil when the scenario applies and may run.
func (l *RevisionRun) gate(sc *Scenario) *gate {
	n := sc.Needs
	switch {
	case n.Transport != "" && n.Transport != l.Report.Target.Transport:
		return &gate{reason: conformance.SkipTransport, detail: "a rule of " + string(n.Transport)}
	case l.outside(sc.Since, sc.Until) != "":
		return &gate{reason: conformance.SkipNotInRevision, detail: l.outside(sc.Since, sc.Until)}
	case n.Capability != "" && !slices.ContainsFunc(strings.Split(n.Capability, "|"), l.Capabilities.Has):
		return &gate{reason: conformance.SkipNotDeclared, detail: "capabilities." + strings.ReplaceAll(n.Capability, "|", ", ") + " absent"}
	case n.Extension != "" && !l.extends(n.Extension):
		return &gate{reason: conformance.SkipNotDeclared, detail: "the extension " + n.Extension + " is not declared"}
	}
	if g := l.toolGate(n); g != nil {
		return g
	}
	switch {
	case n.Control != "":
		return &gate{reason: conformance.SkipControl, detail: "needs " + n.Control}
	case n.Process && !l.IsProcess():
		return &gate{reason: conformance.SkipControl, detail: "needs a server the suite starts as a program"}
	case n.Fixture != "" && l.Environment.Lacks(n.Fixture) != "":
		return &gate{reason: conformance.SkipControl, detail: "needs " + l.Environment.Lacks(n.Fixture)}
	}
	return l.gentle.gate(sc)
}

// outside returns why the revision is outside a range, "" if it is inside.
func (l *RevisionRun) outside(since, until mcp.Version) string {
	switch {
	case since != "" && l.Revision.Known() && !l.Revision.AtLeast(since):
		return "since " + string(since)
	case until != "" && l.Revision.Known() && !until.AtLeast(l.Revision):
		return "until " + string(until)
	default:
		return ""
	}
}

func (l *RevisionRun) toolGate(n Needs) *gate {
	for _, name := range n.Tools {
		listed := slices.ContainsFunc(l.Tools, func(t wire.Tool) bool { return t.Name == name })
		switch {
		case !listed && l.ToolsErr != nil:
			return &gate{reason: conformance.SkipPrerequisite, detail: "tools/list: " + l.ToolsErr.Error()}
		case !listed && n.Profile != "" && l.declares(n.Profile):
			return &gate{
				broken: true, expected: "the tools of a declared error profile",
				detail: "the error profile " + n.Profile + " is declared and " + name + " is not listed",
			}
		case !listed:
			return &gate{reason: conformance.SkipNoFixture, detail: "no tool " + name}
		case !l.MayCall(name):
			reason, detail := l.forbidden(name)
			return &gate{reason: reason, detail: detail}
		}
	}
	return nil
}

// extends reports whether the server declares an extension.
func (l *RevisionRun) extends(id string) bool {
	extensions, _ := rawjson.Object(l.Capabilities["extensions"])
	return rawjson.IsObject(extensions[id])
}

// declares reports whether the server announces an error profile, or any.
func (l *RevisionRun) declares(profile string) bool {
	for _, p := range l.profiles {
		if p == profile || profile == AnyProfile {
			return true
		}
	}
	return false
}

// MayCall reports whether a tool may be called.
func (l *RevisionRun) MayCall(name string) bool {
	if l.Gentle() {
		return l.mayCallGently(name)
	}
	if said := l.Opts.Calls.Tools[name].Call; said != nil {
		return *said
	}
	if l.grant == conformance.SideEffectsAll || slices.Contains(l.Opts.AllowTools, name) || fixture.IsTool(name) {
		return true
	}
	return l.grant == conformance.SideEffectsReadOnly && slices.ContainsFunc(l.Tools, func(t wire.Tool) bool {
		return t.Name == name && t.Annotations.ReadOnlyHint
	})
}

// Has reports whether a path such as "tools.listChanged" is declared: false
// and null are not.
func (c ServerCapabilities) Has(path string) bool {
	raw := c.At(path)
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "false"
}

// At returns the value at a path, nil when there is none.
func (c ServerCapabilities) At(path string) json.RawMessage {
	members := map[string]json.RawMessage(c)
	for {
		part, below, more := strings.Cut(path, ".")
		raw := members[part]
		if !more {
			return raw
		}
		members, path = nil, below
		_ = json.Unmarshal(raw, &members) // not an object: nothing below it
	}
}

// selects reports whether the options ask for a check.
func selects(o *conformance.Options, sc *Scenario, check string) bool {
	hit := func(pattern string) bool { return matches(pattern, sc, check) }
	if len(o.Only) > 0 && !slices.ContainsFunc(o.Only, hit) {
		return false
	}
	return !slices.ContainsFunc(o.Skip, hit)
}

func matches(pattern string, sc *Scenario, check string) bool {
	return conformance.Match(pattern, check, sc.ID, sc.Area)
}

// knownPatterns reports whether a pattern matches a check of the scenarios.
func knownPatterns(scenarios []Scenario) func(pattern string) bool {
	return func(pattern string) bool { return matchesAny(pattern, scenarios) }
}

func matchesAny(pattern string, scenarios []Scenario) bool {
	for i := range scenarios {
		for _, c := range scenarios[i].Checks {
			if matches(pattern, &scenarios[i], c.ID) {
				return true
			}
		}
	}
	return false
}
