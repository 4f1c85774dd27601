package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// families matches the folders of the 29 tools of one application: where they are, and
// where they shall be, in a module of their own.
var families = regexp.MustCompile(`^conformance/(families|seeds|refserver/(artifact|assistant|coe|docling|preflights|services|store))(/|$)`)

// sizes has lines of Go outside of tests, and words of documents.
type sizes struct {
	// product is all of it but tests, which has the packages that only tests import.
	product, tests int
	// families is what is not yet in a module of their own, conformance the rest of it.
	families, conformance int
	// words are of the pages in docs that people write.
	words int
}

// folder has the Go of one folder.
type folder struct {
	lines      int
	program    bool
	importedBy map[string]bool // folders whose code, not only tests, import this one
}

func sizesOf(dir string) (sizes, error) {
	var s sizes
	folders := map[string]*folder{}
	at := func(name string) *folder {
		if folders[name] == nil {
			folders[name] = &folder{importedBy: map[string]bool{}}
		}
		return folders[name]
	}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "bin", "testdata", "generated"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		docs := strings.HasPrefix(name, "docs/") && strings.HasSuffix(name, ".md")
		if !docs && (!strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go")) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if docs {
			s.words += len(strings.Fields(string(text)))
			return nil
		}
		here := at(path.Dir(name))
		here.lines += strings.Count(string(text), "\n")
		f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		here.program = here.program || f.Name.Name == "main"
		for _, imp := range f.Imports {
			if p, _ := strconv.Unquote(imp.Path.Value); strings.HasPrefix(p, module+"/") {
				at(short(p)).importedBy[path.Dir(name)] = true
			}
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	for name, f := range folders {
		own := false // its own module
		if strings.HasPrefix(name, "conformance/families") {
			_, err := os.Stat(filepath.Join(dir, "conformance/families/go.mod"))
			own = err == nil
		}
		switch {
		case onlyTested(name, folders):
			s.tests += f.lines
			continue
		case own:
		case families.MatchString(name):
			s.families += f.lines
		case strings.HasPrefix(name+"/", "conformance/"):
			s.conformance += f.lines
		}
		s.product += f.lines
	}
	return s, nil
}

// onlyTested reports whether nothing but tests imports a folder that users of the
// module cannot import.
func onlyTested(name string, folders map[string]*folder) bool {
	if folders[name].program || importable(name) {
		return false
	}
	for other := range folders[name].importedBy {
		if !onlyTested(other, folders) {
			return false
		}
	}
	return true
}

// importable reports whether name is a package for users: no program, and nothing of
// the reference server.
func importable(name string) bool { return !inside.MatchString(name) }

var inside = regexp.MustCompile(`(^|/)(internal|cmd|examples|interop|bench|refserver|families)(/|$)|^conformance/(server|seeds)(/|$)|^$`)

// application matches what the library should not know: names and texts of the 29
// tools, and profiles of errors but the two that the requirements name.
var application = regexp.MustCompile(`^(Artifact|COE|Preflights|Assistant|(Default)?LockedAttempts)$|DB_LOCKED|Processing service unavailable|` +
	`^"(convert_(pdf|docx|xlsx|pptx|url)|export_(markdown|html|json)|save_artifact|store_artifact|undo_approval|coe_\w+)"$`)

// applied lists where code of the library knows the application: places of
// declarations, and of texts that are no comments.
func (p *pkg) applied() []string {
	var places []string
	found := func(name, what string) {
		if application.MatchString(what) {
			places = append(places, name)
		}
	}
	for _, f := range p.files {
		name := path.Base(p.fset.Position(f.Pos()).Filename)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				found(name, n.Value)
			case *ast.ValueSpec:
				for _, id := range n.Names {
					found(name, id.Name)
				}
			case *ast.Field:
				for _, id := range n.Names {
					found(name, id.Name)
				}
			}
			return true
		})
	}
	return places
}
