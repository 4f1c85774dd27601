package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// choiceValue is a flag that takes one of a few words; "*" among them allows any
// date.
type choiceValue struct {
	to    *string
	words []string
}

// Choice returns a flag that stores one of the words in to, def by default. The
// word "*" means any date.
func Choice(to *string, def string, words ...string) pflag.Value {
	*to = def
	return &choiceValue{to, words}
}

// String implements [pflag.Value].
func (c *choiceValue) String() string {
	if c.to == nil {
		return ""
	}
	return *c.to
}

// formerly has words that stay in use for others.
var formerly = map[string]string{"legacy": "session", "modern": "stateless"}

// Set implements [pflag.Value].
func (c *choiceValue) Set(s string) error {
	if now := formerly[s]; slices.Contains(c.words, now) {
		s = now
	}
	date := dated.MatchString(s)
	if s == "*" || (!slices.Contains(c.words, s) && (!date || !slices.Contains(c.words, "*"))) {
		return fmt.Errorf("must be one of %s", strings.Join(c.list(), ", "))
	}
	*c.to = s
	return nil
}

// list returns the words that can be typed.
func (c *choiceValue) list() []string {
	return slices.DeleteFunc(slices.Clone(c.words), func(w string) bool { return w == "*" })
}

// Words returns the words that a flag takes, nil for one that takes anything.
func Words(flag *pflag.Flag) []string {
	if c, ok := flag.Value.(*choiceValue); ok {
		return c.list()
	}
	return nil
}

// dated matches the form of a revision.
var dated = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// Type implements [pflag.Value].
func (c *choiceValue) Type() string { return "word" }
