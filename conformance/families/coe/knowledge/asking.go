package knowledge

import (
	"regexp"
	"slices"
	"strings"
)

// A Question is what somebody asks, and from where.
type Question struct {
	Text string
	// Context is what the asker is working on, in a few words. It is what "it" means.
	Context string
	// Task is the id of the task at hand, Subject its title: what "it" is when the
	// context does not say.
	Task, Subject string
	// Hint is terms with "|" between them, which narrow the search to sections that
	// have one, if any does.
	Hint string
}

// asked is a question as it was understood.
type asked struct {
	terms []term
	// words are all of them in lower case, with a blank before and after each.
	words string
	// subject are the words for what the question is about when it does not name that
	// itself: "How long is it kept?". Needed is set then.
	subject []term
	needed  bool
	// yesNo is set for questions that a yes or a no would answer.
	yesNo bool
	// amount is what the answer must have; nil is anything.
	amount *amount
	// counted are the things of "how many things".
	counted []term
	task    string
}

// enoughWords is how many words of its own make a question complete: with fewer,
// "it" must be known. With more, it must be what the asker names, if that is anything.
const enoughWords = 2

// understand reads a question.
func (x *Index) understand(q Question) asked {
	all := words(q.Text, false)
	l := languageOf(all)
	name := "en"
	if l != nil {
		name = l.name
	}
	a := asked{words: " " + strings.Join(all, " ") + " ", task: q.Task, yesNo: isYesNo(name, q.Text)}
	text := q.Text
	for i := range amounts {
		if at := amounts[i].asks.FindStringIndex(text); at != nil {
			a.amount = &amounts[i]
			if a.amount.counts {
				a.counted = x.terms(nextWord(text[at[1]:]))
			}
			text = text[:at[0]] + " " + text[at[1]:]
			break
		}
	}
	a.terms = x.terms(text)
	own := specific(a.terms)
	refers := pronoun.MatchString(q.Text) && !expletive.MatchString(q.Text)
	vague := len(own) == 0 && len(a.terms) > 0 || refers
	complete := len(own) >= enoughWords
	if !vague || complete && !pointsOut(q.Text, own) {
		return a
	}
	around := specific(x.terms(q.Context))
	if len(around) == 0 {
		around = specific(x.terms(q.Subject))
	}
	a.subject, a.needed = known(around), !complete || len(around) > 0
	return a
}

// pointsOut reports whether the pronoun of a question comes before its own words, and so
// means none of them: "Is it kept for 35 days?".
func pointsOut(question string, own []term) bool {
	at := pronoun.FindStringIndex(question)
	if at == nil {
		return false
	}
	before := words(question[:at[0]], false)
	return !slices.ContainsFunc(own, func(t term) bool { return slices.Contains(before, t.word) })
}

// specific returns the terms that are neither general nor everyday words.
func specific(terms []term) []term {
	var out []term
	for _, t := range terms {
		if !t.plain {
			out = append(out, t)
		}
	}
	return out
}

// known returns the specific terms that some entry has.
func known(terms []term) []term {
	var out []term
	for _, t := range specific(terms) {
		if !t.strange {
			out = append(out, t)
		}
	}
	return out
}

func nextWord(text string) string {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// yesNoVerbs are the words that such a question begins with, by language.
var yesNoVerbs = map[string]*regexp.Regexp{
	"en": begins(`is|are|am|was|were|do|does|did|can|could|should|shall|may|must|might|will|would|has|have|had|isn't|aren't|don't|doesn't|can't|shouldn't|won't`),
	"de": begins(`ist|sind|war|waren|darf|dürfen|kann|können|muss|müssen|soll|sollen|sollte|sollten|wird|werden|wurde|wurden|hat|haben|gibt|brauche|brauchen`),
	"fr": begins(`est-ce|est-il|est-elle|sont-ils|sont-elles|peut-on|puis-je|doit-on|dois-je|faut-il|y a-t-il|a-t-on|est|sont`),
	"es": begins(`es|son|está|están|puedo|puede|pueden|se puede|debo|debe|deben|hay|tiene|tienen|se`),
}

func begins(verbs string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[\s¿"']*(?:` + verbs + `)[\s-]`)
}

// denseYesNo are the particles of such questions in scripts without blanks.
var denseYesNo = regexp.MustCompile(`吗|嗎|是否|能否|能不能|可不可以|ますか|ですか`)

// inversion is a verb with its pronoun after the subject: "Les mots de passe sont-ils".
var inversion = regexp.MustCompile(`(?i)\b(?:est|sont|a|ont|peut|peuvent|doit|doivent)-(?:t-)?(?:il|elle|ils|elles)\b`)

func isYesNo(language, text string) bool {
	verbs := yesNoVerbs[language]
	return verbs != nil && verbs.MatchString(text) || denseYesNo.MatchString(text) || language == "fr" && inversion.MatchString(text) && !openFrench.MatchString(text)
}

var openFrench = word(`quand|où|comment|combien|pourquoi|quel|quels|quelle|quelles|qui`)

// word makes an expression for whole words, in upper or lower case.
func word(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\pL])(?:` + alternatives + `)(?:[^\pL]|$)`)
}

var (
	// pronoun refers to what was named before.
	pronoun = regexp.MustCompile(`(?i)\b(?:it|they|them|ihn|ihm|elle|ils|elles|cela|ceci)\b|\b(?:ist|wird|darf|muss|soll|kann) es\b|\bsie\b|-il\b|它|这个|那个|其` +
		`|\b(?:this|that|these|those)\s*(?:\?|$|(?:is|are|was|were|be|has|have|need|needs|go|get|can|should|must|may|kept|done)\b)`)
	// expletive is a pronoun that refers to nothing.
	expletive = regexp.MustCompile(`(?i)\bis it (?:possible|allowed|ok|okay|necessary|safe|required|true|recommended|permitted|enough)\b|\b(?:does|will|did) it take\b|\b(?:faut|y a-t)-il\b`)
)
