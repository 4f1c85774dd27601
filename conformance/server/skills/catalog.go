package skills

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A catalog is what is served at one moment. It does not change.
type catalog struct {
	skills  []*skill                   // by their URIs
	byURI   map[string]*skill          // by that of the SKILL.md
	files   map[string]*file           // by URI
	folders map[string][]*mcp.Resource // what is in each, by its URI
}

// A skill is one folder.
type skill struct {
	uri, dir          string
	name, description string
	front             json.RawMessage
	files             []*file
}

// A file is one of a skill.
type file struct {
	uri, path string
	size      int64
	digest    string
}

func newCatalog() *catalog {
	return &catalog{byURI: map[string]*skill{}, files: map[string]*file{}, folders: map[string][]*mcp.Resource{}}
}

// add takes in a skill, and its folders.
func (c *catalog) add(k *skill) {
	c.skills = append(c.skills, k)
	c.byURI[k.uri] = k
	for _, f := range k.files {
		c.files[f.uri] = f
		c.enter(k, f.path, k.resource(f))
	}
}

// enter lists a file or folder in the folder that it is in, and that one in its own.
func (c *catalog) enter(k *skill, name string, r *mcp.Resource) {
	dir := path.Dir(name)
	at := uriOf(dir)
	_, known := c.folders[at]
	c.folders[at] = append(c.folders[at], r)
	if !known && dir != k.dir {
		c.enter(k, dir, &mcp.Resource{URI: at, Name: path.Base(dir), MIMEType: "inode/directory"})
	}
}

// resource describes a file of the skill.
func (k *skill) resource(f *file) *mcp.Resource {
	r := &mcp.Resource{URI: f.uri, Name: path.Base(f.path), MIMEType: mimeType(f.path), Size: f.size}
	if f.uri == k.uri {
		r.Name, r.Description = k.name, k.description
	}
	return r
}

// manifest describes the SKILL.md.
func (k *skill) manifest() *mcp.Resource {
	i := slices.IndexFunc(k.files, func(f *file) bool { return f.uri == k.uri })
	return k.resource(k.files[i]) // a folder without one is no skill
}

func (c *catalog) sort() {
	slices.SortFunc(c.skills, func(a, b *skill) int { return cmp.Compare(a.uri, b.uri) })
	for _, in := range c.folders {
		slices.SortFunc(in, func(a, b *mcp.Resource) int { return cmp.Compare(a.URI, b.URI) })
	}
}

// after returns the skills that follow the one with a URI.
func (c *catalog) after(uri string) []*skill {
	i, found := slices.BinarySearchFunc(c.skills, uri, func(k *skill, uri string) int { return cmp.Compare(k.uri, uri) })
	if found {
		i++
	}
	return c.skills[i:]
}

// mimeTypes are those of the files that skills have most.
var mimeTypes = map[string]string{
	".md": "text/markdown", ".txt": "text/plain", ".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml",
	".html": "text/html", ".css": "text/css", ".csv": "text/csv", ".xml": "application/xml", ".py": "text/x-python", ".sh": "text/x-shellscript",
	".js": "text/javascript", ".go": "text/x-go", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".svg": "image/svg+xml", ".pdf": "application/pdf",
}

// mimeType goes by the name: the system's own table would differ between machines.
func mimeType(name string) string {
	return cmp.Or(mimeTypes[strings.ToLower(path.Ext(name))], "application/octet-stream")
}
