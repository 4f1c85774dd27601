// Package decide says whether a request needs an architecture decision record
// (tools.md §5.2, S3-ADR-01 to -05). It knows words, not meaning: the rules are
// those of the seed, and a caller who knows better sets force_adr.
package decide

import (
	"regexp"
	"strconv"
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

// The order of the rules is their precedence: force_adr and an explicit
// request win, then what never needs an ADR, then everything that does. A
// word such as "strategy" is weaker than a bug fix: "fix the retry strategy's
// typo" asks for no decision.
func (r Request) rules() []rule {
	return []rule{
		{"force_adr", true, r.ForceADR},
		{"an ADR is asked for", true, matches(asksADR, r.Intention, r.Context)},
		{"a bug fix", false, leads(bugFix, r.Intention)},
		{"a refactoring", false, leads(refactoring, r.Intention)},
		{"a change of configuration", false, matches(configOnly, r.Intention)},
		{"a migration or cross-cutting change", true, matches(migration, r.Intention, r.Context)},
		{"ten files or more", true, manyFiles(r.Intention) || manyFiles(r.Context)},
		{"a new dependency", true, matches(dependency, r.Intention, r.Context)},
		{"architecture, strategy or approach", true, matches(mention, r.Intention)},
		{"a category of architecture", true, matches(category, r.Intention)},
		{"a category that has a decision already", true, r.touchesKnown()},
	}
}

type rule struct {
	why  string
	adr  bool
	hold bool
}

// Decide returns the verdict. A hint of a language model is not asked for: it
// never decides (S3-ADR-05).
func Decide(r Request) Verdict {
	for _, rule := range r.rules() {
		if rule.hold {
			return Verdict{rule.adr, rule.why}
		}
	}
	return Verdict{false, "nothing that shapes the architecture"}
}

var (
	asksADR = words(`adrs?|architecture decision( record)?s?`)
	mention = words(`architecture|architectural|strateg(y|ies)|approach(es)?`)

	bugFix      = words(`fix(es|ed|ing)?|hotfix|bugs?|bugfix(es)?|typos?|crash(es|ed|ing)?|regression`)
	refactoring = words(`refactor(s|ed|ing|ings)?|clean ?up|cleaning up|tidy|rename[sd]?|renaming|reformat(ting)?`)
	build       = words(`add(s|ed|ing)?|introduc(e|es|ed|ing)|implement(s|ed|ing)?|build(s|ing)?|creat(e|es|ed|ing)|` +
		`replac(e|es|ed|ing)|switch(es|ed|ing)?|migrat(e|es|ed|ing)|design(s|ed|ing)?|choose|adopt(s|ed|ing)?`)

	configOnly = words(`config(uration)?[- ]only|(add|enable|configure|adding|enabling|configuring)\b[^.]{0,40}\b(oauth|oidc|sso|saml|login|social) providers?|` +
		`(change|update|set|adjust|tweak|raise|lower|increase|decrease|toggle|changing|updating|setting|adjusting)\b[^.]{0,60}\b` +
		`(config|configuration|settings?|env(ironment)? variables?|feature flags?|timeouts?|log level)`)

	category = words(`auth|authentication|databases?|storage|cach(e|es|ing)|frameworks?|runtimes?|` +
		`deploy(s|ment|ments|ing)?|infrastructure|infra|queues?|messaging`)
	dependency = words(`new (third[- ]party |external )?(dependency|dependencies|library|libraries|package|saas|sdk|external service|third[- ]party service|service)|` +
		`(add|adding|introduce|introducing|install|installing|adopt|adopting|integrate|integrating|bring in)\b[^.]{0,60}\b` +
		`(dependency|dependencies|library|libraries|packages?|saas|sdk|third[- ]party|external service)`)
	migration = words(`migrat(e|es|ed|ing|ion|ions)|cross[- ]cutting|across the (whole |entire )?(code ?base|system|repository|application)`)
	files     = words(`(\d+)\s*\+?\s*(or more |different |source )?files`)
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

// leads reports whether text is about what re finds: no word for building
// something stands before it. "Fix the form that adds users" is a fix, "add
// authentication and fix a typo" is not.
func leads(re *regexp.Regexp, text string) bool {
	at := re.FindStringIndex(text)
	if at == nil {
		return false
	}
	built := build.FindStringIndex(text)
	return built == nil || at[0] < built[0]
}

func manyFiles(text string) bool {
	for _, m := range files.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[1]); err != nil || n >= 10 {
			return true // a number that does not fit is more than ten
		}
	}
	return false
}

func (r Request) touchesKnown() bool {
	for _, names := range r.Known {
		for _, name := range names {
			if name != "" && matches(words(regexp.QuoteMeta(strings.ToLower(name))), r.Intention) {
				return true
			}
		}
	}
	return false
}
