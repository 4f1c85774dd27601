//go:build !race

package mainstay_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFileMap: the file map of docs/design.md has one line for every package, so that a
// new folder is explained when it is made, and nothing is explained twice.
func TestFileMap(t *testing.T) {
	t.Parallel()
	design, err := os.ReadFile("docs/design.md")
	require.NoError(t, err)
	var paths []string
	for _, p := range goList(t, "linux") {
		path, ok := rel(p.ImportPath)
		require.True(t, ok, p.ImportPath)
		paths = append(paths, path)
	}
	missing, repeated := mapped(string(design), paths)
	require.Empty(t, missing, "packages without a line in the file map of docs/design.md")
	require.Empty(t, repeated, "packages with more than one line there")
}

// TestFilesOfDesign: the files that docs/design.md names, in text and in pictures, exist.
func TestFilesOfDesign(t *testing.T) {
	t.Parallel()
	design, err := os.ReadFile("docs/design.md")
	require.NoError(t, err)
	files := regexp.MustCompile(`[a-z0-9_]+(/[a-z0-9_]+)+\.(go|txt|sh|mjs)\b`).FindAllString(string(design), -1)
	require.Greater(t, len(files), 40)
	for _, file := range files {
		_, err := os.Stat(file)
		require.NoError(t, err)
	}
}

// TestLayersOfDesign: the picture in docs/design.md has every package of client/internal once,
// and none imports one of a layer above its own.
func TestLayersOfDesign(t *testing.T) {
	t.Parallel()
	const inside = "client/internal/"
	design, err := os.ReadFile("docs/design.md")
	require.NoError(t, err)
	layer := map[string]int{}
	for i, m := range regexp.MustCompile(`\["client/internal, [^:]+: ([^"]+)"\]`).FindAllStringSubmatch(string(design), -1) {
		for name := range strings.SplitSeq(m[1], " · ") {
			require.NotContains(t, layer, name)
			layer[name] = i
		}
	}
	packages := 0
	for _, p := range goList(t, "linux") {
		path, _ := rel(p.ImportPath)
		name, ok := strings.CutPrefix(path, inside)
		if !ok {
			continue
		}
		packages++
		require.Contains(t, layer, name)
		for _, imported := range p.Imports {
			path, _ := rel(imported)
			if below, ok := strings.CutPrefix(path, inside); ok {
				require.GreaterOrEqual(t, layer[below], layer[name], "%s imports %s", name, below)
			}
		}
	}
	require.Len(t, layer, packages, "packages that are no more")
}

// mapped returns the packages for which a list in the text has no item, and those for which
// it has more than one.
func mapped(text string, paths []string) (missing, repeated []string) {
	for _, path := range paths {
		switch items := strings.Count(text, "\n- `"+path+"`:"); {
		case path == "":
		case items == 0:
			missing = append(missing, path)
		case items > 1:
			repeated = append(repeated, path)
		}
	}
	return missing, repeated
}

// TestDependenciesAreExplained: docs/dependencies.md has a section for every
// module that a go.mod of the workspace requires directly, with its version there.
func TestDependenciesAreExplained(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("docs/dependencies.md")
	require.NoError(t, err)
	for dir, m := range workspace(t) {
		require.Empty(t, unexplained(string(doc), m.text), "%s/go.mod: modules or versions that docs/dependencies.md does not name", dir)
	}
}

var requirement = regexp.MustCompile(`(?m)^(?:require )?\s*([a-z0-9.-]+\.[a-z]+/\S+) (v\S+)(.*)$`)

// unexplained returns the direct requirements of a go.mod that the text lacks,
// each with its version. Indirect ones come with the direct.
func unexplained(doc, mod string) []string {
	var missing []string
	for _, m := range requirement.FindAllStringSubmatch(mod, -1) {
		name, version, rest := m[1], m[2], m[3]
		if _, ours := rel(name); ours || strings.Contains(rest, "// indirect") {
			continue
		}
		if !strings.Contains(doc, "`"+name+"` "+version) {
			missing = append(missing, name+" "+version)
		}
	}
	return missing
}

// TestNoticeNamesWhatIsLinked: NOTICE names every module that is in mcpctl, and so
// in the libraries it is made of.
func TestNoticeNamesWhatIsLinked(t *testing.T) {
	t.Parallel()
	notice, err := os.ReadFile("NOTICE")
	require.NoError(t, err)
	for _, goos := range []string{"linux", "windows"} {
		for _, p := range goList(t, goos) {
			if path, _ := rel(p.ImportPath); path == "cmd/mcpctl" {
				require.Empty(t, unnamed(string(notice), p.Deps), goos)
			}
		}
	}
}

// unnamed returns the packages of other modules that no line of the text begins
// with the module of.
func unnamed(text string, packages []string) []string {
	var missing []string
	for _, path := range packages {
		host, _, _ := strings.Cut(path, "/")
		if _, own := rel(path); own || !strings.Contains(host, ".") {
			continue // ours, or the standard library's
		}
		found := false
		for _, word := range strings.Fields(text) {
			word = strings.TrimSuffix(word, ",")
			found = found || path == word || strings.HasPrefix(path, word+"/")
		}
		if !found {
			missing = append(missing, path)
		}
	}
	return missing
}

func TestDocumentRulesCanFail(t *testing.T) {
	t.Parallel()
	missing, repeated := mapped("\n- `client`: one\n- `mcp`: one\n- `mcp`: two; see `client/auth`", []string{"", "client", "client/auth", "mcp"})
	require.Equal(t, []string{"client/auth"}, missing)
	require.Equal(t, []string{"mcp"}, repeated)
	require.Equal(t, []string{"github.com/b/b/x", "github.com/a/ab"},
		unnamed("  github.com/a/a MIT\n  c.org/x/y, d.org/z BSD", []string{"fmt", "net/http", "github.com/a/a", "github.com/a/a/b", "github.com/b/b/x", "github.com/a/ab", "c.org/x/y/z"}))
	mod := "module x\n\nrequire github.com/a/a v1.0.0\n\nrequire (\n\tgithub.com/b/b/v2 v2.1.0\n\tgithub.com/c/c v0.1.0 // indirect\n)\n"
	require.Equal(t, []string{"github.com/b/b/v2 v2.1.0"}, unexplained("`github.com/a/a` v1.0.0, `github.com/b/b/v2` v2.0.0", mod))
}

// TestWhereToChangeWhat holds the first table of the design page: each file in it
// exists, and so does each function or variable that stands behind a file.
func TestWhereToChangeWhat(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/design.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n## Where to change what\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(cells[2], "`") {
			continue
		}
		rows++
		file := ""
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
			switch name := m[1]; {
			case strings.HasPrefix(name, "mcpctl "):
			case strings.ContainsAny(name, "/.") || name == "errors" || name == "toolcache":
				_, err := os.Stat(name)
				require.NoError(t, err, line)
				file = name
			default:
				code, err := os.ReadFile(file)
				require.NoError(t, err, line)
				require.Regexp(t, `(?m)^(func (\([^)]*\) )?|\t|var )`+name+`\b`, string(code), "%s is not in %s", name, file)
			}
		}
	}
	require.Greater(t, rows, 20)
}

// TestLinksLead: each link of a page to a file of the project leads to one, and to a
// heading of it where the link names one.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	for _, page := range markdown(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Empty(t, deadLinks(filepath.Dir(page), string(text)), page)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unusual = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// deadLinks returns the links of a page in dir that lead nowhere.
func deadLinks(dir, text string) (dead []string) {
	for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		target, place, _ := strings.Cut(m[1], "#")
		content := text
		if target != "" {
			file := filepath.Join(dir, target)
			_, err := os.Stat(file)
			read, _ := os.ReadFile(file) // nothing of a folder, which has no headings
			content = string(read)
			if err != nil {
				dead = append(dead, m[1])
				continue
			}
		}
		if place != "" && !slices.Contains(places(content), place) {
			dead = append(dead, m[1])
		}
	}
	return dead
}

// places returns the names that links use for the headings of a page.
func places(text string) (names []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.ReplaceAll(unusual.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

func TestLinkRulesCanFail(t *testing.T) {
	t.Parallel()
	text := "# A `b`, c\n[x](go.mod) [y](#a-b-c) [z](https://a.example/#b) [u](client/)\n```\n# d\n[v](none.md)\n```\n"
	require.Empty(t, deadLinks(".", text))
	require.Equal(t, []string{"none.md", "#d", "README.md#none"}, deadLinks(".", text+"[a](none.md) [b](#d) [c](README.md#none)"))
}
