package corpus

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
)

//go:embed manifest.tsv
var manifest string

// A Document is one line of the manifest: a file in a package that others published.
type Document struct {
	Format           string // pdf, docx, xlsx or pptx
	Kind             string // of package: go, npm, deb or debsrc (a Debian source package)
	Package, Version string
	Path             string // inside the package
	SHA256           string
	Licence          string // of the package
	Special          string // why the file is in the corpus
	// SetAside says what the reference programs read wrong in this file. It is converted
	// and printed, but does not count.
	SetAside string
}

// Name identifies a document in reports.
func (d *Document) Name() string { return path.Base(d.Package) + ":" + path.Base(d.Path) }

// Manifest returns the documents of the corpus.
func Manifest() ([]Document, error) { return parseManifest(manifest) }

func parseManifest(text string) ([]Document, error) {
	var docs []Document
	aside := 0
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) == 8 {
			f = append(f, "")
		}
		if len(f) != 9 {
			return nil, fmt.Errorf("manifest: %d fields in %q, want 8 or 9", len(f), line)
		}
		d := Document{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8]}
		if sum, err := hex.DecodeString(d.SHA256); err != nil || len(sum) != 32 {
			return nil, fmt.Errorf("manifest: no SHA-256 in %q", line)
		}
		if seen[d.SHA256] {
			return nil, fmt.Errorf("manifest: %s is listed twice", d.Name())
		}
		if bars[d.Format] == 0 {
			return nil, fmt.Errorf("manifest: unknown format %q of %s", d.Format, d.Name())
		}
		seen[d.SHA256] = true
		if d.SetAside != "" {
			aside++
		}
		docs = append(docs, d)
	}
	if aside*20 > len(docs) {
		return nil, fmt.Errorf("manifest: %d of %d documents are set aside, more than 5 %%", aside, len(docs))
	}
	return docs, nil
}
