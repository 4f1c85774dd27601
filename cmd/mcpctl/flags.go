package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// flags are the global flags, in the groups of the help.
type flags struct {
	server   string
	era      string
	revision string

	headers   []string
	userAgent string

	env          []string
	envFiles     []string
	inherit      string
	dir          string
	serverStderr string
	startTimeout time.Duration

	connectTimeout time.Duration
	idle           time.Duration
	maxTime        time.Duration
	maxMessage     byteCount

	noInput bool

	output  string
	quiet   bool
	color   string
	verbose int
}

// Defaults of the times (cli.md §4.3). The first start of a program under
// conform may compile it (decisions 31).
const (
	defaultStart        = 60 * time.Second
	defaultConformStart = 5 * time.Minute
	defaultConnect      = 10 * time.Second
	defaultIdle         = 60 * time.Second
	defaultMax          = 10 * time.Minute
	defaultMaxMessage   = 16 << 20
)

func (f *flags) register(set *pflag.FlagSet) {
	set.StringVarP(&f.server, "server", "s", "", "the server, in place of the SERVER operand (MCPCTL_SERVER)")
	set.Var(choice(&f.era, "auto", "auto", "modern", "legacy", "*"), "era", "era or revision to speak: auto, legacy, modern, or a date such as "+string(mcp.LatestSession))
	set.StringVar(&f.revision, "protocol-version", "", "revision to speak, and no other")

	set.StringArrayVarP(&f.headers, "header", "H", nil, "HTTP header `'K: V'`; ${NAME} is taken from the environment, @FILE reads one header a line")
	set.StringVar(&f.userAgent, "user-agent", "", "what to call ourselves over HTTP")

	set.StringArrayVarP(&f.env, "env", "e", nil, "variable `K=V` for the program; K alone passes ours on")
	set.StringArrayVar(&f.envFiles, "env-file", nil, "`file` of K=V lines for the program")
	set.Var(choice(&f.inherit, "all", "none", "safe", "all"), "inherit-env", "what the program gets of our environment: none, safe or all")
	set.StringVar(&f.dir, "cwd", "", "`folder` the program runs in")
	set.StringVar(&f.serverStderr, "server-stderr", "auto", "the program's stderr: auto (shown when it fails), show, hide, or a `file`")
	set.DurationVar(&f.startTimeout, "start-timeout", defaultStart, "how long a program may take to its first answer")

	set.DurationVar(&f.connectTimeout, "connect-timeout", defaultConnect, "how long reaching an address may take")
	set.DurationVar(&f.idle, "timeout", defaultIdle, "how long nothing may come for a request; progress starts it anew")
	set.DurationVar(&f.maxTime, "max-time", defaultMax, "how long the whole run may take")

	f.maxMessage = defaultMaxMessage
	set.Var(&f.maxMessage, "max-message", "the largest message to take from the server, such as 64MiB")

	set.BoolVar(&f.noInput, "no-input", false, "never read from the terminal")

	set.VarP(choice(&f.output, "human", "human", "json", "ndjson", "raw"), "output", "o", "output: human, json, ndjson or raw")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "no warnings, no status line")
	set.Var(choice(&f.color, "auto", "auto", "always", "never"), "color", "colour: auto, always or never")
	set.CountVarP(&f.verbose, "verbose", "v", "say what happens (-v steps, -vv messages)")
}

// check refuses values that cannot work, before anything is started.
func (f *flags) check() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"start-timeout", f.startTimeout}, {"connect-timeout", f.connectTimeout}, {"timeout", f.idle}, {"max-time", f.maxTime},
	} {
		if d.value <= 0 {
			return usage("--%s must be more than nothing, is %s", d.name, d.value)
		}
	}
	if f.era != "auto" && f.era != "legacy" && f.revision != "" {
		return usage("--era %s and --protocol-version say the same thing twice", f.era)
	}
	return nil
}

// choiceValue is a flag that takes one of a few words; "*" among them lets
// dates through.
type choiceValue struct {
	to    *string
	words []string
}

func choice(to *string, def string, words ...string) *choiceValue {
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

// Set implements [pflag.Value].
func (c *choiceValue) Set(s string) error {
	date := dated.MatchString(s)
	if s == "*" || (!slices.Contains(c.words, s) && (!date || !slices.Contains(c.words, "*"))) {
		words := slices.DeleteFunc(slices.Clone(c.words), func(w string) bool { return w == "*" })
		return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
	}
	*c.to = s
	return nil
}

// dated is the form of a revision.
var dated = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

// Type implements [pflag.Value].
func (c *choiceValue) Type() string { return "word" }
