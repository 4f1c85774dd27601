package decide

import (
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
	// Words are the other words for it, such as microservices for structure, in the
	// order of Products.
	Words []string
	// Rejected are the products and words that the text wants to be without, and
	// does not name as well.
	Rejected []string
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
				return chosen(found, text)
			}
		}
	}
	return nil
}

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
		named := &found[i].Words
		if h.concept == technology {
			named = &found[i].Products
		}
		if name := spelled(text, h.said); name != "" && !slices.Contains(*named, name) {
			*named = append(*named, name)
		}
	}
	for _, t := range found {
		if replaces {
			slices.Reverse(t.Products)
			slices.Reverse(t.Words)
		}
	}
	return found
}

// chosen moves to Rejected what text only rejects.
func chosen(topics []Topic, text string) []Topic {
	kept, rejected := without(text)
	wanted, refused := topicsOf(kept, true), topicsOf(rejected, true)
	for i := range topics {
		t := &topics[i]
		yes, no := namesOf(wanted, t.Name), namesOf(refused, t.Name)
		t.Rejected = slices.DeleteFunc(no, func(name string) bool { return has(yes, name) })
		gone := func(name string) bool { return has(t.Rejected, name) }
		t.Products, t.Words = slices.DeleteFunc(t.Products, gone), slices.DeleteFunc(t.Words, gone)
	}
	return topics
}

// namesOf returns what topics have for the one of a name.
func namesOf(topics []Topic, name string) []string {
	for _, t := range topics {
		if t.Name == name {
			return slices.Concat(t.Products, t.Words)
		}
	}
	return nil
}

func has(names []string, name string) bool {
	return slices.ContainsFunc(names, func(s string) bool { return strings.EqualFold(s, name) })
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
