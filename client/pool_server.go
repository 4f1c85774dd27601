package client

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/serverfile"
)

// ServerSpec is one server of a [Pool]: written down by the application, or read
// by [ReadServers].
type ServerSpec struct {
	// Name is what the pool calls it: any text but the empty one, once in a pool.
	Name string
	// Transport is how it is reached. It is connected each time the server is
	// tried, so it must bear that, as [transport.Command] and [transport.HTTP] do.
	Transport transport.Transport
	// Options are the server's own, after those of [WithServerOptions].
	Options []Option
	// Err is why there is no Transport, such as a variable that is not set. The
	// pool reports it and does not try the server.
	Err error

	secrets []string // what came out of variables
}

// String is the server's name and where it is; secrets are not shown.
func (s ServerSpec) String() string {
	switch {
	case s.Err != nil:
		return fmt.Sprintf("%q (unusable)", s.Name)
	case s.Transport == nil:
		return fmt.Sprintf("%q (no transport)", s.Name)
	}
	return fmt.Sprintf("%q (%s)", s.Name, s.Transport)
}

// GoString is String: a transport's headers and variables are nobody's business.
func (s ServerSpec) GoString() string { return s.String() }

// LogValue implements [slog.LogValuer] with String.
func (s ServerSpec) LogValue() slog.Value { return slog.StringValue(s.String()) }

// ReadServers reads a file of servers as MCP hosts write them: the members
// mcpServers (Claude Desktop, Claude Code, Cursor), servers (VS Code) and
// context_servers, each entry with command, args, env and cwd, or with url, type
// and headers. Comments and trailing commas are allowed, members of other hosts
// are left alone and noted. Files over 1 MiB are refused.
//
// In texts, ${NAME}, ${env:NAME} and ${NAME:-default} are replaced by what lookup
// says, nil means [os.LookupEnv]; there is no shell, and a variable without value
// and default makes the entry unusable (see [ServerSpec.Err]) and no other. Programs
// get the safe subset of the environment and the env of their entry.
//
// notes are for people: entries that are switched off, members that are not used.
// The error, E203, is about the file as a whole.
func ReadServers(path string, lookup func(name string) (value string, ok bool)) (servers []ServerSpec, notes []string, err error) {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	file, err := serverfile.ReadFile(path, lookup)
	if err != nil {
		return nil, nil, badOption(fmt.Errorf("the file of servers cannot be used: %w", err))
	}
	servers, notes = specsOf(file)
	return servers, notes, nil
}

func specsOf(file *serverfile.File) (servers []ServerSpec, notes []string) {
	notes = slices.Clone(file.Notes)
	for _, e := range file.Entries {
		if e.Disabled {
			notes = append(notes, fmt.Sprintf("server %q: is switched off", e.Name))
			continue
		}
		spec := ServerSpec{Name: e.Name, secrets: e.Secrets}
		switch {
		case e.Err != nil:
			spec.Err = e.Err
		case e.Command != "":
			spec.Transport = &transport.Command{Argv: append([]string{e.Command}, e.Args...), Dir: e.Dir, Env: e.Env}
		default:
			header := http.Header{}
			for _, pair := range e.Header {
				if ownHeader(pair[0]) {
					notes = append(notes, fmt.Sprintf("server %q: the header %s is the protocol's and left out", e.Name, pair[0]))
					continue
				}
				header.Add(pair[0], pair[1])
			}
			if e.SSE {
				spec.Transport = &transport.SSE{URL: e.URL, Header: header}
			} else {
				spec.Transport = &transport.HTTP{URL: e.URL, Header: header}
			}
		}
		servers = append(servers, spec)
	}
	return servers, notes
}

// ownHeader reports headers that files repeat although the protocol sets them.
func ownHeader(name string) bool {
	switch strings.ToLower(name) {
	case "accept", "content-type", "content-length":
		return true
	}
	return false
}

// secretsOf are the texts that must not be shown of a server: what came out of
// variables, and values of its environment and headers.
func secretsOf(s *ServerSpec) []string {
	out := slices.Clone(s.secrets)
	headers := func(h http.Header) {
		for _, values := range h {
			for _, v := range values {
				out = append(out, v)
				if _, token, ok := strings.Cut(v, " "); ok { // Bearer x
					out = append(out, token)
				}
			}
		}
	}
	switch t := s.Transport.(type) {
	case *transport.Command:
		for _, kv := range t.Env {
			_, value, _ := strings.Cut(kv, "=")
			out = append(out, value)
		}
	case *transport.HTTP:
		headers(t.Header)
	case *transport.SSE:
		headers(t.Header)
	}
	// Short ones are no secrets and are everywhere. A secret may be part of another.
	out = slices.DeleteFunc(out, func(v string) bool { return len(v) < 4 })
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(out)
}
