package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is one type-checked package, without its tests.
type pkg struct {
	path  string // below the module, for packages of this project
	name  string
	fset  *token.FileSet
	files []*ast.File
	types *types.Package
	info  *types.Info
	// marked has the structs and fields of all packages that were loaded whose docs
	// call them experimental, as path.Type and path.Type.Field.
	marked map[string]bool
}

// load type-checks packages from their source. It reads the packages that they import
// from the compiler's export data, so that it needs nothing but the go command.
func load(ctx context.Context, dir string, patterns []string) ([]*pkg, error) {
	args := append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,DepOnly"}, patterns...)
	out, err := output(ctx, dir, "go", args...)
	if err != nil {
		return nil, err
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles, CgoFiles       []string
		DepOnly                 bool
	}
	var wanted []listed
	exports := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			wanted = append(wanted, l)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	var packages []*pkg
	marked := map[string]bool{}
	for _, l := range wanted {
		p := &pkg{path: short(l.ImportPath), fset: fset, info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
		for _, name := range append(l.GoFiles, l.CgoFiles...) {
			f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				return nil, err
			}
			p.files, p.name = append(p.files, f), f.Name.Name
		}
		if len(p.files) == 0 {
			continue // a folder of tests
		}
		if p.types, err = (&types.Config{Importer: imports}).Check(l.ImportPath, fset, p.files, p.info); err != nil {
			return nil, fmt.Errorf("%s: %w", l.ImportPath, err)
		}
		p.marked = marked
		p.mark(marked)
		packages = append(packages, p)
	}
	return packages, nil
}

func short(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
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
