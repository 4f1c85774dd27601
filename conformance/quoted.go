package conformance

// quoted is a check of a sentence of the specification.
func quoted(level Level, id, title, section, quote string) Check {
	return Check{ID: id, Title: title, Level: level, Spec: Spec{Section: section, Quote: quote}}
}
