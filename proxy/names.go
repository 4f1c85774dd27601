package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	// separator is between the prefix of a server and a name. No prefix has it, or ends with a
	// part of it, so that the first one in a name is the right one.
	separator = "__"
	// maxName is the longest name that the APIs of models accept.
	maxName = 64
	// digestSize is how many digits a changed name has at its end.
	digestSize = 8
)

// kindTools and kindPrompts are what has names.
const (
	kindTools   = "tools"
	kindPrompts = "prompts"
)

func kindOf(method string) string {
	if method == mcp.MethodToolsCall || method == mcp.MethodToolsList {
		return kindTools
	}
	return kindPrompts
}

// plain replaces every character that the APIs of models do not accept.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// prefixOf returns the prefix for the names of a server.
func prefixOf(server string) string {
	const longest = 32 // leaves room for names
	prefix := plain(server)
	for strings.Contains(prefix, separator) {
		prefix = strings.ReplaceAll(prefix, separator, "_")
	}
	prefix = strings.Trim(prefix[:min(len(prefix), longest)], "_")
	if prefix == "" {
		return "server"
	}
	return prefix
}

// unique returns prefix, with a number if it is used already.
func unique(prefix string, used map[string]bool) string {
	name := prefix
	for n := 2; used[name]; n++ {
		name = prefix + "-" + strconv.Itoa(n)
	}
	used[name] = true
	return name
}

// public returns the name under which hosts know a tool or a prompt.
func (s *source) public(name string) string {
	full := s.prefix + separator + name
	clean := plain(full)
	if clean == full && len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(name))
	return clean[:min(len(clean), maxName-1-digestSize)] + "_" + hex.EncodeToString(sum[:])[:digestSize]
}

// isChanged reports whether a name may be one that public has changed.
func isChanged(name string) bool {
	at := len(name) - digestSize - 1
	if at < 0 || name[at] != '_' {
		return false
	}
	return strings.Trim(name[at+1:], "0123456789abcdef") == ""
}

// original returns the name that the server has for a public one. The server decides about a
// name that it does not list.
func (m *member) original(ctx context.Context, up *upstream, kind, public string) string {
	_, name, _ := strings.Cut(public, separator)
	if !isChanged(public) {
		return name
	}
	if listed, ok := m.catalog.named(kind, public); ok {
		return listed
	}
	for listed := range up.names(ctx, kind) {
		if m.public(listed) == public {
			m.catalog.name(kind, public, listed)
			return listed
		}
	}
	return name
}

// names are those of all tools or prompts of the server, as far as it lists them.
func (up *upstream) names(ctx context.Context, kind string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if kind == kindTools {
			for tool, err := range up.client.Tools(ctx) {
				if err != nil || !yield(tool.Name) {
					return
				}
			}
			return
		}
		for prompt, err := range up.client.Prompts(ctx) {
			if err != nil || !yield(prompt.Name) {
				return
			}
		}
	}
}
