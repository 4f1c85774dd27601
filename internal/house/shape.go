package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"math"
	"slices"
	"strings"
)

// shape is what a package looks like from outside its functions.
type shape struct {
	files   int
	largest typeSize
	// circle is the size of the largest set of files each of which refers to each
	// other, directly or through others of the set.
	circle int
	// arrows counts pairs of files one of which refers to the other. back counts
	// those that point up in the order of files that has the fewest of them, as far
	// as a greedy search finds it.
	arrows, back int
	// exported counts exported types, functions, variables, constants and methods of
	// exported types; fields counts exported fields of exported structs; options
	// counts exported functions whose result is a type named …Option.
	exported, fields, options int
}

type typeSize struct {
	name           string
	methods, files int
}

func (s shape) arrowsPerFile() float64 {
	return math.Round(10*float64(s.arrows)/float64(max(s.files, 1))) / 10
}

func (s shape) backPercent() int {
	return int(math.Round(100 * float64(s.back) / float64(max(s.arrows, 1))))
}

func (p *pkg) shape() shape {
	g := p.references()
	s := shape{files: len(p.files), largest: p.largestType(), circle: g.largestCircle(), arrows: g.arrows(), back: g.backArrows()}
	s.exported, s.fields, s.options = p.surface()
	return s
}

// fileOf returns the file of a position, by its place in p.files.
func (p *pkg) fileOf(pos token.Pos) int {
	return slices.IndexFunc(p.files, func(f *ast.File) bool { return f.FileStart <= pos && pos < f.FileEnd })
}

func (p *pkg) largestType() typeSize {
	var largest typeSize
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		named, ok := scope.Lookup(name).Type().(*types.Named)
		if _, isType := scope.Lookup(name).(*types.TypeName); !ok || !isType {
			continue
		}
		in := map[int]bool{}
		n := 0
		for m := range named.Methods() {
			if m.Pkg() == p.types {
				n++
				in[p.fileOf(m.Pos())] = true
			}
		}
		if n > largest.methods {
			largest = typeSize{name, n, len(in)}
		}
	}
	return largest
}

// references draws an arrow from each file to each other one that declares
// something it names: functions, types, variables, constants, methods and fields.
func (p *pkg) references() graph {
	g := make(graph, len(p.files))
	for i := range g {
		g[i] = map[int]bool{}
	}
	for id, obj := range p.info.Uses {
		if obj.Pkg() != p.types || !atTop(obj) {
			continue
		}
		from, to := p.fileOf(id.Pos()), p.fileOf(obj.Pos())
		if from >= 0 && to >= 0 && from != to {
			g[from][to] = true
		}
	}
	return g
}

// atTop reports what is seen beyond a function: the names of a package, methods
// and fields.
func atTop(obj types.Object) bool {
	if obj.Parent() == obj.Pkg().Scope() {
		return true
	}
	switch o := obj.(type) {
	case *types.Func:
		return o.Signature().Recv() != nil
	case *types.Var:
		return o.IsField()
	}
	return false
}

func (p *pkg) surface() (names, fields, options int) {
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		names++
		switch o := obj.(type) {
		case *types.Func:
			if isOption(o.Signature().Results()) {
				options++
			}
		case *types.TypeName:
			if named, ok := o.Type().(*types.Named); ok && !o.IsAlias() {
				for m := range named.Methods() {
					if m.Exported() {
						names++
					}
				}
			}
			if s, ok := o.Type().Underlying().(*types.Struct); ok {
				for f := range s.Fields() {
					if f.Exported() {
						fields++
					}
				}
			}
		}
	}
	return names, fields, options
}

func isOption(results *types.Tuple) bool {
	if results.Len() != 1 {
		return false
	}
	named, ok := results.At(0).Type().(*types.Named)
	return ok && strings.HasSuffix(named.Obj().Name(), "Option")
}

// graph says which files each file refers to.
type graph []map[int]bool

func (g graph) arrows() int {
	n := 0
	for _, to := range g {
		n += len(to)
	}
	return n
}

// largestCircle is the size of the largest strongly connected component
// (Tarjan), 0 where there is no circle.
func (g graph) largestCircle() int {
	t := tarjan{g: g, index: make([]int, len(g)), low: make([]int, len(g)), onStack: make([]bool, len(g))}
	for v := range g {
		if t.index[v] == 0 {
			t.visit(v)
		}
	}
	if t.largest == 1 {
		return 0
	}
	return t.largest
}

type tarjan struct {
	g          graph
	index, low []int // 0 is not visited yet
	onStack    []bool
	stack      []int
	next       int
	largest    int
}

func (t *tarjan) visit(v int) {
	t.next++
	t.index[v], t.low[v] = t.next, t.next
	t.stack, t.onStack[v] = append(t.stack, v), true
	for w := range t.g[v] {
		switch {
		case t.index[w] == 0:
			t.visit(w)
			t.low[v] = min(t.low[v], t.low[w])
		case t.onStack[w]:
			t.low[v] = min(t.low[v], t.index[w])
		}
	}
	if t.low[v] != t.index[v] {
		return
	}
	for size := 1; ; size++ {
		w := t.stack[len(t.stack)-1]
		t.stack, t.onStack[w] = t.stack[:len(t.stack)-1], false
		if w == v {
			t.largest = max(t.largest, size)
			return
		}
	}
}

// backArrows counts the arrows that point up in the best order of the files that a
// search finds. It begins with the files that have more arrows out than in, and then
// moves one file at a time to where it saves most, until no move saves anything.
func (g graph) backArrows() int {
	balance := make([]int, len(g)) // arrows in, less arrows out
	for v, to := range g {
		balance[v] -= len(to)
		for w := range to {
			balance[w]++
		}
	}
	order := make([]int, len(g))
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return balance[a] - balance[b] })
	for moved := true; moved; {
		moved = false
		for v := range g {
			moved = g.improve(order, v) || moved
		}
	}
	place := make([]int, len(g))
	for i, v := range order {
		place[v] = i
	}
	back := 0
	for v, to := range g {
		for w := range to {
			if place[w] < place[v] {
				back++
			}
		}
	}
	return back
}

// improve moves v to where it has the fewest arrows back, and reports whether that
// saved any.
func (g graph) improve(order []int, v int) bool {
	from := slices.Index(order, v)
	best, at := 0, from
	for _, step := range []int{-1, 1} {
		saved := 0
		for i := from + step; i >= 0 && i < len(order); i += step {
			w := order[i]
			// Above w, an arrow from v to w is no longer back, and one from w to v is.
			if g[v][w] {
				saved -= step
			}
			if g[w][v] {
				saved += step
			}
			if saved > best {
				best, at = saved, i
			}
		}
	}
	if best == 0 {
		return false
	}
	copy(order[from:], order[from+1:])
	copy(order[at+1:], order[at:len(order)-1])
	order[at] = v
	return true
}
