package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	walkPackage  = module + "/internal/house/walk"
	tracePackage = walkPackage + "/trace"
)

// path is what one call of a tool over stdio passes.
type path struct {
	files int // how many files it enters
	// returns is how often it enters a file that it has entered before and left.
	returns int
}

// walkCall makes a call with a mark in each function of the client and of what stands
// below it, and follows the marks. The marks are in copies of the files: the source
// stays as it is.
func walkCall(ctx context.Context, dir string) (path, error) {
	temp, err := os.MkdirTemp("", "house")
	if err != nil {
		return path{}, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // what is left is the system's
	packages, err := list(ctx, dir, []string{walkPackage})
	if err != nil {
		return path{}, err
	}
	replace := map[string]string{}
	for _, l := range packages {
		if !strings.HasPrefix(l.ImportPath, module+"/") || strings.HasPrefix(l.ImportPath, walkPackage) {
			continue
		}
		for _, name := range l.GoFiles {
			source := filepath.Join(l.Dir, name)
			marked, err := mark(source, strings.TrimPrefix(l.ImportPath, module+"/")+"/"+name)
			if err != nil {
				return path{}, err
			}
			replace[source] = filepath.Join(temp, fmt.Sprintf("%d.go", len(replace)))
			if err := os.WriteFile(replace[source], marked, 0o600); err != nil {
				return path{}, err
			}
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return path{}, err
	}
	file := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return path{}, err
	}
	program := filepath.Join(temp, "walk")
	if _, err := output(ctx, dir, "go", "build", "-overlay", file, "-o", program, walkPackage); err != nil {
		return path{}, err
	}
	out, err := output(ctx, dir, program)
	if err != nil {
		return path{}, err
	}
	return follow(strings.Fields(string(out))), nil
}

func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// mark returns a source file with a mark at the head of each function that is
// declared in it.
func mark(file, name string) ([]byte, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := map[int]string{fset.Position(f.Name.End()).Offset: fmt.Sprintf("; import housetrace %q; ", tracePackage)}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			at[fset.Position(fn.Body.Lbrace).Offset+1] = fmt.Sprintf("housetrace.Enter(%q); ", name)
		}
	}
	if len(at) == 1 {
		return source, nil
	}
	var out []byte
	done := 0
	for _, offset := range slices.Sorted(maps.Keys(at)) {
		out = append(append(out, source[done:offset]...), at[offset]...)
		done = offset
	}
	return append(out, source[done:]...), nil
}

// follow counts what a walk passes.
func follow(files []string) path {
	var p path
	seen := map[string]bool{}
	before := ""
	for _, file := range files {
		switch {
		case file == before:
		case seen[file]:
			p.returns++
		default:
			p.files++
		}
		seen[file], before = true, file
	}
	return p
}
