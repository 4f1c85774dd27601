package decide

import (
	"regexp"
	"strconv"
	"strings"
)

// many is how many files make a change one of architecture (S3-ADR-02).
const many = 10

var (
	digits = regexp.MustCompile(`(?i)\b(more than |over |above )?(\d+(?:[,.'_ ]\d{3})*)\s*\+?\s*((?:[a-z-]+\s+){0,3})files\b`)
	spelt  = regexp.MustCompile(`(?i)\b(?:ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|` +
		`(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-[a-z]+)?|dozens?|hundreds?|thousands?)\s+((?:[a-z-]+\s+){0,3})files\b`)
	// between says that the number counts something else: "10 lines in the files".
	between = anyOf(`in|to|for|from|of the|on|at|by|with|across|per|into|the`)
)

// manyFiles reports whether text expects ten files or more.
func manyFiles(text string) bool {
	for _, m := range digits.FindAllStringSubmatch(text, -1) {
		if between.MatchString(m[3]) {
			continue
		}
		n, err := strconv.Atoi(strings.NewReplacer(",", "", ".", "", "'", "", "_", "", " ", "").Replace(m[2]))
		if m[1] != "" {
			n++
		}
		if err != nil || n >= many { // a number that does not fit is more than ten
			return true
		}
	}
	for _, m := range spelt.FindAllStringSubmatch(text, -1) {
		if !between.MatchString(m[1]) {
			return true
		}
	}
	return false
}
