// Package rule makes checks.
package rule

import (
	"github.com/mainstay-mcp/mainstay/conformance"
)

// Quoted is a check of a sentence of the specification.
func Quoted(level conformance.Level, id, title, section, quote string) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: level, Spec: conformance.Spec{Section: section, Quote: quote}}
}

// Pairs iterates over ids and their texts, in order.
func Pairs(list ...string) func(yield func(id, text string) bool) {
	return func(yield func(id, text string) bool) {
		for i := 0; i+1 < len(list); i += 2 {
			if !yield(list[i], list[i+1]) {
				return
			}
		}
	}
}

// Must is a check of level MUST.
func Must(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Must, Spec: spec}
}

// Should is a check of level SHOULD.
func Should(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Should, Spec: spec}
}

// Advice is a check that no sentence of the specification asks for.
func Advice(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Advice, Spec: spec}
}

// Promised is a SHOULD that binds servers which announce our error profiles.
func Promised(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Should, House: conformance.Must, Spec: spec}
}

// House is advice to most servers, and a rule for those that announce the
// error profiles of this project.
func House(id, title string, spec conformance.Spec) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Advice, House: conformance.Must, Spec: spec}
}

// SkipAll skips what the scenario has not decided yet.
func SkipAll(t *conformance.Trial, reason conformance.SkipReason, detail string) {
	for _, c := range t.Scenario.Checks {
		t.Skip(c.ID, reason, detail)
	}
}

// Seed is the source of a requirement of the seed documents.
func Seed(id string) conformance.Spec { return conformance.Spec{Seed: id} }

// Required makes a check of a seed requirement.
func Required(id, requirement, title string) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: conformance.Must, Spec: Seed(requirement)}
}
