package main

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// target is the server of a command: a program, or a URL.
type target struct {
	// argv is the program and its arguments, nil for a URL.
	argv []string
	url  string
	// typed is the server as typed, for example lines: "" for a program.
	typed string
	// byFlag says that typed came from -s, byEnv that it came from
	// MCPCTL_SERVER.
	byFlag, byEnv bool
}

// words are how an example line names a URL, beside the flags it repeats. What
// the environment says is written out: the operand would not be looked at.
func (t target) words() []string {
	switch {
	case t.argv != nil || t.byFlag:
		return nil
	case t.byEnv:
		return []string{"-s", t.typed}
	}
	return []string{t.typed}
}

// line is what was typed for a command, flags apart.
type line struct {
	command  string
	operands []string
	// program follows the --; dashed says that there was one.
	program []string
	dashed  bool
}

func newLine(cmd *cobra.Command, args []string) line {
	l := line{command: cmd.CommandPath(), operands: args}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		l.operands, l.program, l.dashed = args[:dash], args[dash:], true
	}
	return l
}

// elsewhere is the server that is named neither by an operand nor after --.
func (a *app) elsewhere() string {
	if a.flags.server != "" {
		return a.flags.server
	}
	named, _ := a.env("MCPCTL_SERVER")
	return named
}

// server takes the server off a line (cli.md §4.1) and returns the other
// operands. What follows -- is the program; else it is -s, then MCPCTL_SERVER,
// then the first operand.
func (a *app) server(l line) (target, []string, error) {
	switch {
	case l.dashed && a.flags.server != "":
		return target{}, nil, usage("there are two servers: -s %s, and the program after --", mcperrors.Redact(a.flags.server))
	case l.dashed && len(l.program) == 0:
		return target{}, nil, usage("no program follows the --")
	case l.dashed && len(l.operands) > 0 && looksLikeServer(l.operands[0]):
		return target{}, nil, usage("there are two servers: %s, and the program after --", mcperrors.Redact(l.operands[0]))
	case l.dashed:
		return target{argv: l.program}, l.operands, nil
	}
	operands := l.operands
	typed, byFlag := a.elsewhere(), a.flags.server != ""
	byEnv := typed != "" && !byFlag
	if typed == "" {
		if len(operands) == 0 {
			f := usage("no server: give a URL, or a program after --")
			f.try = append(f.try, l.command+" http://localhost:3000/mcp", l.command+" -- PROGRAM ARG…")
			return target{}, nil, f
		}
		typed, operands = operands[0], operands[1:]
	}
	address, err := serverURL(typed)
	if i := slices.IndexFunc(operands, looksLikeServer); err != nil && i >= 0 && !hasScheme.MatchString(typed) {
		f := usage("the server stands before the other operands")
		f.try = append(f.try, l.command+" "+operands[i]+" "+typed)
		return target{}, nil, f
	}
	if err != nil {
		return target{}, nil, err
	}
	return target{url: address, typed: typed, byFlag: byFlag, byEnv: byEnv}, operands, nil
}

var (
	hasScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	hasPort   = regexp.MustCompile(`^(localhost)?:[0-9]+(/|$)`)
	ofAnother = regexp.MustCompile(`^(cursor|vscode|claude|windsurf|zed|codex|gemini):`)
)

func looksLikeServer(s string) bool { return hasScheme.MatchString(s) || hasPort.MatchString(s) }

// serverURL reads the forms of a server that exist now, and names those that
// come later, so that nobody takes them for a typing mistake.
func serverURL(s string) (string, error) {
	later := func(what string) (string, error) {
		f := usage("%s: %s cannot be used yet", s, what)
		f.try = append(f.try, "give a URL, or a program after --")
		return "", f
	}
	switch {
	case strings.HasPrefix(s, "@"):
		return later("a session's name")
	case strings.HasPrefix(s, "unix://"):
		return later("an HTTP server behind a socket")
	case ofAnother.MatchString(s):
		return later("another client's configuration")
	case strings.Contains(s, ".json#"), strings.HasSuffix(s, ".json"), strings.HasSuffix(s, ".jsonl"):
		return later("a configuration file, snapshot or recording")
	case hasPort.MatchString(s):
		if strings.HasPrefix(s, ":") {
			s = "localhost" + s
		}
		s = "http://" + s
	case !hasScheme.MatchString(s):
		f := usage("%s is not a server that is known: give a URL, or a program after --", s)
		f.try = append(f.try, "mcpctl … http://HOST/mcp", "mcpctl … -- "+s)
		return "", f
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return "", usage("%s is not a URL: %s", mcperrors.Redact(s), mcperrors.Redact(rootCause(err)))
	case u.Scheme != "http" && u.Scheme != "https":
		return "", usage("unknown scheme %s: an MCP server has http or https", u.Scheme)
	case u.Hostname() == "":
		return "", usage("%s names no host", mcperrors.Redact(s))
	}
	return s, nil
}

// address is the host and port of a URL.
func address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// programs returns the names of all programs in PATH, to suggest one for a
// program that is not there.
func (a *app) programs() []string {
	path, _ := a.env("PATH")
	var names []string
	for _, dir := range filepath.SplitList(path) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // PATH often names folders that are not there
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	return names
}
