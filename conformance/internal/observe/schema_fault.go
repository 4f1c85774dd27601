package observe

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// faultOf puts the error of a schema into words: where in the message the fault is, and what it
// is. The library names the way through the schema instead, which nobody reads.
func faultOf(text string) string {
	trunk, branches, _ := strings.Cut(text, "\n")
	where, what := faultIn(trunk)
	if branches == "" {
		return join(where, what)
	}
	// None of several schemas fits. The one that is meant names the fault; the others say
	// that the message has another type than theirs.
	var missing []string
	meant := ""
	for line := range strings.Lines(branches) {
		in, is := faultIn(strings.TrimSpace(line))
		switch name, lacks := strings.CutPrefix(is, "has no "); {
		case lacks && in == "":
			missing = append(missing, name)
		case meant == "" && !strings.Contains(line, ": const: "):
			meant = join(where+in, is)
		}
	}
	switch {
	case meant != "":
		return meant
	case missing != nil:
		return join(where, "has no "+strings.Join(missing, ", and no "))
	}
	return join(where, "is none of its types")
}

func join(where, what string) string {
	where = strings.TrimPrefix(where, ".")
	if where == "" {
		where = "it"
	}
	return where + " " + what
}

var (
	step      = lazyregexp.New(`validating (\S+): `)
	wrongType = lazyregexp.New(`^type: .* has type "(\w+)", want (?:one of )?"([^"]+)"$`)
	wrongEnum = lazyregexp.New(`^enum: (.*) does not equal any of: \[(.*)\]$`)
	wrongWord = lazyregexp.New(`^const: (.*) does not equal (.*)$`)
	lacks     = lazyregexp.New(`^required: missing properties: \[(.*)\]$`)
)

// faultIn returns the place in the message, such as .messages[].role, and what is wrong there.
func faultIn(line string) (where, what string) {
	end := 0
	for _, at := range step.FindAllStringSubmatchIndex(line, -1) {
		if at[0] != end {
			break // a part of a value
		}
		end = at[1]
		parts := strings.Split(line[at[2]:at[3]], "/")
		switch last := parts[len(parts)-1]; {
		case len(parts) > 1 && parts[len(parts)-2] == "properties":
			where += "." + last
		case last == "items":
			where += "[]"
		case last == "additionalProperties":
			where += ".*"
		}
	}
	what = line[end:]
	for _, form := range []struct {
		is   *lazyregexp.Regexp
		said func(m []string) string
	}{
		{wrongType, func(m []string) string { return "is " + m[1] + ", not " + strings.ReplaceAll(m[2], ", ", " or ") }},
		{wrongEnum, func(m []string) string { return "is " + m[1] + ", not one of " + strings.ReplaceAll(m[2], " ", ", ") }},
		{wrongWord, func(m []string) string { return "is " + m[1] + ", not " + m[2] }},
		{lacks, func(m []string) string {
			return "has no " + strings.ReplaceAll(strings.ReplaceAll(m[1], `" "`, ", "), `"`, "")
		}},
	} {
		if m := form.is.FindStringSubmatch(what); m != nil {
			return where, form.said(m)
		}
	}
	return where, what
}
