package main

import (
	"cmp"
	"context"
	"fmt"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/mainstay-mcp/mainstay"

// row is one line of the table. The bound is the best figure that was reached, and
// comes down to the target.
type row struct {
	name               string
	now, bound, target int
	where              string
}

// boundsFile has a line for each row: name | bound | target. The test beside the
// table lowers the bounds with -update.
const boundsFile = "internal/house/bounds.txt"

// measure makes the table of the project in dir.
func measure(ctx context.Context, dir string) ([]row, []*pkg, error) {
	pattern := "./..."
	if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
		pattern = "work"
	}
	var call []string
	done := make(chan error, 1)
	go func() { // beside the rest, which takes as long
		var err error
		call, err = packagesOfCall(ctx, dir)
		done <- err
	}()
	packages, err := load(ctx, dir, []string{pattern})
	if err != nil {
		return nil, nil, err
	}
	size, err := sizesOf(dir)
	if err != nil {
		return nil, nil, err
	}
	if err := <-done; err != nil {
		return nil, nil, err
	}
	rows := append(rowsOf(packages),
		row{name: "packages that one CallTool enters on its way to the server", now: len(call), where: strings.Join(call, " ")},
		row{name: "lines of Go outside tests", now: hundreds(size.product), where: fmt.Sprintf("and %d in packages that only tests import", size.tests)},
		row{name: "lines of the families outside a module of their own", now: hundreds(size.families)},
		row{name: "lines of generic conformance", now: hundreds(size.conformance)},
		row{name: "words of docs by hand", now: hundreds(size.words)},
	)
	bounds, err := os.ReadFile(filepath.Join(dir, boundsFile))
	if err != nil {
		return nil, nil, err
	}
	for i := range rows {
		for line := range strings.Lines(string(bounds)) {
			if cells := strings.Split(line, "|"); len(cells) == 3 && strings.TrimSpace(cells[0]) == rows[i].name {
				rows[i].bound, _ = strconv.Atoi(strings.TrimSpace(cells[1]))
				rows[i].target, _ = strconv.Atoi(strings.TrimSpace(cells[2]))
			}
		}
	}
	return rows, packages, nil
}

// aside matches packages that users import but that are no part of the library: adapters
// and test tools.
var aside = regexp.MustCompile(`test$|^(otel|fleet|adapter)(/|$)|^auth/`)

// belowLibrary matches packages that are part of the library though users cannot import
// them.
var belowLibrary = regexp.MustCompile(`^client/internal/|^internal/(errormap|resilience)$`)

// rowsOf makes the rows that the packages alone tell.
func rowsOf(packages []*pkg) []row {
	var client shape
	var other, circle, library, suite, experimental, knowledge row
	var inside, judges int
	var places, circles []string
	configs := map[string]int{}
	for _, p := range packages {
		s := p.shape()
		if strings.HasPrefix(p.path, "examples/") {
			continue
		}
		if p.path == "client" {
			client = s
		} else {
			other.larger(s.methods, p.path+"."+s.largest)
		}
		circle.larger(s.circle, p.path)
		if s.circle > 15 {
			circles = append(circles, fmt.Sprintf("%s %d", p.path, s.circle))
		}
		conformance := strings.HasPrefix(p.path, "conformance")
		switch {
		case p.name == "main" || !importable(p.path) || aside.MatchString(p.path):
		case conformance:
			suite.add(s.surface()-s.experimental, p.path)
		default:
			library.add(s.surface()-s.experimental, p.path)
			experimental.add(s.experimental, p.path)
		}
		if !conformance && (importable(p.path) || belowLibrary.MatchString(p.path)) {
			places = append(places, p.applied()...)
		}
		if strings.HasPrefix(p.path, "client/internal/") {
			inside++
			funcs := 0
			for fields := range p.configs() {
				for f := range exportedFields(fields) {
					configs[f.Name()]++
					if _, ok := f.Type().Underlying().(*types.Signature); ok {
						funcs++
					}
				}
			}
			knowledge.add(funcs, strings.TrimPrefix(p.path, "client/internal/"))
		}
		if strings.HasPrefix(p.path, "conformance/internal/") {
			judges++
		}
	}
	circle.where = strings.Join(circles, ", ")
	repeated := row{}
	for _, name := range slices.SortedFunc(maps.Keys(configs), func(a, b string) int { return cmp.Or(configs[b]-configs[a], strings.Compare(a, b)) }) {
		repeated.add(configs[name]-1, name)
	}
	slices.Sort(places)
	return []row{
		{name: "methods of client.Client", now: client.methods},
		{name: "methods of the largest other type", now: other.now, where: other.where},
		{name: "files in the largest circle", now: circle.now, where: circle.where},
		{name: "exported names and fields of the suite", now: suite.now, where: suite.where},
		{name: "exported names and fields of the library, stable", now: library.now, where: library.where},
		{name: "exported names and fields of client, stable", now: client.surface() - client.experimental, where: fmt.Sprintf("and %d experimental; library: %d", client.experimental, experimental.now)},
		{name: "options of client", now: client.options},
		{name: "knobs behind the options of client, stable", now: client.knobs, where: fmt.Sprintf("and %d experimental", client.experimentalKnobs)},
		{name: "places where the library knows one application", now: len(places), where: strings.Join(slices.Compact(places), " ")},
		{name: "func fields in configs of client/internal", now: knowledge.now, where: knowledge.where},
		{name: "fields repeated over configs of client/internal", now: repeated.now, where: repeated.where},
		{name: "packages of client/internal", now: inside},
		{name: "packages of conformance/internal", now: judges},
	}
}

// configs returns the exported structs that a part of the client is made from: those
// named …Config, and those that a function named New… takes.
func (p *pkg) configs() map[*types.Struct]bool {
	found := map[*types.Struct]bool{}
	add := func(t types.Type) {
		if ptr, ok := t.(*types.Pointer); ok {
			t = ptr.Elem()
		}
		named, ok := t.(*types.Named)
		if fields, isStruct := t.Underlying().(*types.Struct); ok && isStruct && named.Obj().Pkg() == p.types {
			found[fields] = true
		}
	}
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		switch obj := scope.Lookup(name).(type) {
		case *types.TypeName:
			if strings.HasSuffix(name, "Config") {
				add(obj.Type())
			}
		case *types.Func:
			if strings.HasPrefix(name, "New") {
				for v := range obj.Signature().Params().Variables() {
					add(v.Type())
				}
			}
		}
	}
	return found
}

// hundreds rounds up, so that a few lines do not miss a bound.
func hundreds(n int) int { return (n + 99) / 100 * 100 }

func (r *row) larger(now int, where string) {
	if now > r.now {
		r.now, r.where = now, where
	}
}

// add adds to a sum, and names what it is of.
func (r *row) add(now int, where string) {
	if now > 0 {
		r.now, r.where = r.now+now, strings.TrimSpace(fmt.Sprintf("%s %s %d", r.where, where, now))
	}
}
