//go:build !race

package mainstay_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// outside are the folders whose modules are not in the workspace: they import the
// peers that Mainstay is measured beside and tried with.
var outside = []string{"bench", "interop"}

// modFile is what the rules need of a go.mod.
type modFile struct {
	text     string
	language string            // of the go directive
	direct   map[string]string // module to version
	indirect map[string]string
	replaced map[string]string // module to folder
}

var (
	used        = regexp.MustCompile(`(?m)^\s+(\.\S*)$`)
	replacement = regexp.MustCompile(`(?m)^replace (\S+) => (\S+)$`)
	language    = regexp.MustCompile(`(?m)^go (\S+)$`)
)

func parseMod(text string) modFile {
	m := modFile{text: text, direct: map[string]string{}, indirect: map[string]string{}, replaced: map[string]string{}}
	if found := language.FindStringSubmatch(text); found != nil {
		m.language = found[1]
	}
	for _, r := range requirement.FindAllStringSubmatch(text, -1) {
		if strings.Contains(r[3], "// indirect") {
			m.indirect[r[1]] = r[2]
		} else {
			m.direct[r[1]] = r[2]
		}
	}
	for _, r := range replacement.FindAllStringSubmatch(text, -1) {
		m.replaced[r[1]] = r[2]
	}
	return m
}

// workspace has the modules of go.work, by folder.
func workspace(t *testing.T) map[string]modFile {
	t.Helper()
	work, err := os.ReadFile("go.work")
	require.NoError(t, err)
	modules := map[string]modFile{}
	for _, dir := range used.FindAllStringSubmatch(string(work), -1) {
		text, err := os.ReadFile(path.Join(dir[1], "go.mod"))
		require.NoError(t, err)
		modules[path.Clean(dir[1])] = parseMod(string(text))
	}
	require.Equal(t, parseMod(string(work)).language, modules["."].language, "go.work and go.mod name one Go")
	return modules
}

// TestWorkspace: go.work joins every module of the repository but those that import
// peers, and each builds without it: what is ours comes from the folder beside.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	modules := workspace(t)
	var found []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || slices.Contains(outside, filepath.ToSlash(p))) {
			return fs.SkipDir
		}
		if err == nil && d.Name() == "go.mod" {
			found = append(found, filepath.ToSlash(filepath.Dir(p)))
		}
		return err
	})
	require.NoError(t, err)
	require.ElementsMatch(t, slices.Collect(maps.Keys(modules)), found)
	for dir, m := range modules {
		require.Empty(t, faultsOf(dir, m), dir)
	}
	require.Empty(t, disagreements(modules))
}

// faultsOf says what is wrong with a go.mod of the workspace.
func faultsOf(dir string, m modFile) []string {
	var faults []string
	name := path.Join(module, dir)
	if !strings.HasPrefix(m.text, "module "+name+"\n") {
		faults = append(faults, "its name is not "+name)
	}
	for _, requires := range []map[string]string{m.direct, m.indirect} {
		for other, version := range requires {
			folder, ours := rel(other)
			if !ours {
				continue
			}
			if version != "v0.0.0" { // released: go install refuses a replace
				if m.replaced[other] != "" {
					faults = append(faults, other+" is released, and replaced")
				}
				continue
			}
			to, err := filepath.Rel(dir, cmp.Or(folder, "."))
			if err != nil || m.replaced[other] != filepath.ToSlash(to) {
				faults = append(faults, fmt.Sprintf("%s is not replaced with %s", other, filepath.ToSlash(to)))
			}
		}
	}
	return faults
}

// disagreements are the modules that two go.mod of the workspace require directly,
// in different versions.
func disagreements(modules map[string]modFile) []string {
	seen := map[string]string{}
	var faults []string
	for _, dir := range slices.Sorted(maps.Keys(modules)) {
		for name, version := range modules[dir].direct {
			if before, there := seen[name]; there && before != version {
				faults = append(faults, fmt.Sprintf("%s: %s %s, elsewhere %s", dir, name, version, before))
			}
			seen[name] = version
		}
	}
	return faults
}

func TestWorkspaceRulesCanFail(t *testing.T) {
	t.Parallel()
	mod := func(name, replaced string) modFile {
		return parseMod("module " + module + name + "\n\ngo 1.2\n\nrequire (\n\t" + module + " v0.0.0\n\tx.org/y v1.0.0\n\tx.org/z v1.0.0 // indirect\n)\n" + replaced)
	}
	good := mod("/a/b", "\nreplace "+module+" => ../..\n")
	require.Empty(t, faultsOf("a/b", good))
	require.Equal(t, []string{module + " is not replaced with ../.."}, faultsOf("a/b", mod("/a/b", "\nreplace "+module+" => ..\n")))
	require.Len(t, faultsOf("a/c", good), 1)
	released := strings.Replace(good.text, module+" v0.0.0", module+" v0.1.0", 1)
	require.Equal(t, []string{module + " is released, and replaced"}, faultsOf("a/b", parseMod(released)))
	require.Empty(t, faultsOf("a/b", parseMod(strings.Split(released, "\nreplace")[0])))
	require.Empty(t, disagreements(map[string]modFile{"a": good, "b": good}))
	other := parseMod(strings.ReplaceAll(good.text, "v1.0.0", "v1.0.1"))
	require.Equal(t, []string{"b: x.org/y v1.0.1, elsewhere v1.0.0"}, disagreements(map[string]modFile{"a": good, "b": other}))
}

// consumer is a module with a program that imports the client, and a go command for
// it that has nothing but what the module cache holds. Its own cache is empty.
type consumer struct {
	t          *testing.T
	dir, cache string
}

func newConsumer(t *testing.T, requires string) *consumer {
	t.Helper()
	root, err := filepath.Abs(".")
	require.NoError(t, err)
	c := &consumer{t: t, dir: t.TempDir(), cache: t.TempDir()}
	mod := "module example.com/hello\n\ngo " + workspace(t)["."].language + "\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n" + requires
	for name, text := range map[string]string{"go.mod": mod, "main.go": helloClient} {
		require.NoError(t, os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600))
	}
	return c
}

const helloClient = `package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client"
)

func main() {
	c, err := client.Dial(context.Background(), "http://127.0.0.1:1/mcp")
	fmt.Println(c, err)
}
`

// run runs a go command in the module, without network. Where it fails because the
// module cache lacks what it needs the test is skipped.
func (c *consumer) run(args ...string) string {
	c.t.Helper()
	have, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(c.t, err)
	downloads := filepath.ToSlash(filepath.Join(strings.TrimSpace(string(have)), "cache", "download"))
	if !strings.HasPrefix(downloads, "/") {
		downloads = "/" + downloads
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+c.cache, "GOPROXY=file://"+downloads, "GOSUMDB=off", "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(string(out), "no such file or directory") {
		c.t.Skipf("the module cache does not hold all that a program with the client needs (go mod tidy in one fetches it): %s", out)
	}
	require.NoError(c.t, err, string(out))
	return string(out)
}

// The bounds of what the client brings into a program's module.
const (
	mostSelected = 14
	mostSums     = 24
	mostFetched  = 12 << 20
)

// TestWeightOfTheClient: a module that imports the client selects, sums up and
// fetches little.
func TestWeightOfTheClient(t *testing.T) {
	t.Parallel()
	tree(t) // go test sees the files read here, and so knows when its cached result is stale
	c := newConsumer(t, "")
	c.run("mod", "tidy")
	list := c.run("list", "-m", "all")
	selected := strings.Count(list, "\n")
	require.LessOrEqual(t, selected, mostSelected, list)
	for _, other := range []string{"jackc/pgx", "redis/go-redis", "opentelemetry.io", "spf13/cobra", "modelcontextprotocol/go-sdk", "golang.org/x/"} {
		require.NotContains(t, list, other, "a program keeps its own version of it")
	}
	sums, err := os.ReadFile(filepath.Join(c.dir, "go.sum"))
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(sums), "\n"), mostSums)
	zips, fetched := 0, int64(0)
	err = filepath.WalkDir(filepath.Join(c.cache, "cache", "download"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(p) != ".zip" {
			return err
		}
		info, err := d.Info()
		zips, fetched = zips+1, fetched+info.Size()
		return err
	})
	require.NoError(t, err)
	require.Positive(t, fetched)
	require.LessOrEqual(t, fetched, int64(mostFetched))
	t.Logf("%d modules selected, %d lines of go.sum, %d zips of %s MiB", selected, strings.Count(string(sums), "\n"), zips,
		strconv.FormatFloat(float64(fetched)/(1<<20), 'f', 1, 64))
}
