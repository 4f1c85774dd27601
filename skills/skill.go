package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Skill is the entry of a skill, as the server described it at one moment. Reads are
// checked against this entry, also after the server has changed the skill; [Get] returns
// a new one. The methods are safe for concurrent use while nobody changes the fields.
type Skill struct {
	// URI is that of the skill's SKILL.md, and Path the same below the scheme without
	// the file: "acme/refunds" for skill://acme/refunds/SKILL.md.
	URI, Path string
	// Name is the last part of Path. Names are not unique, not even on one server.
	Name string
	// Description is the purpose of the skill. Like all fields, it is from the server.
	Description string
	// FrontMatter is the whole front matter of SKILL.md as a JSON object.
	FrontMatter json.RawMessage
	// Files are all files of the skill, SKILL.md included. It is empty for a dynamic
	// skill.
	Files []File
	// Dynamic reports that the content is generated and has no digests.
	Dynamic bool
	// TTL is how long the server suggests to keep the entry, and Scope for whom. Both are
	// about the entry and not about the content.
	TTL   time.Duration
	Scope mcp.CacheScope
	// Raw is the entry unchanged.
	Raw json.RawMessage

	root    string // the URI of the folder
	server  *client.Client
	set     *config
	problem error
	taken   atomic.Int64 // bytes read of a dynamic skill
}

// File is a file of a skill.
type File struct {
	URI string
	// Path is relative to the folder of the skill, with slashes and decoded:
	// "references/FORMS.md".
	Path string
	// Digest is "sha256:" and 64 hexadecimal digits. Size is in bytes.
	Digest string
	Size   int64
}

// ID identifies a skill among those of all servers. It is comparable and can be a key.
type ID struct {
	// Server is the program's name of the server; see [WithLabel].
	Server string
	// URI is that of the skill's SKILL.md.
	URI string
}

// ID returns the identity of the skill.
func (s *Skill) ID() ID { return ID{s.set.label, s.URI} }

// Folder returns a relative path with slashes for files of this skill, such as
// "docs-server/skill/acme/refunds". Skills of different servers or URIs get different
// folders. Use it with an [os.Root], and outside the folders in which the host looks for
// skills of its own.
func (id ID) Folder() string {
	root, path, ok := rootOf(id.URI)
	if !ok {
		sum := sha256.Sum256([]byte(id.URI))
		return escaped(id.Server) + "/" + hex.EncodeToString(sum[:])
	}
	parts := []string{escaped(id.Server), escaped(strings.TrimSuffix(strings.TrimSuffix(root, path), "://"))}
	for segment := range strings.SplitSeq(path, "/") {
		parts = append(parts, escaped(segment))
	}
	return strings.Join(parts, "/")
}

// escaped returns a file name for any text, valid on every file system. Different texts get
// different names.
func escaped(text string) string {
	if text == "" {
		return "%"
	}
	text = strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	if strings.HasSuffix(text, ".") { // "..", and a final dot, which Windows removes
		text = strings.TrimSuffix(text, ".") + "%2E"
	}
	return text
}

// Fingerprint identifies the content of the skill: it differs when the URI or the digest
// of any file differs. Remember it with a user's approval, and treat the approval as
// revoked when it changes. ok is false for a dynamic skill and for one with a [Skill.Problem],
// whose content an approval cannot cover.
func (s *Skill) Fingerprint() (fingerprint string, ok bool) {
	if s.Dynamic || s.problem != nil {
		return "", false
	}
	lines := make([]string, len(s.Files))
	for i, f := range s.Files {
		lines[i] = f.Digest + " " + f.URI + "\n" // a URI has no line break: see safe
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return "sha256:" + hex.EncodeToString(sum[:]), true
}

// Size returns the sum of the sizes of all files.
func (s *Skill) Size() int64 {
	total := int64(0)
	for _, f := range s.Files {
		total += f.Size
	}
	return total
}

// Problem returns why the skill cannot be loaded, as far as its entry shows; nil if
// nothing is wrong. It is an [*Error].
func (s *Skill) Problem() error { return s.problem }

// fault returns an error about the skill.
func (s *Skill) fault(f Fault, file, detail, help string) error {
	return &Error{Fault: f, Skill: s.URI, File: file, Detail: detail, Help: help}
}
