package checks

import "github.com/mainstay-mcp/mainstay/conformance"

// quoted is a check of a sentence of the specification.
func quoted(level conformance.Level, id, title, section, quote string) conformance.Check {
	return conformance.Check{ID: id, Title: title, Level: level, Spec: conformance.Spec{Section: section, Quote: quote}}
}
