package features

import (
	"cmp"
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
)

func toolArgumentScenarios() []engine.Scenario {
	tools := engine.Needs{Capability: "tools"}
	return []engine.Scenario{
		{ID: "X-WIRE-08", Needs: tools, Run: runMissingArguments},
		{ID: "X-WIRE-09", Needs: tools, Run: runWrongTypes},
		{ID: "X-WIRE-10", Needs: tools, Run: runLimits},
	}
}

// refusals gathers what a scenario learns from many calls that must each be
// refused, and decides two checks by it.
type refusals struct {
	t     *engine.Trial
	s     *wire.Session
	tried int
	// accepted and odd are the first call that was not refused, and the first
	// that was, otherwise than the family does.
	accepted, odd call
	// usedUp: not everything could be asked.
	usedUp bool
}

// call is what is said of a call, and what was sent and came.
type call struct {
	said   string
	frames []conformance.Frame
}

// try makes one call that must be refused. The refusal of a tool with a
// profile is an error response; that of any other may be a result with
// isError, too (TOOL-12).
func (r *refusals) try(tool, what string, arguments any) error {
	r.t.Step(r.s)
	r.tried++
	a, err := r.t.Call(r.s, tool, arguments)
	if errors.Is(err, engine.ErrUsedUp) {
		r.usedUp = true // the other families have no such limit
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s with %s: %w", tool, what, err)
	}
	result, _ := rawjson.Object(a.Result)
	isError := string(result["isError"]) == "true"
	switch {
	case a.Err == nil && !isError:
		r.note(&r.accepted, tool, what, a)
	case !r.t.Rev.RefusesArgument(tool, a):
		r.note(&r.odd, tool, what, a)
	}
	return nil
}

// valid returns arguments that the schema allows: what is changed in them is all that is wrong.
func (r *refusals) valid(tool wire.Tool, s *fixture.Schema) map[string]any {
	for _, made := range r.t.Rev.ArgumentsOf(tool) {
		var arguments map[string]any
		if json.Unmarshal(made.JSON, &arguments) == nil {
			return arguments
		}
	}
	return s.Object()
}

// note keeps the call that was just made, if it is the first of its kind.
func (r *refusals) note(first *call, tool, what string, a wire.Answer) {
	if first.said == "" {
		*first = call{tool + " with " + what + ": " + a.Describe(), r.t.Trace.Since(r.t.EvidenceFrom)}
	}
}

func (r *refusals) decide(refused, code string, err error) {
	switch {
	case r.accepted.said != "":
		r.t.FailBy(refused, r.accepted.frames, "a refusal", r.accepted.said)
	case errors.Is(err, wire.ErrLate):
		return // not observed: a tool may wait for somebody, or the machine is slow
	case err != nil:
		r.t.Fail(refused, "a refusal", "%s", err.Error())
	case r.usedUp:
		r.t.Skip(refused, conformance.SkipControl, engine.ErrUsedUp.Error())
	case r.tried == 0:
		r.t.Skip(refused, conformance.SkipNoFixture, "no schema says anything of the kind")
	default:
		r.t.Pass(refused)
	}
	switch {
	case code == "" || err != nil:
	case r.usedUp && r.odd.said == "":
		r.t.Skip(code, conformance.SkipControl, engine.ErrUsedUp.Error())
	case r.tried == 0:
		r.t.Skip(code, conformance.SkipNoFixture, "no schema says anything of the kind")
	case r.odd.said != "":
		r.t.FailBy(code, r.odd.frames, "the family's error for an invalid argument", r.odd.said)
	default:
		r.t.Pass(code)
	}
}

func runMissingArguments(t *engine.Trial) {
	t.NoError(refuse(t, "X-WIRE-08", "X-WIRE-08/code", func(r *refusals, tool wire.Tool, s *fixture.Schema) error {
		for _, name := range s.Required {
			arguments := r.valid(tool, s)
			delete(arguments, name)
			if err := r.try(tool.Name, "no "+name, arguments); err != nil {
				return err
			}
		}
		return nil
	}))
}

// refuse runs each over the tools that may be called and decides.
func refuse(t *engine.Trial, refused, code string, each func(*refusals, wire.Tool, *fixture.Schema) error) error {
	tools := t.Callable()
	if len(tools) == 0 {
		return nil
	}
	r := &refusals{t: t, s: t.Shared()}
	var err, late error // late: the other tools can be judged all the same
	for _, tool := range tools {
		err = each(r, tool, fixture.ReadSchema(tool.InputSchema))
		if errors.Is(err, wire.ErrLate) {
			late, err = err, nil
		}
		if err != nil {
			break
		}
	}
	r.decide(refused, code, cmp.Or(err, late))
	return cmp.Or(err, late)
}

// wrongFor is a value of another type for each type.
var wrongFor = map[string]any{
	"string": 7, "integer": "seven", "number": "seven", "boolean": "yes", "array": "list", "object": "object",
}

func runWrongTypes(t *engine.Trial) {
	if len(t.Callable()) == 0 {
		return
	}
	late := refuse(t, "X-WIRE-09", "X-WIRE-09/code", func(r *refusals, tool wire.Tool, s *fixture.Schema) error {
		for _, name := range rawjson.SortedKeys(s.Properties) {
			wrong, known := wrongFor[fixture.ReadSchema(s.Properties[name]).Typed()]
			if !known {
				continue
			}
			arguments := r.valid(tool, s)
			arguments[name] = wrong
			if err := r.try(tool.Name, fmt.Sprintf("%s=%v", name, wrong), arguments); err != nil {
				return err
			}
		}
		return nil
	})
	if late != nil && !errors.Is(late, wire.ErrLate) {
		t.NoError(late)
		return
	}
	err := refuse(t, "X-WIRE-09/true", "", func(r *refusals, tool wire.Tool, s *fixture.Schema) error {
		for _, name := range rawjson.SortedKeys(s.Properties) {
			if kind := fixture.ReadSchema(s.Properties[name]).Typed(); kind != "integer" && kind != "number" {
				continue
			}
			arguments := r.valid(tool, s)
			arguments[name] = true
			if err := r.try(tool.Name, name+"=true", arguments); err != nil {
				return err
			}
		}
		return nil
	})
	late = cmp.Or(late, err)
	if err != nil && !errors.Is(err, wire.ErrLate) {
		t.NoError(err)
	}
	err = refuse(t, "X-WIRE-09/arguments", "", func(r *refusals, tool wire.Tool, _ *fixture.Schema) error {
		return r.try(tool.Name, "arguments that are a list", []any{1})
	})
	t.NoError(cmp.Or(err, late))
}

func runLimits(t *engine.Trial) {
	if len(t.Callable()) == 0 {
		return
	}
	outside := func(id string, value func(*fixture.Schema) []any) {
		t.NoError(refuse(t, id, "", func(r *refusals, tool wire.Tool, s *fixture.Schema) error {
			for _, name := range rawjson.SortedKeys(s.Properties) {
				for _, v := range value(fixture.ReadSchema(s.Properties[name])) {
					arguments := r.valid(tool, s)
					arguments[name] = v
					what := name + " outside " + strings.TrimPrefix(id, "X-WIRE-10/")
					if err := r.try(tool.Name, what, arguments); err != nil {
						return err
					}
				}
			}
			return nil
		}))
	}
	for _, c := range []struct {
		id    string
		value func(*fixture.Schema) []any
	}{
		{"X-WIRE-10/length", outsideLength},
		{"X-WIRE-10/pattern", outsidePattern},
		{"X-WIRE-10/enum", outsideEnum},
		{"X-WIRE-10/range", outsideRange},
	} {
		outside(c.id, c.value)
	}
	t.NoError(refuse(t, "X-WIRE-10/additional", "", func(r *refusals, tool wire.Tool, s *fixture.Schema) error {
		if string(s.AdditionalProperties) != "false" {
			return nil
		}
		arguments := r.valid(tool, s)
		arguments["mainstay_unknown_argument"] = true
		return r.try(tool.Name, "an unknown argument", arguments)
	}))
}

// outsideLength returns the nearest strings that are too short and too long.
func outsideLength(s *fixture.Schema) []any {
	var out []any
	if s.Typed() != "string" {
		return nil
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		out = append(out, strings.Repeat("x", min(*s.MinLength-1, 1<<20)))
	}
	if s.MaxLength != nil && *s.MaxLength < 1<<20 {
		out = append(out, strings.Repeat("x", *s.MaxLength+1))
	}
	return out
}

// outsidePattern returns a string no pattern of the catalogue takes.
func outsidePattern(s *fixture.Schema) []any {
	if s.Typed() == "string" && strings.Contains(s.Pattern, `[A-Z]+-\d{3,}`) {
		return []any{"epic-6"}
	}
	return nil
}

func outsideEnum(s *fixture.Schema) []any {
	const outside = "mainstay-not-in-the-enum"
	allStrings := !slices.ContainsFunc(s.Enum, func(v json.RawMessage) bool { return !rawjson.IsString(v) })
	if len(s.Enum) > 0 && allStrings {
		return []any{outside}
	}
	return nil
}

func outsideRange(s *fixture.Schema) []any {
	var out []any
	if s.Minimum != nil {
		out = append(out, *s.Minimum-1)
	}
	if s.Maximum != nil {
		out = append(out, *s.Maximum+1)
	}
	return out
}
