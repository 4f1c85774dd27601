package decide

import (
	"regexp"
	"strings"
)

// The verbs that tell what a clause is.
const (
	building = `add(?:s|ed|ing)?|introduc(?:e|es|ed|ing)|implement(?:s|ed|ing)?|build(?:s|ing)?|creat(?:e|es|ed|ing)|` +
		`replac(?:e|es|ed|ing)|switch(?:es|ed|ing)?|migrat(?:e|es|ed|ing)|design(?:s|ed|ing)?|choose|adopt(?:s|ed|ing)?|` +
		`install(?:s|ed|ing)?|integrat(?:e|es|ed|ing)|set(?:ting)? up`
	fixing      = `fix(?:es|ed|ing)?|hotfix|bugs?|bugfix(?:es)?|typos?|crash(?:es|ed|ing)?|regression`
	refactoring = `refactor(?:s|ed|ing|ings)?|clean ?up|cleaning up|tidy|rename[sd]?|renaming|reformat(?:ting)?`
	changing    = `change|update|set|adjust|tweak|raise|lower|increase|decrease|toggle|configure|enable|disable|` +
		`changing|updating|setting|adjusting|raising|lowering|increasing|decreasing|toggling|configuring|enabling|disabling`
)

var (
	adding   = anyOf(building)
	fix      = anyOf(fixing)
	refactor = anyOf(refactoring)
	// tracker is a thing about bugs, and none itself.
	tracker = anyOf(`(?:bugs?|crash(?:es)?|regression)[- ](?:report(?:s|ing|er)?|track(?:ing|er)|tests?|analytics)`)

	saysConfigOnly = anyOf(`config(?:uration)?[- ]only`)
	change         = regexp.MustCompile(`(?i)^(?:` + changing + `)\s+`)
	setting        = anyOf(`(?:(?:config(?:uration)?s?|settings?|env(?:ironment)? variables?|feature flags?|timeouts?|log levels?|` +
		`values?|files?|options?|keys?|parameters?)\s+)*(?:config(?:uration)?s?|settings?|env(?:ironment)? variables?|feature flags?|timeouts?|log levels?)` +
		`(?:\s+(?:values?|files?|options?|keys?|parameters?))?`)

	addProvider = regexp.MustCompile(`(?i)^(?:add|adding|` + changing + `)\s+`)
	provider    = anyOf(`(?:oauth2?|oidc|openid|sso|saml|login|social|identity) providers?`)

	// relation ends the object of a verb: "the deployment to Kubernetes with
	// new settings" is no setting.
	relation = anyOf(`with|to|by|for|from|in|into|on|of|using|via|through|so|that|which|because|when`)
	// another begins a second object: "the database and its settings".
	another = regexp.MustCompile(`(?i)(?:,|\b(?:and|or|plus)\b)\s*(?:$|(?:the|its|their|an?|our|new|all|some)\b)`)
	joined  = regexp.MustCompile(`(?i)^(?:\s*(?:[.!?;:,]|\b(?:and|or|plus)\b))+\s*`)

	// means is how something is done, and its group the first word of what is
	// used for it.
	means    = regexp.MustCompile(`(?i)\b(?:(?:to|by) (?:use|using|introduc(?:e|ing)|adopt(?:ing)?|switch(?:ing)?(?: to)?|mov(?:e|ing) to|migrat(?:e|ing)(?: to)?)|and use)\s+(\S+)`)
	existing = anyOf(`the|its|our|their|this|that|these|those|existing|same`)
)

// rest returns what is left of a request when all is taken away that never
// needs an ADR: bug fixes, pure refactorings, and changes of configuration
// only. The reason is that of the last thing taken away.
func rest(intention string) (left []string, why string) {
	if saysConfigOnly.MatchString(intention) {
		return nil, whyConfig
	}
	for _, clause := range clauses(intention) {
		what, because := exempt(clause)
		if because != "" {
			why = because
		}
		if what != "" {
			left = append(left, what)
		}
	}
	return left, why
}

const (
	whyFix      = "a bug fix"
	whyRefactor = "a refactoring"
	whyConfig   = "a change of configuration"
)

// exempt returns what of a clause must be judged, and why the rest need not.
func exempt(clause string) (left, why string) {
	if leads(fix, tracker.ReplaceAllString(clause, "")) {
		return "", whyFix
	}
	if leads(refactor, clause) {
		after := clause[refactor.FindStringIndex(clause)[1]:]
		if says(after, mention) {
			return after, whyRefactor // not within the patterns there are
		}
		return brought(after), whyRefactor
	}
	plain := withoutPreamble(clause)
	if open := preface.FindString(plain); strings.Contains(open, ",") {
		plain = withoutPreamble(plain[len(open):])
	}
	for _, config := range []struct{ verb, object *regexp.Regexp }{{addProvider, provider}, {change, setting}} {
		verb := config.verb.FindString(plain)
		if verb == "" || strings.HasPrefix(plain[len(verb):], "up ") {
			continue // to set up a thing is to build it
		}
		if left, ok := configured(plain[len(verb):], config.object); ok {
			return left, whyConfig
		}
	}
	return clause, ""
}

// configured reports whether the object of a verb, at the beginning of text, is
// a thing of configuration, and returns what text says beyond it.
func configured(text string, thing *regexp.Regexp) (left string, ok bool) {
	at := thing.FindStringIndex(text)
	if at == nil {
		return text, false
	}
	before, after := text[:at[0]], text[at[1]:]
	if relation.MatchString(before) || another.MatchString(before) || thing == provider && says(before, concern) {
		return text, false
	}
	if next := joined.FindString(after); next != "" {
		if left, ok := configured(after[len(next):], thing); ok {
			return left, true
		}
		return after[len(next):], true
	}
	after = strings.TrimSpace(after)
	if first, _, _ := strings.Cut(after, " "); first != "" && !relation.MatchString(first) && !strings.HasPrefix(first, "(") {
		return text, false // "the configuration database" is a database
	}
	return brought(after), true
}

// brought returns what a clause brings in as a means to its end, or nothing:
// a new dependency, or the use of what is not known to be there.
func brought(text string) string {
	if says(text, dependency) {
		return text
	}
	if at := means.FindStringSubmatchIndex(text); at != nil && !existing.MatchString(text[at[2]:at[3]]) {
		return text[at[0]:]
	}
	return ""
}

// leads reports whether text is about what re finds: no word for building
// something stands before it. "Fix the form that adds users" is a fix, "a new
// form for bugs" is none.
func leads(re *regexp.Regexp, text string) bool {
	at := re.FindStringIndex(text)
	if at == nil {
		return false
	}
	built := adding.FindStringIndex(text)
	return built == nil || at[0] < built[0]
}
