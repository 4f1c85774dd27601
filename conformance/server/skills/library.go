package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// manifest is the file that makes a folder a skill.
	manifest = "SKILL.md"
	scheme   = "skill://"
)

// Limits of what is served (SEP-2640, "Limits"), and of the search for it.
const (
	maxFiles   = 512
	maxBytes   = 16 << 20
	maxSkills  = 1000
	maxFolders = 10_000
	maxDepth   = 16
)

// refresh is how long a look at the folder counts.
const refresh = time.Second

// A library is a folder of skills. It is safe for concurrent use.
type library struct {
	fsys  fs.FS
	fixed bool // it never changes
	log   *slog.Logger

	mu      sync.Mutex
	looked  time.Time
	last    *catalog
	digests map[string]digest // by the path of a file
	faults  map[string]string // what was said about a skill, by its path
}

// digest is that of a file as it was.
type digest struct {
	size     int64
	modified time.Time
	sum      string
}

// current returns what is served now.
func (l *library) current() *catalog {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && (l.fixed || time.Since(l.looked) < refresh) {
		return l.last
	}
	s := &search{library: l, catalog: newCatalog(), digests: map[string]digest{}, faults: map[string]string{}}
	if err := s.visit(".", 0); err != nil {
		s.fault(".", err)
	}
	s.sort()
	l.last, l.looked, l.digests, l.faults = s.catalog, time.Now(), s.digests, s.faults
	return l.last
}

// read returns the content of a file as it is now, which its digest may not be.
func (l *library) read(name string) ([]byte, error) {
	f, err := l.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no file any more", name))
	}
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(content) > maxBytes {
		err = fmt.Errorf("%s has more than %d bytes", name, maxBytes)
	}
	return content, err
}

// A search looks for skills once.
type search struct {
	*library
	*catalog
	digests map[string]digest
	faults  map[string]string
	folders int
}

// fault notes why a skill is not served, and logs it unless it was already.
func (s *search) fault(dir string, err error) {
	s.faults[dir] = err.Error()
	if s.library.faults[dir] != err.Error() {
		s.log.Warn("skill_not_served", "folder", dir, "error", err.Error())
	}
}

// visit looks for skills in a folder and those below it.
func (s *search) visit(dir string, depth int) error {
	if s.folders++; s.folders > maxFolders {
		return fmt.Errorf("there are more than %d folders", maxFolders)
	}
	entries, err := fs.ReadDir(s.fsys, dir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == manifest && e.Type().IsRegular() }) {
		if err := s.take(dir); err != nil {
			s.fault(dir, err)
		}
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() || hidden(e.Name()) || depth == maxDepth {
			continue
		}
		if err := s.visit(path.Join(dir, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// take adds the skill in a folder.
func (s *search) take(dir string) error {
	switch {
	case dir == ".":
		return errors.New("the folder of the skills is a skill itself: serve the folder that contains it")
	case len(s.skills) == maxSkills:
		return fmt.Errorf("there are more than %d skills", maxSkills)
	}
	k := &skill{uri: uriOf(path.Join(dir, manifest)), dir: dir}
	total := int64(0)
	err := fs.WalkDir(s.fsys, dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != dir && hidden(e.Name()) && e.IsDir():
			return fs.SkipDir
		case !e.Type().IsRegular() || hidden(e.Name()):
			return nil // no file of the skill
		case len(k.files) == maxFiles:
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		f, err := s.file(name, e)
		if err != nil {
			return err
		}
		if total += f.size; total > maxBytes {
			return fmt.Errorf("its files have more than %d bytes", maxBytes)
		}
		k.files = append(k.files, f)
		return nil
	})
	if err != nil {
		return err
	}
	text, err := s.read(path.Join(dir, manifest))
	if err != nil {
		return err
	}
	if err := k.readFrontMatter(text); err != nil {
		return err
	}
	s.add(k)
	return nil
}

// file describes a file, whose digest is made again only after it has changed.
func (s *search) file(name string, e fs.DirEntry) (*file, error) {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
		return nil, fmt.Errorf("%q is no name that every system can have", name)
	}
	info, err := e.Info()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("its files have more than %d bytes", maxBytes)
	}
	d := s.library.digests[name]
	if d.sum == "" || d.size != info.Size() || !d.modified.Equal(info.ModTime()) {
		content, err := s.read(name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		d = digest{size: int64(len(content)), modified: info.ModTime(), sum: "sha256:" + hex.EncodeToString(sum[:])}
	}
	s.digests[name] = d
	return &file{uri: uriOf(name), path: name, size: d.size, digest: d.sum}, nil
}

// uriOf returns the URI of a file or folder by its path.
func uriOf(name string) string {
	segments := strings.Split(name, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return scheme + strings.Join(segments, "/")
}
