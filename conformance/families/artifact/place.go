package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// A place is where one version of an artifact is kept.
type place struct {
	Type    artifactType
	ID      string
	Version int
	// Dir is the folder below the base: the singular or the plural of the type.
	Dir string
}

func (p place) stem() string         { return fmt.Sprintf("%s_v%d", p.ID, p.Version) }
func (p place) document() string     { return path.Join(p.Dir, p.stem()+".md") }
func (p place) metadata() string     { return path.Join(p.Dir, p.stem()+"_metadata.json") }
func (p place) artifactPath() string { return pathRoot + p.document() }
func (p place) resourcePath() string { return pathRoot + p.Type.Plural + "/" + p.stem() + ".md" }
func (p place) uri() string          { return resourceRoot + p.Type.Plural + "/" + p.stem() + ".md" }

// documentName is the file name of a document: id and version.
var documentName = regexp.MustCompile(`^(([A-Z]+)-[0-9]{3,})_v([1-9][0-9]{0,2})\.md$`)

// parsePlace reads a path of a directory, singular or plural, and a file.
func parsePlace(dir, file string) (place, bool) {
	m := documentName.FindStringSubmatch(file)
	if m == nil || len(m[1]) > maxID {
		return place{}, false
	}
	for _, t := range types {
		if t.Prefix == m[2] && (dir == t.Plural || dir == t.Name) {
			version, err := strconv.Atoi(m[3])
			return place{Type: t, ID: m[1], Version: version, Dir: dir}, err == nil
		}
	}
	return place{}, false
}

// dirs are the folders an artifact of type t may be in, the one new artifacts
// go to first.
func (s *store) dirs(t artifactType) []string {
	switch {
	case t.Name == t.Plural:
		return []string{t.Name}
	case s.plural:
		return []string{t.Plural, t.Name}
	}
	return []string{t.Name, t.Plural}
}

// locate finds the folder a version is in, or gives the one for new artifacts.
func (s *store) locate(root folder, p place) (_ place, exists bool, err error) {
	dirs := s.dirs(p.Type)
	for _, p.Dir = range dirs {
		switch exists, err = isFile(root, p.document()); {
		case err != nil || exists:
			return p, exists, err
		}
	}
	p.Dir = dirs[0]
	return p, false, nil
}

// current finds the highest version of an artifact.
func (s *store) current(root folder, t artifactType, id string) (best place, exists bool, err error) {
	for _, dir := range s.dirs(t) {
		names, err := list(root, dir)
		if err != nil {
			return place{}, false, err
		}
		for _, name := range names {
			if !strings.HasPrefix(name, id+"_v") {
				continue
			}
			if p, ok := parsePlace(dir, name); ok && p.ID == id && p.Version > best.Version {
				best, exists = p, true
			}
		}
	}
	return best, exists, nil
}

// list returns the names of the regular files in dir; a folder that is not
// there has none.
func list(root folder, dir string) (names []string, err error) {
	d, err := root.OpenFile(dir, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // only read
	entries, err := d.ReadDir(-1)
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// isFile reports whether name is a regular file. A link is none, wherever it
// leads.
func isFile(root folder, name string) (bool, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), err
}

// errNotRegular is what reading a link, a folder or a device is answered with.
var errNotRegular = errors.New("not a regular file")

// readFile reads a regular file. To open anything else could block forever
// (a pipe) or leave the base (a link).
func readFile(root folder, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	return root.ReadFile(name)
}
