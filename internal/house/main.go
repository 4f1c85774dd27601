// Command house measures the shape of the code: how large the largest type is, how
// many files of a package refer to each other in a circle, and how much a package
// exports. `make house` prints the table; the test beside it holds the bounds.
//
// Usage: house [-dir DIR] [package ...]
//
// Without packages it prints the table of this project with its bounds and targets.
// With packages, which may be of any module below DIR, it prints their raw figures,
// which is how the figures of other projects were found.
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

func run(ctx context.Context, out io.Writer, dir string, patterns []string) error {
	if len(patterns) > 0 {
		return printPackages(ctx, out, dir, patterns)
	}
	rows, err := measure(ctx, dir)
	if err != nil {
		return err
	}
	printRows(out, rows)
	return nil
}

func printPackages(ctx context.Context, out io.Writer, dir string, patterns []string) error {
	packages, err := load(ctx, dir, patterns)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tfiles\tlargest type\tmethods\tits files\tcircle\tarrows a file\tback up\texported\tfields\toptions")
	for _, p := range packages {
		s := p.shape()
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%d\t%d\t%.1f\t%d %%\t%d\t%d\t%d\n", p.path, s.files, s.largest.name,
			s.largest.methods, s.largest.files, s.circle, s.arrowsPerFile(), s.backPercent(), s.exported, s.fields, s.options)
	}
	return w.Flush()
}

func printRows(out io.Writer, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measure\tnow\tbound\ttarget\twhere")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.name, figure(r.now), figure(r.bound), figure(r.target), r.where)
	}
	_ = w.Flush() // a report that cannot be written has no reader
}

// figure prints whole numbers without a fraction.
func figure(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprintf("%d", int64(v))
	}
	return fmt.Sprintf("%.1f", v)
}
