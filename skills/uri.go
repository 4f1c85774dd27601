package skills

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// manifest is the name of the file that makes a folder a skill.
const manifest = "SKILL.md"

// scheme is that of RFC 3986, section 3.1.
var scheme = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// rootOf returns the URI of a skill's folder and its path below the scheme. ok is false
// for a URI that is not that of a SKILL.md in a folder.
func rootOf(uri string) (root, path string, ok bool) {
	prefix := scheme.FindString(uri)
	root, isManifest := strings.CutSuffix(uri, "/"+manifest)
	if prefix == "" || !isManifest {
		return "", "", false
	}
	path = strings.TrimPrefix(strings.TrimPrefix(root, prefix), "//")
	if _, clean := decoded(path); !clean {
		return "", "", false
	}
	return root, path, true
}

// within returns the path of a file relative to the root of its skill, decoded. ok is
// false for a URI that is not below the root, or may not stay there when it is resolved.
func within(root, uri string) (path string, ok bool) {
	rest, below := strings.CutPrefix(uri, root+"/")
	if !below {
		return "", false
	}
	return decoded(rest)
}

// decoded decodes a path of a URI. ok is false if it has a segment that a file system or
// a server could resolve to another place: an empty one, dots, an encoded separator, a
// query, a fragment, or a control character.
func decoded(path string) (plain string, ok bool) {
	if strings.ContainsAny(path, "?#") {
		return "", false
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		name, err := url.PathUnescape(segment)
		if err != nil || !safe(name) {
			return "", false
		}
		segments[i] = name
	}
	return strings.Join(segments, "/"), true
}

// safe reports whether a name is that of one file or folder, wherever it is used.
func safe(name string) bool {
	return name != "" && name != "." && name != ".." && utf8.ValidString(name) &&
		!strings.ContainsAny(name, `/\`) && !strings.ContainsFunc(name, unicode.IsControl)
}

// named are the rules of the Agent Skills specification for names.
var named = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const maxName = 64

func validName(name string) bool { return len(name) <= maxName && named.MatchString(name) }
