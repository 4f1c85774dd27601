package flags

import (
	"strings"

	"github.com/spf13/pflag"
)

// texts is a flag that may be given several times. That of pflag writes its values as CSV when it is
// made: four kilobytes for each flag, in each run.
type texts struct {
	to *[]string
	// commas: a value may be several, with commas between them.
	commas bool
}

// Texts adds a repeatable flag to a set. Each value is appended to to as it was typed.
func Texts(set *pflag.FlagSet, to *[]string, name, usage string) { TextsP(set, to, name, "", usage) }

// TextsP is Texts for a flag with a short form.
func TextsP(set *pflag.FlagSet, to *[]string, name, short, usage string) {
	*to = nil
	set.VarP(&texts{to: to}, name, short, usage)
}

// TextsOrList is Texts for a flag whose value may also be several, with commas between them.
func TextsOrList(set *pflag.FlagSet, to *[]string, name, usage string) {
	*to = nil
	set.Var(&texts{to: to, commas: true}, name, usage)
}

// String implements [pflag.Value].
func (t *texts) String() string {
	if t.to == nil {
		return ""
	}
	return strings.Join(*t.to, ",")
}

// Set implements [pflag.Value].
func (t *texts) Set(s string) error {
	if t.commas {
		*t.to = append(*t.to, strings.Split(s, ",")...)
	} else {
		*t.to = append(*t.to, s)
	}
	return nil
}

// Type implements [pflag.Value].
func (t *texts) Type() string { return "text" }

// Append implements [pflag.SliceValue].
func (t *texts) Append(s string) error {
	*t.to = append(*t.to, s)
	return nil
}

// Replace implements [pflag.SliceValue].
func (t *texts) Replace(all []string) error {
	*t.to = all
	return nil
}

// GetSlice implements [pflag.SliceValue].
func (t *texts) GetSlice() []string { return *t.to }
