// Package flags holds the global flags of mcpctl, and the kinds of value that
// flags take.
package flags

import (
	"crypto/tls"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Global are the global flags, in the groups of the help.
type Global struct {
	Server string
	// Config is a file of servers, or JSON; Inputs are the values that such files ask for.
	Config   string
	Inputs   []string
	Era      string
	Revision string

	Auth       string
	TokenStore string
	Headers    []string
	UserAgent  string

	Env          []string
	EnvFiles     []string
	Inherit      string
	Dir          string
	ServerStderr string
	StartTimeout time.Duration

	ConnectTimeout time.Duration
	Idle           time.Duration
	MaxTime        time.Duration
	MaxMessage     ByteCount

	NoInput bool

	files files
	tls   *tls.Config // what the files say

	// Output are the flags that choose what is printed.
	Output console.Settings

	inherit, start *pflag.Flag
}

const (
	defaultStart      = 60 * time.Second
	defaultConnect    = 10 * time.Second
	defaultIdle       = 60 * time.Second
	defaultMax        = 10 * time.Minute
	defaultMaxMessage = 16 << 20
)

// Register adds the flags to a set.
func (f *Global) Register(set *pflag.FlagSet) {
	set.StringVarP(&f.Server, "server", "s", "", "the server, instead of the SERVER operand (MCPCTL_SERVER)")
	set.StringVar(&f.Config, "mcp-config", "", "`file` of servers, or JSON with mcpServers: its only server, or the one that -s names")
	Texts(set, &f.Inputs, "input", "value `K=V` of ${input:K} in a file of servers; K=@FILE reads it from a file (repeatable)")
	set.Var(Choice(&f.Era, "auto", "auto", "stateless", "session", "*"), "era", "protocol era: auto, session, stateless, or a revision such as "+string(mcp.LatestSession))
	set.StringVar(&f.Revision, "protocol-version", "", "protocol `revision`: use only this one")

	set.StringVar(&f.Auth, "auth", "auto", "`credentials`: auto (those of mcpctl auth login), none, bearer:@FILE, env:VAR, profile:NAME, or program:@FILE")
	set.Var(Choice(&f.TokenStore, "", "files", "keychain"), "token-store", "where tokens are kept: files (the default) or keychain (MCPCTL_TOKEN_STORE)")
	TextsP(set, &f.Headers, "header", "H", "HTTP header `'K: V'`; ${NAME} is an environment variable, @FILE is a file with a header a line")
	set.StringVar(&f.UserAgent, "user-agent", "", "User-Agent `text` of HTTP requests")

	set.StringVar(&f.files.authorities, "cacert", "", "`file` of certificate authorities (PEM) to trust besides those of the system")
	set.StringVar(&f.files.certificate, "cert", "", "`file` with the client certificate (PEM), for servers that ask for one")
	set.StringVar(&f.files.key, "key", "", "`file` with the private key of --cert, if it is not in the same file")

	TextsP(set, &f.Env, "env", "e", "variable `K=V` for the program; K alone passes the current value")
	Texts(set, &f.EnvFiles, "env-file", "`file` of K=V lines for the program")
	set.Var(Choice(&f.Inherit, "all", "none", "safe", "all"), "inherit-env", "variables that the program inherits: none, safe (default for a program of a file) or all")
	f.inherit = set.Lookup("inherit-env")
	set.StringVar(&f.Dir, "cwd", "", "working `folder` of the program")
	set.StringVar(&f.ServerStderr, "server-stderr", "auto", "stderr of the program: auto (shown if it fails), show, hide, or a `file`")
	set.DurationVar(&f.StartTimeout, "start-timeout", defaultStart, "timeout for the first answer of a program; a second start has 5m unless this is set")
	f.start = set.Lookup("start-timeout")

	set.DurationVar(&f.ConnectTimeout, "connect-timeout", defaultConnect, "timeout for connecting to an address")
	set.DurationVar(&f.Idle, "timeout", defaultIdle, "idle timeout of a request; its progress messages restart it")
	set.DurationVar(&f.MaxTime, "max-time", defaultMax, "timeout for the whole run")

	f.MaxMessage = defaultMaxMessage
	set.Var(&f.MaxMessage, "max-message", "largest message accepted from the server, such as 64MiB")

	set.BoolVar(&f.NoInput, "no-input", false, "never read from the terminal")

	set.VarP(Choice(&f.Output.Format, "human", "human", "json", "ndjson", "raw"), "output", "o", "output format: human, json, ndjson or raw")
	set.BoolVarP(&f.Output.Quiet, "quiet", "q", false, "no warnings, no status line")
	set.Var(Choice(&f.Output.Color, "auto", "auto", "always", "never"), "color", "colour: auto, always or never")
	set.CountVarP(&f.Output.Verbose, "verbose", "v", "show the steps (-v) and the messages (-vv)")
}

// Inherits returns what a program inherits. One of a file of servers gets no more than
// the hosts that read such files give it, unless the flag is set.
func (f *Global) Inherits(ofFile bool) string {
	if ofFile && (f.inherit == nil || !f.inherit.Changed) {
		return "safe"
	}
	return f.Inherit
}

// FirstAnswer is the bound of each start of a program, 0 for the client's defaults: a
// program that is mute in the first start has longer in the second one.
func (f *Global) FirstAnswer() time.Duration {
	if f.start == nil || !f.start.Changed {
		return 0
	}
	return f.StartTimeout
}

// Check rejects values that cannot work, before anything is started.
func (f *Global) Check() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"start-timeout", f.StartTimeout}, {"connect-timeout", f.ConnectTimeout}, {"timeout", f.Idle}, {"max-time", f.MaxTime},
	} {
		if d.value <= 0 {
			return failure.Usage("--%s must be positive, not %s", d.name, d.value)
		}
	}
	if err := f.checkAuth(); err != nil {
		return err
	}
	if err := f.readTLS(); err != nil {
		return err
	}
	if f.Era == "session" && mcp.Version(f.Revision).Known() && mcp.Version(f.Revision).Era() != mcp.EraSession {
		return failure.Usage("--protocol-version %s is not of the era session: give one of the two flags", f.Revision)
	}
	if f.Era != "auto" && f.Era != "session" && f.Revision != "" {
		return failure.Usage("--era %s and --protocol-version exclude each other: give one", f.Era)
	}
	return nil
}

// checkAuth rejects a wrong --auth. What was typed may be a token, which errors never show.
func (f *Global) checkAuth() error {
	if f.Auth == "auto" || f.Auth == "none" {
		return nil
	}
	kind, value, named := strings.Cut(f.Auth, ":")
	missing, known := map[string]string{
		"bearer":  "name a file: --auth bearer:@FILE, or bearer:@- for standard input",
		"env":     "name a variable: --auth env:VAR",
		"profile": "name a login: --auth profile:NAME",
		"program": "name a file: --auth program:@FILE",
	}[kind]
	switch {
	case !named || !known:
		return failure.Usage("--auth must be auto, none, bearer:@FILE, env:VAR, profile:NAME or program:@FILE")
	case value == "":
		return failure.Usage("--auth %s: %s", kind, missing)
	}
	return nil
}

// variableName is how people write the name of a variable. A secret that was typed in its
// place does not match: it has small letters or is longer.
var variableName = lazyregexp.New("^[A-Z_][A-Z0-9_]*$")

// Variable returns the flag and the name of a variable for an error, and the flag alone
// where that name may be a secret that was typed in its place.
func Variable(flag, name string) string {
	if len(name) > 40 || !variableName.MatchString(name) {
		return strings.TrimRight(flag, " :")
	}
	return flag + name
}

// Pinned returns the one revision to speak, "" to find it out.
func (f *Global) Pinned() string {
	switch {
	case f.Revision != "":
		return f.Revision
	case f.Era == "stateless":
		return string(mcp.Latest)
	case f.Era == "session":
		return string(mcp.LatestSession)
	case f.Era == "auto":
		return ""
	}
	return f.Era
}

// CheckRevision rejects a pinned revision that the client does not know, in terms
// of the flag that named it.
func (f *Global) CheckRevision() error {
	if version := mcp.Version(f.Pinned()); version != "" && !version.Known() {
		return failure.Usage("%s: unknown revision; known are %v", f.Pin(), mcp.Versions())
	}
	return nil
}

// Pin returns the flag that sets [Global.Pinned], with its value.
func (f *Global) Pin() string {
	if f.Revision != "" {
		return "--protocol-version " + f.Revision
	}
	return "--era " + f.Era
}

// Heading returns the heading of the help above a global flag that begins a group, "" for others.
func Heading(name string) string {
	switch name {
	case "server":
		return "Server"
	case "auth":
		return "HTTP and logins"
	case "env":
		return "Programs"
	case "connect-timeout":
		return "Time and size"
	case "no-input":
		return "Input and output"
	}
	return ""
}
