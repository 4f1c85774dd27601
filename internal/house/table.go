package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// row is one line of the table. A figure may not be larger than its bound, which is
// what was reached so far; the bound comes down to the target.
type row struct {
	name               string
	now, bound, target float64
	where              string
}

const module = "github.com/mainstay-mcp/mainstay"

// limit is a bound and a target.
type limit struct{ bound, target float64 }

// limits are the bounds and targets of the table. A bound is lowered when the figure
// is, and never raised without a reason in docs/design.md.
var limits = map[string]limit{
	"methods of client.Client":                       {79, 80},
	"methods of the largest other type":              {58, 60},
	"files in the largest circle":                    {32, 25},
	"arrows a file, client":                          {4.1, 5},
	"arrows that run back up, client (%)":            {14, 20},
	"files that one CallTool over stdio passes":      {58, 25}, // who asks, for how long, what the server asked, and what is owed to circuits
	"returns of that call to a file it has left":     {80, 10},
	"functions that send a request of the client":    {1, 1},
	"functions that ask why a request has no answer": {8, 1},     // so do the start of a program and the bounds of HeaderFunc
	"exported names of client":                       {247, 180}, // RetryDenial, RequestDropped, OutputMismatch, WithName, LoginChanged and LoginSignal are new
	"exported fields of client":                      {215, 120}, // Signal.Denied and Login, RequestDropped.Method, OutputMismatch.Tool and Reason, Health.Address, Invocation.Address, the four of LoginChanged
	"options of client":                              {43, 35},   // WithAuthorizer and WithName are new
}

// measure makes the table of the project in dir.
func measure(ctx context.Context, dir string) ([]row, error) {
	pattern := "./..."
	if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
		pattern = "work"
	}
	packages, err := load(ctx, dir, []string{pattern})
	if err != nil {
		return nil, err
	}
	call, err := walkCall(ctx, dir)
	if err != nil {
		return nil, err
	}
	var client shape
	var largest, circle row
	var sending, asking []string
	for _, p := range packages {
		if strings.Contains(p.path, "/examples/") {
			continue
		}
		s := p.shape()
		if p.path == module+"/client" {
			client = s
		}
		if s.largest.name != "Client" || p.path != module+"/client" {
			largest = larger(largest, float64(s.largest.methods), p.short()+"."+s.largest.name)
		}
		circle = larger(circle, float64(s.circle), p.short())
		if p.inClient() {
			sending = append(sending, p.callers("Conn", "Call")...)
			asking = append(asking, p.callers("Failure", "Reason")...)
		}
	}
	rows := []row{
		{name: "methods of client.Client", now: float64(client.largest.methods), where: fmt.Sprintf("%d of %d files", client.largest.files, client.files)},
		{name: "methods of the largest other type", now: largest.now, where: largest.where},
		{name: "files in the largest circle", now: circle.now, where: circle.where},
		{name: "arrows a file, client", now: client.arrowsPerFile()},
		{name: "arrows that run back up, client (%)", now: float64(client.backPercent())},
		{name: "files that one CallTool over stdio passes", now: float64(call.files)},
		{name: "returns of that call to a file it has left", now: float64(call.returns)},
		{name: "functions that send a request of the client", now: float64(len(sending)), where: first(sending)},
		{name: "functions that ask why a request has no answer", now: float64(len(asking)), where: first(asking)},
		{name: "exported names of client", now: float64(client.exported)},
		{name: "exported fields of client", now: float64(client.fields)},
		{name: "options of client", now: float64(client.options)},
	}
	for i, r := range rows {
		rows[i].bound, rows[i].target = limits[r.name].bound, limits[r.name].target
	}
	return rows, nil
}

func larger(r row, now float64, where string) row {
	if now > r.now {
		return row{now: now, where: where}
	}
	return r
}

func (p *pkg) short() string { return strings.TrimPrefix(strings.TrimPrefix(p.path, module), "/") }

// inClient reports whether p belongs to the client and stands above its transports.
func (p *pkg) inClient() bool {
	s := p.short()
	return s == "client" || s == "pool" || strings.HasPrefix(s, "client/internal/")
}

// callers lists the functions that use a member of a type of package transport.
func (p *pkg) callers(typ, member string) []string {
	var names []string
	for _, f := range p.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && p.uses(fn, typ, member) {
				names = append(names, p.short()+"."+fn.Name.Name)
			}
		}
	}
	return names
}

func (p *pkg) uses(fn *ast.FuncDecl, typ, member string) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != member {
			return true
		}
		if s := p.info.Selections[sel]; s != nil && isTransport(s.Recv(), typ) {
			found = true
		}
		return true
	})
	return found
}

func isTransport(t types.Type, name string) bool {
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == module+"/client/transport"
}

// first prints a few of many names.
func first(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
