package auth

import "time"

// tries counts logins that may be in vain, by what they are for: a person is not asked
// again and again for what a server refuses in spite of it.
type tries map[string]tried

type tried struct {
	first time.Time
	times int
}

const (
	// mostTries bounds logins for the same thing within triesMemory.
	mostTries   = 2
	triesMemory = 10 * time.Minute
	// mostNames bounds what a server can want.
	mostNames = 64
)

// another counts one more login, and reports whether it may begin.
func (t *tries) another(name string) bool {
	for other, r := range *t {
		if time.Since(r.first) > triesMemory {
			delete(*t, other)
		}
	}
	r, known := (*t)[name]
	if r.times >= mostTries || !known && len(*t) >= mostNames {
		return false
	}
	if *t == nil {
		*t = tries{}
	}
	if r.times++; !known {
		r.first = time.Now()
	}
	(*t)[name] = r
	return true
}
