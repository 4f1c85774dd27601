package artifact

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// checklistRoot is where checklists are read, by their ids.
const checklistRoot = "mcp://resources/validation/"

func artifactResource(s *store, r research) family.Resource {
	return family.Resource{
		Name:        "artifact",
		Description: "A stored artifact, by the URI store_artifact returned, or a research document",
		// Reserved expansion: with {dir}/{file} a URI with ".." would match no
		// template and be reported as missing rather than refused.
		URITemplate: resourceRoot + "{+path}",
		MIMEType:    "text/markdown",
		Read: func(_ context.Context, uri string) (string, error) {
			dir, file, _ := strings.Cut(strings.TrimPrefix(uri, resourceRoot), "/")
			if traverses(dir) || traverses(file) {
				return "", traversal("Resource name", uri)
			}
			data, err := s.resource(r, dir, file)
			if errors.Is(err, fs.ErrNotExist) {
				return "", missingResource(uri)
			}
			return string(data), err
		},
	}
}

// resource returns the document behind a resource URI.
func (s *store) resource(r research, dir, file string) ([]byte, error) {
	if dir == researchDir {
		return r.read(s, file)
	}
	p, ok := parsePlace(dir, file)
	if !ok || p.Type.Plural != dir {
		return nil, fs.ErrNotExist
	}
	root, err := s.view()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	p, exists, err := s.locate(root, p)
	if err != nil {
		return nil, err
	}
	if !exists { // or is a link, which is no artifact
		return nil, fs.ErrNotExist
	}
	return readFile(root, p.document())
}

func missingResource(uri string) *family.Error {
	e := notFound(quoted(uri))
	e.Data = map[string]any{"uri": quoted(uri)}
	return e
}

// checklistName is the id of a checklist, which is its file name as well.
var checklistName = regexp.MustCompile(`^[a-z]+(?:_[a-z]+)*_validation_v[1-9][0-9]{0,2}$`)

func checklistResource(files fs.FS) family.Resource {
	return family.Resource{
		Name:        "checklist",
		Description: "The checklist validate_artifact judges a type of document by, such as prd_validation_v1",
		URITemplate: checklistRoot + "{+checklist_id}",
		MIMEType:    "application/json",
		Read: func(_ context.Context, uri string) (string, error) {
			id := strings.TrimPrefix(uri, checklistRoot)
			if traverses(id) {
				return "", traversal("Resource name", uri)
			}
			if !checklistName.MatchString(id) {
				return "", missingResource(uri)
			}
			data, err := fs.ReadFile(files, path.Clean(id+".json"))
			if errors.Is(err, fs.ErrNotExist) {
				return "", missingResource(uri)
			}
			return string(data), err
		},
	}
}
