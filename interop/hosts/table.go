package main

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// printTable prints the rows, and below what is to be said of their cells. It returns how
// many failed.
func printTable(w io.Writer, rows []*row) (bad int) {
	fmt.Fprintf(w, "%-20s%-8s%-19s%-12s", "host", "front", "server", "revision")
	for _, s := range steps {
		fmt.Fprintf(w, "%-10s", s.name)
	}
	fmt.Fprintln(w)
	var remarks, faults []string
	for _, r := range rows {
		fmt.Fprintf(w, "%-20s%-8s%-19s%-12s", r.host.name, r.front, r.server.name, r.revision)
		for i, c := range r.cells {
			text := string(c.verdict)
			switch c.verdict {
			case failed:
				bad++
				faults = append(faults, fmt.Sprintf("FAIL %s: %s: %s", r.name(), steps[i].name, c.remark))
			case none, flawed:
				text += fmt.Sprintf(" (%d)", footnote(&remarks, c.remark))
			case ok:
			}
			fmt.Fprint(w, text, pad(text, 10))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nfront none: without the proxy; %s: it fails because of the host; %s: not played\n", flawed, none)
	for i, text := range remarks {
		fmt.Fprintf(w, "(%d) %s\n", i+1, text)
	}
	for _, text := range faults {
		fmt.Fprintln(w, text)
	}
	return bad
}

func pad(text string, wide int) string {
	return fmt.Sprintf("%*s", max(1, wide-utf8.RuneCountInString(text)), "")
}

// footnote returns the number of a remark, which many cells may share.
func footnote(remarks *[]string, text string) int {
	if i := slices.Index(*remarks, text); i >= 0 {
		return i + 1
	}
	*remarks = append(*remarks, text)
	return len(*remarks)
}
