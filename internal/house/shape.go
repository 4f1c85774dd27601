package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// shape has the figures of one package.
type shape struct {
	files int
	// largest is the type with the most methods.
	largest string
	methods int
	// circle is the size of the largest set of files each of which refers to each
	// other, directly or through others of the set.
	circle int
	// names counts exported types, functions, variables, constants and methods of
	// exported types; fields counts exported fields of exported structs. experimental
	// is how many of both have "# Experimental" in their docs or in those of their
	// type or package.
	names, fields, experimental int
	// options counts exported functions whose result is a type named …Option; knobs
	// counts the exported fields of the structs that they take, stable ones only, and
	// experimentalKnobs the others.
	options, knobs, experimentalKnobs int
}

func (s shape) surface() int { return s.names + s.fields }

func (p *pkg) shape() shape {
	s := shape{files: len(p.files), circle: p.references().largestCircle()}
	docs := p.experimental()
	count := func(n *int, experimental bool) {
		*n++
		if experimental {
			s.experimental++
		}
	}
	knobs := map[*types.Named]bool{}
	for _, name := range p.types.Scope().Names() {
		obj := p.types.Scope().Lookup(name)
		exported := obj.Exported()
		if exported {
			count(&s.names, docs.has(obj))
		}
		switch o := obj.(type) {
		case *types.Func:
			if exported && isOption(o.Signature().Results()) {
				s.options++
				for v := range o.Signature().Params().Variables() {
					if _, result := v.Type().(*types.Pointer); !result {
						knobsOf(v.Type(), knobs)
					}
				}
			}
		case *types.TypeName:
			if o.IsAlias() {
				continue // its methods and fields are counted where it is declared
			}
			named := o.Type().(*types.Named)
			if n := named.NumMethods(); n > s.methods {
				s.largest, s.methods = name, n
			}
			for m := range named.Methods() {
				if exported && m.Exported() {
					count(&s.names, docs.has(obj) || docs.has(m))
				}
			}
			fields, _ := named.Underlying().(*types.Struct)
			for f := range exportedFields(fields) {
				if exported {
					count(&s.fields, docs.has(obj) || docs.has(f))
				}
			}
		}
	}
	for named := range knobs {
		fields, _ := named.Underlying().(*types.Struct)
		for f := range exportedFields(fields) {
			if p.experimentalKnob(named, f) {
				s.experimentalKnobs++
			} else {
				s.knobs++
			}
		}
	}
	return s
}

// experimentalKnob reports whether the docs of a field, of its struct or of the struct
// that it holds call it experimental. A field that holds an experimental struct cannot be
// more stable than what it holds.
func (p *pkg) experimentalKnob(of *types.Named, f *types.Var) bool {
	return p.marked[of.String()] || p.marked[of.String()+"."+f.Name()] || p.marked[f.Type().String()]
}

func exportedFields(s *types.Struct) func(func(*types.Var) bool) {
	return func(yield func(*types.Var) bool) {
		if s == nil {
			return
		}
		for f := range s.Fields() {
			if f.Exported() && !yield(f) {
				return
			}
		}
	}
}

// knobsOf adds the structs of this project that t is made of: what an application can
// set. A pointer that an option takes is not among them: the client writes a result there.
func knobsOf(t types.Type, into map[*types.Named]bool) {
	switch t := t.(type) {
	case *types.Pointer:
		knobsOf(t.Elem(), into)
	case *types.Slice:
		knobsOf(t.Elem(), into)
	case *types.Named:
		s, ok := t.Underlying().(*types.Struct)
		if !ok || into[t] || t.Obj().Pkg() == nil || !strings.HasPrefix(t.Obj().Pkg().Path(), module+"/") || t.Obj().Pkg().Name() == "mcp" {
			return // the vocabulary of the protocol is no setting
		}
		into[t] = true
		for f := range exportedFields(s) {
			knobsOf(f.Type(), into)
		}
	}
}

func isOption(results *types.Tuple) bool {
	if results.Len() != 1 {
		return false
	}
	named, ok := results.At(0).Type().(*types.Named)
	return ok && strings.HasSuffix(named.Obj().Name(), "Option")
}

// marks are the positions of the declarations that are experimental.
type marks struct {
	all bool // the whole package
	at  map[token.Pos]bool
}

func (m marks) has(obj types.Object) bool { return m.all || m.at[obj.Pos()] }

func (p *pkg) experimental() marks {
	m := marks{at: map[token.Pos]bool{}}
	marked := func(docs ...*ast.CommentGroup) bool {
		return slices.ContainsFunc(docs, func(g *ast.CommentGroup) bool { return strings.Contains(g.Text(), "# Experimental\n") })
	}
	for _, f := range p.files {
		m.all = m.all || marked(f.Doc)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				m.at[n.Name.Pos()] = marked(n.Doc)
				return false
			case *ast.GenDecl:
				for _, spec := range n.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						m.at[spec.Name.Pos()] = marked(n.Doc, spec.Doc)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							m.at[name.Pos()] = marked(n.Doc, spec.Doc)
						}
					}
				}
			case *ast.Field:
				for _, name := range n.Names {
					m.at[name.Pos()] = marked(n.Doc)
				}
			}
			return true
		})
	}
	return m
}

// mark adds to names the structs and fields of p whose docs call them experimental.
func (p *pkg) mark(names map[string]bool) {
	docs := p.experimental()
	for _, name := range p.types.Scope().Names() {
		t, ok := p.types.Scope().Lookup(name).(*types.TypeName)
		if !ok || t.IsAlias() {
			continue
		}
		names[t.Type().String()] = docs.has(t)
		fields, _ := t.Type().Underlying().(*types.Struct)
		for f := range exportedFields(fields) {
			names[t.Type().String()+"."+f.Name()] = docs.has(f)
		}
	}
}

// references has for each file the other files that declare what it names: functions,
// types, variables, constants, methods and fields.
func (p *pkg) references() graph {
	g := make(graph, len(p.files))
	for i := range g {
		g[i] = map[int]bool{}
	}
	fileOf := func(pos token.Pos) int {
		return slices.IndexFunc(p.files, func(f *ast.File) bool { return f.FileStart <= pos && pos < f.FileEnd })
	}
	for id, obj := range p.info.Uses {
		if obj.Pkg() != p.types || !isShared(obj) {
			continue
		}
		from, to := fileOf(id.Pos()), fileOf(obj.Pos())
		if from >= 0 && to >= 0 && from != to {
			g[from][to] = true
		}
	}
	return g
}

// isShared reports whether obj can be seen outside one function.
func isShared(obj types.Object) bool {
	switch o := obj.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return o.IsField() || o.Parent() == o.Pkg().Scope()
	}
	return obj.Parent() == obj.Pkg().Scope()
}

// graph has the files that each file refers to.
type graph []map[int]bool

// largestCircle is the size of the largest set of files that reach each other, 0 if no
// two files do.
func (g graph) largestCircle() int {
	reached := make([]map[int]bool, len(g))
	for v := range g {
		reached[v] = map[int]bool{}
		for next := []int{v}; len(next) > 0; {
			w := next[0]
			next = next[1:]
			for x := range g[w] {
				if !reached[v][x] {
					reached[v][x] = true
					next = append(next, x)
				}
			}
		}
	}
	largest := 0
	for v := range g {
		size := 0
		for w := range reached[v] {
			if reached[w][v] {
				size++ // v itself, too, if it is in a circle
			}
		}
		largest = max(largest, size)
	}
	return largest
}
