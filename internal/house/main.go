// Command house prints the shape of the code in figures: how much a package exports,
// how large its largest type is, how many of its files refer to each other in a circle.
// `make house` prints the table, with bounds and targets from bounds.txt; the test
// beside it holds the bounds.
//
// Usage: house [-dir DIR] [package ...]
//
// Without packages it prints the table of this project, then its packages. With packages,
// which may be of any module below DIR, it prints only those, for comparison.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

func main() {
	dir := flag.String("dir", ".", "the module to measure")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, dir string, args []string) error {
	if len(args) == 2 && args[0] == walkArg {
		return walk(ctx, args[1])
	}
	if len(args) > 0 {
		packages, err := load(ctx, dir, args)
		if err != nil {
			return err
		}
		return printPackages(out, packages)
	}
	rows, packages, err := measure(ctx, dir)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measure\tnow\tbound\ttarget\twhere")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\n", r.name, r.now, r.bound, r.target, r.where)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	return printPackages(out, packages)
}

// printPackages prints the packages that export something, or all if there is only one.
func printPackages(out io.Writer, packages []*pkg) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tfiles\tcircle\tnames\tfields\texperimental\toptions\tlargest type\tmethods")
	for _, p := range packages {
		if s := p.shape(); s.surface() > 0 || len(packages) == 1 {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\n", p.path, s.files, s.circle, s.names, s.fields, s.experimental, s.options, s.largest, s.methods)
		}
	}
	return w.Flush()
}
