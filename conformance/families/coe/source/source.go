// Package source reads what a user gives the coe tools to work on: a file, or a
// folder of files, within limits. It says where in a file a problem is.
package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of what is read. A larger source is refused and never cut.
const (
	// MaxFile is the size of the largest file, in bytes.
	MaxFile = 4 << 20
	// MaxFiles is the number of files of a folder.
	MaxFiles = 5000
	// MaxTotal is the size of all files together, in bytes.
	MaxTotal = 64 << 20
	// maxEntries bounds what a folder may hold besides the files that are read.
	maxEntries = 100_000
)

// An Error is a problem in a file. Its text has the form of a compiler's:
// FILE:LINE: what is wrong, and what to do.
type Error struct {
	File string
	// Line counts from 1; 0 is the file as a whole.
	Line    int
	Problem string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Problem
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
}

// A File is a text.
type File struct {
	// Name is the name of a single file, or the path below the folder, with
	// slashes.
	Name string
	// Path is where the file was found, for errors.
	Path     string
	Data     []byte
	Modified time.Time
}

// Errorf returns an [Error] at a line of f.
func (f *File) Errorf(line int, format string, args ...any) *Error {
	return &Error{File: f.Path, Line: line, Problem: fmt.Sprintf(format, args...)}
}

// Line returns the line, from 1, of a byte of the file.
func (f *File) Line(offset int) int {
	return 1 + bytes.Count(f.Data[:min(max(offset, 0), len(f.Data))], []byte("\n"))
}

// Ext returns the lower-case extension of the file, with its dot.
func (f *File) Ext() string { return strings.ToLower(path.Ext(f.Name)) }

// Files are what was read.
type Files struct {
	// Read are the files, in the order of their names.
	Read []File
	// Skipped are symbolic links in the folder, and what [ReadTexts] left out. No link
	// is followed: it might lead out of the folder.
	Skipped []string
}

// Read reads the file at name, or every file of the folder at name whose
// extension is one of exts (".md"), also in folders below it. Names that begin
// with a dot and folders named node_modules are left out. No file is an error.
func Read(name string, exts ...string) (*Files, error) { return read(name, exts, false) }

// ReadTexts is like [Read] for folders that were not made to be read here: a file that
// is too large, or no UTF-8 text, is skipped.
func ReadTexts(name string, exts ...string) (*Files, error) { return read(name, exts, true) }

func read(name string, exts []string, lenient bool) (*Files, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%w; name a file or a folder that exists", err)
	}
	if info.IsDir() {
		return readFolder(name, exts, lenient)
	}
	if ext := strings.ToLower(filepath.Ext(name)); !slices.Contains(exts, ext) {
		return nil, &Error{File: name, Problem: "the extension must be one of " + strings.Join(exts, ", ")}
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{File: name, Problem: "not a file; name a regular file or a folder"}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read only
	file, err := readFile(f, filepath.Base(name), name)
	if err != nil {
		return nil, err
	}
	return &Files{Read: []File{*file}}, nil
}

func readFolder(name string, exts []string, lenient bool) (_ *Files, err error) {
	root, err := os.OpenRoot(name) // nothing below it leads out
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	out := &Files{}
	entries, total := 0, 0
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		entries++
		switch hidden := p != "." && strings.HasPrefix(d.Name(), "."); {
		case entries > maxEntries:
			return &Error{File: name, Problem: fmt.Sprintf("more than %d files and folders; name a folder with less in it", maxEntries)}
		case d.IsDir() && (hidden || d.Name() == "node_modules"):
			return fs.SkipDir
		case hidden, d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			out.Skipped = append(out.Skipped, p)
			return nil
		case !d.Type().IsRegular() || !slices.Contains(exts, strings.ToLower(path.Ext(p))):
			return nil
		case len(out.Read) == MaxFiles:
			return &Error{File: name, Problem: fmt.Sprintf("more than %d files; name a folder with fewer", MaxFiles)}
		}
		f, err := root.Open(p)
		if err != nil {
			return err
		}
		file, err := readFile(f, p, filepath.Join(name, filepath.FromSlash(p)))
		var unfit *Error
		if lenient && errors.As(err, &unfit) {
			out.Skipped = append(out.Skipped, p)
			return f.Close()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		if total += len(file.Data); total > MaxTotal {
			return &Error{File: name, Problem: fmt.Sprintf("the files are larger than %d MiB together; name a folder with less in it", MaxTotal>>20)}
		}
		out.Read = append(out.Read, *file)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out.Read) == 0 {
		return nil, &Error{File: name, Problem: "no file with the extension " + strings.Join(exts, " or ") + " in this folder; put one there"}
	}
	return out, nil
}

func readFile(f fs.File, name, where string) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file := &File{Name: name, Path: where, Modified: info.ModTime().UTC().Truncate(time.Second)}
	file.Data, err = io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(file.Data) > MaxFile {
		return nil, file.Errorf(0, "larger than %d MiB; split it into several files", MaxFile>>20)
	}
	file.Data = bytes.TrimPrefix(file.Data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(file.Data) {
		return nil, file.Errorf(file.Line(invalid(file.Data)), "not UTF-8 text; save the file as UTF-8")
	}
	if at := bytes.IndexByte(file.Data, 0); at >= 0 {
		return nil, file.Errorf(file.Line(at), "a NUL character, which no text has; save the file as text")
	}
	return file, nil
}

// invalid returns where a text stops being UTF-8.
func invalid(data []byte) int {
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return at
}
