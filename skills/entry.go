package skills

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// readEntry fills a skill from its entry. A fault of the entry becomes the skill's problem,
// so that one bad entry does not hide the others of a list.
func (s *Skill) readEntry(entry *doc.Value) {
	s.Raw = entry.AppendJSON(nil)
	s.URI = entry.Get("uri").Str()
	front := entry.Get("frontmatter")
	if front != nil {
		s.FrontMatter = front.AppendJSON(nil)
	}
	s.Name, s.Description = front.Get("name").Str(), front.Get("description").Str()
	s.problem = s.checkEntry(entry, front)
}

// checkEntry checks an entry by "Skill Entries" and "Resource Mapping" of SEP-2640.
func (s *Skill) checkEntry(entry, front *doc.Value) error {
	var ok bool
	s.root, s.Path, ok = rootOf(s.URI)
	switch {
	case entry.Kind() != doc.Object || entry.Get("uri").Kind() != doc.String:
		return s.fault(FaultEntry, "", "the entry has no uri", helpServer)
	case !ok:
		return s.fault(FaultURI, "", "the uri is not that of a SKILL.md in a folder", helpServer)
	case front.Kind() != doc.Object:
		return s.fault(FaultEntry, "", "the entry has no frontmatter", helpServer)
	case s.Name == "":
		return s.fault(FaultName, "", "the front matter has no name", helpServer)
	case !validName(s.Name):
		return s.fault(FaultName, "", "the name "+quoted(s.Name)+" is not made of lowercase letters, digits and single hyphens, at most 64", helpServer)
	case s.Name != s.Path[strings.LastIndexByte(s.Path, '/')+1:]:
		return s.fault(FaultName, "", "the name "+quoted(s.Name)+" is not the last folder of the uri", helpServer)
	case s.Description == "":
		return s.fault(FaultEntry, "", "the front matter has no description", helpServer)
	}
	resources := entry.Get("resources")
	switch {
	case resources.Kind() == doc.String && resources.Str() == "dynamic":
		s.Dynamic = true
		if !s.set.dynamic {
			return s.fault(FaultDynamic, "", "the server generates the content, so it cannot be checked", "allow dynamic skills to load it")
		}
		return nil
	case resources.Kind() != doc.Array:
		return s.fault(FaultEntry, "", `resources is neither a list nor "dynamic"`, helpServer)
	}
	return s.readFiles(resources.Items())
}

// readFiles reads the list of a skill's files, which has to be complete: each file once,
// SKILL.md among them.
func (s *Skill) readFiles(items []*doc.Value) error {
	limits := s.set.limits
	if over(len(items), limits.Files) {
		return s.fault(FaultLimit, "", fmt.Sprintf("it has %d files, more than %d", len(items), limits.Files), "raise the limit to load it")
	}
	files, seen := make([]File, 0, len(items)), map[string]bool{}
	total, found := int64(0), false
	for _, item := range items {
		f, err := s.readFile(item)
		if err != nil {
			return err
		}
		if seen[f.Path] {
			return s.fault(FaultEntry, f.URI, "the entry lists the file twice", helpServer)
		}
		seen[f.Path] = true
		found = found || f.URI == s.URI
		files = append(files, f)
		if total += f.Size; over(total, limits.Bytes) {
			return s.fault(FaultLimit, "", fmt.Sprintf("its files have more than %s", jsonrpc.Size(int(limits.Bytes))), "raise the limit to load it")
		}
	}
	if !found {
		return s.fault(FaultEntry, "", "the entry does not list SKILL.md", helpServer)
	}
	s.Files = files
	return nil
}

// digests have one form (SEP-2640, "Integrity and Verification").
var digests = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// maxSize is the largest size that every JSON reader keeps exactly.
const maxSize = 1<<53 - 1

func (s *Skill) readFile(item *doc.Value) (File, error) {
	f := File{URI: item.Get("uri").Str(), Digest: item.Get("digest").Str()}
	var ok bool
	if f.Path, ok = within(s.root, f.URI); !ok {
		return f, s.fault(FaultURI, f.URI, "the uri is not that of a file in the folder of the skill", helpServer)
	}
	if !digests.MatchString(f.Digest) {
		return f, s.fault(FaultDigest, f.URI, "the digest is not sha256: and 64 lowercase hexadecimal digits", helpServer)
	}
	size := item.Get("size")
	n, err := strconv.ParseInt(size.String(), 10, 64)
	if size.Kind() != doc.Number || err != nil || n < 0 || n > maxSize {
		return f, s.fault(FaultSize, f.URI, "the size is not a number of bytes", helpServer)
	}
	f.Size = n
	return f, nil
}

// quoted returns a name of a server in quotes.
func quoted(s string) string { return strconv.Quote(jsonrpc.Printable(s, 80)) }
