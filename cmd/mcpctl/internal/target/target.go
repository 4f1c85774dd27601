// Package target reads which server a command line means: a URL, a program, an entry of a
// file of servers, or a name that such a file of a host has.
package target

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/hostfile"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// Target is the server of a command: a program, or a URL.
type Target struct {
	// Argv is the program and its arguments, nil for a URL.
	Argv []string
	URL  string
	// Entry is its entry in a file of servers, nil for one that is not from a file.
	Entry *Entry
	// Typed is the server as typed, for example lines: "" for a program after --.
	Typed string
	// byFlag is set if Typed came from -s, byEnv if it came from MCPCTL_SERVER.
	byFlag, byEnv bool
}

// Transport is stdio or http.
func (t Target) Transport() string {
	if t.Argv != nil {
		return "stdio"
	}
	return "http"
}

// Words are how an example line names a URL, beside the flags it repeats. A URL
// from the environment is given as a flag, because the example must work without
// the variable.
func (t Target) Words() []string {
	switch {
	case t.Typed == "" || t.byFlag:
		return nil
	case t.byEnv:
		return []string{"-s", t.Typed}
	}
	return []string{t.Typed}
}

// Line is what was typed for a command, without the flags.
type Line struct {
	command  string
	Operands []string
	// Program follows the --; Dashed is set if there was one.
	Program []string
	Dashed  bool
}

// NewLine returns the line of a command from its arguments.
func NewLine(cmd *cobra.Command, args []string) Line {
	l := Line{command: cmd.CommandPath(), Operands: args}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		l.Operands, l.Program, l.Dashed = args[:dash], args[dash:], true
	}
	return l
}

// Defaults name a server that is not on the line.
type Defaults struct {
	// Flag is the value of -s, Env that of MCPCTL_SERVER.
	Flag, Env string
	// Config is the value of --mcp-config.
	Config string
	// Lookup returns the variables that a file of servers names.
	Lookup func(name string) (string, bool)
	// System is where the files of hosts are, in which names are looked up.
	System hostfile.System
}

// lookup is Lookup, which may be nil.
func (d Defaults) lookup(name string) (string, bool) {
	if d.Lookup == nil {
		return "", false
	}
	return d.Lookup(name)
}

// Server returns the server of a line, and the other operands. The server is the
// program after --, or else -s, MCPCTL_SERVER or the first operand, in this order.
func (l Line) Server(named Defaults) (Target, []string, error) {
	switch {
	case l.Dashed && named.Config != "":
		return Target{}, nil, failure.Usage("there are two servers: that of --mcp-config and the program after --")
	case l.Dashed && named.Flag != "":
		return Target{}, nil, failure.Usage("there are two servers: -s %s and the program after --", mcperrors.Redact(named.Flag))
	case l.Dashed && len(l.Program) == 0:
		return Target{}, nil, failure.Usage("no program given after --")
	case l.Dashed && len(l.Operands) > 0 && LooksLikeServer(l.Operands[0]):
		return Target{}, nil, failure.Usage("there are two servers: %s and the program after --", mcperrors.Redact(l.Operands[0]))
	case l.Dashed:
		return Target{Argv: l.Program}, l.Operands, nil
	}
	operands := l.Operands
	if named.Config != "" {
		t, err := fromConfig(named.Config, named.Flag, named)
		t.byFlag = true
		return t, operands, err
	}
	typed, byFlag := cmp.Or(named.Flag, named.Env), named.Flag != ""
	byEnv := typed != "" && !byFlag
	if typed == "" {
		if len(operands) == 0 {
			f := failure.Usage("no server given: name a URL, or a program after --")
			f.Try = append(f.Try, l.command+" http://localhost:3000/mcp", l.command+" -- PROGRAM ARG…")
			return Target{}, nil, f
		}
		typed, operands = operands[0], operands[1:]
	}
	t, err := named.server(typed)
	if i := slices.IndexFunc(operands, LooksLikeServer); err != nil && i >= 0 && isName(typed) {
		f := failure.Usage("the server must come before the other operands")
		f.Try = append(f.Try, l.command+" "+operands[i]+" "+typed)
		return Target{}, nil, f
	}
	t.byFlag, t.byEnv = byFlag, byEnv
	return t, operands, err
}

// server returns the server that a word names: the first form that fits.
func (d Defaults) server(typed string) (Target, error) {
	switch {
	case isWeb(typed) && !strings.Contains(typed, ".json"):
	case isJSON(typed):
		return fromJSON(typed, "", withFlags, d)
	case ofFile.MatchString(typed) && !hasScheme.MatchString(typed):
		return fromFile(typed, d)
	case ofHost.MatchString(typed), isName(typed):
		return byName(typed, d)
	}
	address, err := parseURL(typed)
	if err != nil {
		return Target{}, err
	}
	return Target{URL: address, Typed: typed}, nil
}

var (
	hasScheme = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	hasPort   = lazyregexp.New(`^(localhost|127\.0\.0\.1|\[::1\])?:[0-9]+(/|$)`)
	fileEntry = lazyregexp.New(`^[^=]+\.jsonc?#.`) // an operand may be name=@x.json
	ofAnother = lazyregexp.New(`^(windsurf|zed|codex|gemini):`)
)

// isWeb reports whether a word begins as most URLs do. It spares their runs the regular expressions.
func isWeb(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") }

// LooksLikeServer reports whether a word has the form of a server's URL.
func LooksLikeServer(s string) bool {
	if !strings.ContainsAny(s, ":#") { // as most operands
		return false
	}
	return isWeb(s) || hasScheme.MatchString(s) || hasPort.MatchString(s) || fileEntry.MatchString(s)
}

// parseURL reads the forms of a server that are supported. Forms that are planned
// get an error of their own, so that they are not taken for typing mistakes.
func parseURL(s string) (string, error) {
	later := func(what string) (string, error) {
		f := failure.Usage("%s: %s is not supported yet", s, what)
		f.Try = append(f.Try, "give a URL, or a program after --")
		return "", f
	}
	switch {
	case isWeb(s):
	case strings.HasPrefix(s, "@"):
		return later("a session's name")
	case strings.HasPrefix(s, "unix://"):
		return later("an HTTP server behind a socket")
	case ofAnother.MatchString(s):
		return later("another client's configuration")
	case strings.HasSuffix(s, ".jsonl"):
		return later("a recording")
	case hasPort.MatchString(s):
		if strings.HasPrefix(s, ":") {
			s = "localhost" + s
		}
		s = "http://" + s
	case !hasScheme.MatchString(s):
		f := failure.Usage("%s is not a server: give a URL, or a program after --", s)
		f.Try = append(f.Try, "mcpctl … http://HOST/mcp", "mcpctl … -- "+s)
		return "", f
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", failure.Usage("%s is not a URL: %s", mcperrors.Redact(s), mcperrors.Redact(failure.RootCause(err)))
	case u.Scheme != "http" && u.Scheme != "https":
		return "", failure.Usage("unsupported scheme %s: use http or https", u.Scheme)
	case u.Hostname() == "":
		return "", failure.Usage("%s has no host", mcperrors.Redact(s))
	}
	return s, nil
}

// Address returns the host and port of a URL.
func Address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// NeedsTLS reports whether a URL is one that gets no tokens, because it is not https and
// not on this machine.
func NeedsTLS(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "https" || u.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip == nil || !ip.IsLoopback()
}

// Shown is a URL for people: without the password, and without the query, which
// often holds a token.
func Shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// SameServer reports whether two URLs name the same server.
func SameServer(a, b string) bool {
	one, other, ok := pair(a, b)
	return ok && strings.EqualFold(one.Host, other.Host) && alike(one, other)
}

// OtherName reports whether two URLs name the same server on this machine, one by its
// name and the other by an address. Logins of one are not used for the other.
func OtherName(a, b string) bool {
	one, other, ok := pair(a, b)
	return ok && one.Port() == other.Port() && alike(one, other) &&
		!strings.EqualFold(one.Hostname(), other.Hostname()) && ownName(one.Hostname()) && ownName(other.Hostname())
}

func pair(a, b string) (one, other *url.URL, ok bool) {
	one, err := url.Parse(a)
	if err != nil {
		return nil, nil, false
	}
	other, err = url.Parse(b)
	return one, other, err == nil
}

// alike reports whether two URLs are the same but for their hosts.
func alike(one, other *url.URL) bool {
	return strings.EqualFold(one.Scheme, other.Scheme) && strings.TrimSuffix(one.EscapedPath(), "/") == strings.TrimSuffix(other.EscapedPath(), "/") &&
		one.RawQuery == other.RawQuery
}

// ownName reports whether a host is one that servers of this machine are called by.
func ownName(host string) bool {
	return strings.EqualFold(host, "localhost") || host == "127.0.0.1" || host == "::1"
}
