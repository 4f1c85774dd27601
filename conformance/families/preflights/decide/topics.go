package decide

import (
	"regexp"
	"slices"
	"strings"
)

// A Topic is what a decision is about, by the name that the vocabulary gives it.
type Topic struct {
	Name string
	// Products are the technologies of the topic that the text names, spelled as
	// there, such as Kafka for messaging. The one that is to come is first: what
	// replaces another is named after it.
	Products []string
}

// Topics returns what text is about, in the order of its words. A word that is
// about a topic only now and then ("upload") counts where no other word has one,
// and what is to be replaced ("instead of SQL") where nothing else has.
// A bug fix or a refactoring is about none: nothing is to be decided there.
func Topics(text string) []Topic {
	left, _ := rest(text)
	text = strings.Join(left, "\n")
	kept := displaced.ReplaceAllString(text, "")
	for _, candidate := range []string{kept, text} {
		for _, weak := range []bool{false, true} {
			if found := topicsOf(candidate, weak); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// displaced is what a request wants to be without.
var displaced = regexp.MustCompile(`(?i)\b(?:instead of|rather than|in place of|statt|anstatt|anstelle|und nicht mehr|au lieu d|plutôt qu|en lugar de|en vez de)\b.*|而不是.*|の代わり`)

func topicsOf(text string, weak bool) []Topic {
	var found []Topic
	replaces := false
	for _, h := range words().hits(text) {
		replaces = replaces || h.concept == shift || h.concept == migration
		if h.topic == "" || h.concept == part && !weak {
			continue
		}
		i := slices.IndexFunc(found, func(t Topic) bool { return t.Name == h.topic })
		if i < 0 {
			i = len(found)
			found = append(found, Topic{Name: h.topic})
		}
		if h.concept != technology {
			continue
		}
		if name := spelled(text, h.said); name != "" && !slices.Contains(found[i].Products, name) {
			found[i].Products = append(found[i].Products, name)
		}
	}
	for _, t := range found {
		if replaces {
			slices.Reverse(t.Products)
		}
	}
	return found
}

// spelled returns the words of text that are the tokens said, as they are
// written there; empty when they are not words of their own.
func spelled(text string, said []string) string {
	if joined := strings.Join(said, ""); strings.Contains(text, joined) && len([]rune(joined)) == len(said) {
		return joined // written without blanks between words
	}
	all := strings.Fields(text)
	for from := range all {
		for to := from + 1; to <= min(from+len(said), len(all)); to++ {
			words := strings.Join(all[from:to], " ")
			if slices.Equal(tokens(words), said) {
				return strings.Trim(words, ".,;:!?()'\"«»„“”")
			}
		}
	}
	return ""
}
