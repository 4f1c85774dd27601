// Package decide says whether a request needs an architecture decision record
// (tools.md §5.2, S3-ADR-01 to -05). It knows words, not meaning: the rules are
// those of the seed, and a caller who knows better sets force_adr.
package decide

import (
	"regexp"
	"strings"
)

// A Request is what the decision is made from.
type Request struct {
	Intention string
	Context   string
	ForceADR  bool
	// Known are the categories that the architecture has already, each with
	// the words by which it is meant.
	Known map[string][]string
}

// A Verdict is the decision and why it was made.
type Verdict struct {
	ADR    bool
	Reason string
}

// rules are what needs an ADR; left is what of the intention has to be judged.
func (r Request) rules(left string) []rule {
	return []rule{
		{"a migration or cross-cutting change", matches(migration, left, r.Context)},
		{"ten files or more", manyFiles(left) || manyFiles(r.Context)},
		{"a new dependency", matches(dependency, left, r.Context)},
		{"architecture, strategy or approach", matches(mention, left)},
		{"a category of architecture", matches(category, left)},
		{"a category that has a decision already", r.touchesKnown(left)},
	}
}

type rule struct {
	why  string
	hold bool
}

// Decide returns the verdict. force_adr and an explicit request win. Then what
// never needs an ADR is taken away, and what is left decides: the exemptions
// are for requests that ask for nothing else (S3-ADR-04). A word such as
// "strategy" is weaker than a bug fix: "fix the retry strategy's typo" asks for
// no decision. A hint of a language model is not asked for: it never decides
// (S3-ADR-05).
func Decide(r Request) Verdict {
	switch {
	case r.ForceADR:
		return Verdict{true, "force_adr"}
	case matches(asksADR, r.Intention, r.Context):
		return Verdict{true, "an ADR is asked for"}
	}
	left, why := rest(r.Intention)
	if left == "" && why != "" {
		return Verdict{false, why}
	}
	for _, rule := range r.rules(left) {
		if rule.hold {
			return Verdict{true, rule.why}
		}
	}
	return Verdict{false, "nothing that shapes the architecture"}
}

var (
	asksADR = words(`adrs?|architecture decision( record)?s?`)
	mention = words(`architecture|architectural|strateg(y|ies)|approach(es)?`)

	category = words(`auth|authentication|databases?|storage|cach(e|es|ing)|frameworks?|runtimes?|` +
		`deploy(s|ment|ments|ing)?|infrastructure|infra|queues?|messaging`)
	dependency = words(`new (third[- ]party |external )?(dependency|dependencies|library|libraries|package|saas|sdk|external service|third[- ]party service|service)|` +
		`(add|adding|introduce|introducing|install|installing|adopt|adopting|integrate|integrating|bring in)\b[^.]{0,60}\b` +
		`(dependency|dependencies|library|libraries|packages?|saas|sdk|third[- ]party|external service)|` +
		`(implement|implementing|build|building|create|creating|use|using|with|via|through)\b[^.]{0,60}\b` +
		`(saas|sdk|third[- ]party|external service)`)
	migration = words(`migrat(e|es|ed|ing|ion|ions)|cross[- ]cutting|across the (whole |entire )?(code ?base|system|repository|application)`)
)

func words(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + alternatives + `)\b`)
}

func matches(re *regexp.Regexp, texts ...string) bool {
	for _, t := range texts {
		if re.MatchString(t) {
			return true
		}
	}
	return false
}

func (r Request) touchesKnown(left string) bool {
	for _, names := range r.Known {
		for _, name := range names {
			if name != "" && matches(words(regexp.QuoteMeta(strings.ToLower(name))), left) {
				return true
			}
		}
	}
	return false
}
