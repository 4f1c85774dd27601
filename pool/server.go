package pool

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/serverfile"
)

// Server describes one server of a [Pool], for [Open]. [ReadServers] reads a file of
// them.
type Server struct {
	// Name is the name of the server in the pool, used once. It has at most 100
	// characters, as [client.WithName] wants it, because the client gets it too.
	Name string
	// Transport reaches the server. The pool calls its Connect for each attempt, so
	// it must be reusable, as [transport.Command] and [transport.HTTP] are.
	Transport transport.Transport
	// Options are options of this server's client, after those of
	// [WithServerOptions].
	Options []client.Option
	// Err is why there is no Transport, such as a variable that is not set. The
	// pool reports it and does not connect.
	Err error

	secrets []string // the values of variables
}

// String returns the name of the server and its address, without secrets.
func (s Server) String() string {
	switch {
	case s.Err != nil:
		return fmt.Sprintf("%q (unusable)", s.Name)
	case s.Transport == nil:
		return fmt.Sprintf("%q (no transport)", s.Name)
	}
	return fmt.Sprintf("%q (%s)", s.Name, s.Transport)
}

// GoString returns String: headers and variables hold secrets.
func (s Server) GoString() string { return s.String() }

// LogValue implements [slog.LogValuer] with String.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// ReadServers reads a file of servers as MCP hosts write it: the members mcpServers
// (Claude Desktop, Claude Code, Cursor), servers (VS Code) and context_servers. An
// entry has command, args, env and cwd, or url, type and headers. Comments and
// trailing commas are allowed. Members of other hosts are ignored and noted. Files
// over 1 MiB are refused. A server.json of the registry can be read, too.
//
// In texts, ${NAME}, ${env:NAME} and ${NAME:-default} are replaced by the value that
// lookup returns; nil means [os.LookupEnv]. There is no shell. A variable without a
// value and a default makes its entry unusable (see [Server].Err), and no other.
// Programs get the safe subset of the environment and the env of their entry.
//
// notes are for people: entries that are disabled, members that are ignored. The
// error, E203, is about the file as a whole.
func ReadServers(path string, lookup func(name string) (value string, ok bool)) (servers []Server, notes []string, err error) {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	file, err := serverfile.ReadFile(path, lookup)
	if err != nil {
		return nil, nil, badOption(fmt.Errorf("the server file cannot be used: %w", err))
	}
	servers, notes = serversOf(file)
	return servers, notes, nil
}

func serversOf(file *serverfile.File) (servers []Server, notes []string) {
	notes = slices.Clone(file.Notes)
	for _, e := range file.Entries {
		if e.Disabled {
			notes = append(notes, fmt.Sprintf("server %q: is switched off", e.Name))
			continue
		}
		server := Server{Name: e.Name, secrets: e.Secrets}
		switch {
		case e.Err != nil:
			server.Err = e.Err
		case e.Command != "":
			server.Transport = &transport.Command{Argv: append([]string{e.Command}, e.Args...), Dir: e.Dir, Env: e.Env}
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
				server.Transport = &transport.SSE{URL: e.URL, Header: header}
			} else {
				server.Transport = &transport.HTTP{URL: e.URL, Header: header}
			}
		}
		servers = append(servers, server)
	}
	return servers, notes
}

// ownHeader reports a header that the protocol sets, although files repeat it.
func ownHeader(name string) bool {
	switch strings.ToLower(name) {
	case "accept", "content-type", "content-length":
		return true
	}
	return false
}
