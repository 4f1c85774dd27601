// Package txtar reads and writes text archives in the form of Go's txtar: a comment,
// then files, each after a line "-- NAME --".
package txtar

import (
	"bytes"
	"os"
	"strings"
)

// Archive is a text archive.
type Archive struct {
	Comment []byte
	Files   []File
}

// File is a file of an archive.
type File struct {
	Name string
	Data []byte
}

// ParseFile parses an archive in a file.
func ParseFile(name string) (*Archive, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(data), nil
}

// Parse parses an archive. Every text is one; a missing final newline is added.
func Parse(data []byte) *Archive {
	a := &Archive{}
	part := &a.Comment
	for line := range bytes.Lines(data) {
		if name := marker(line); name != "" {
			a.Files = append(a.Files, File{Name: name})
			part = &a.Files[len(a.Files)-1].Data
			continue
		}
		*part = append(*part, line...)
	}
	for i := range a.Files {
		a.Files[i].Data = ended(a.Files[i].Data)
	}
	a.Comment = ended(a.Comment)
	return a
}

// Format returns the text of an archive.
func Format(a *Archive) []byte {
	out := bytes.Clone(ended(a.Comment))
	for _, f := range a.Files {
		out = append(out, "-- "+f.Name+" --\n"...)
		out = append(out, ended(f.Data)...)
	}
	return out
}

// marker returns the file name in a marker line, "" for another line.
func marker(line []byte) string {
	text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
	name, found := strings.CutPrefix(text, "-- ")
	name, closed := strings.CutSuffix(name, " --")
	if !found || !closed {
		return ""
	}
	return strings.TrimSpace(name)
}

// ended returns data with a newline at the end of its last line.
func ended(data []byte) []byte {
	if len(data) == 0 || data[len(data)-1] == '\n' {
		return data
	}
	return append(bytes.Clone(data), '\n')
}
