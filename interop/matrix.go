package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// about finds a remark on a row of a column.
func about(remarks []remark, row, column string) (text string, found bool) {
	for _, r := range remarks {
		if r.row == row && strings.Contains(column, r.in) {
			return r.text, true
		}
	}
	return "", false
}

// printMatrix prints the cells, and below what is to be said of them. It returns
// how many failed.
func printMatrix(w io.Writer, columns []column) (bad int) {
	const head, wide = 10, 11
	for _, line := range []func(c *column) string{
		func(c *column) string { return c.peer.name },
		func(c *column) string { return c.way },
		func(c *column) string { return string(c.era) },
	} {
		fmt.Fprintf(w, "%-*s", head, "")
		for i := range columns {
			fmt.Fprintf(w, "%-*s", wide, line(&columns[i]))
		}
		fmt.Fprintln(w)
	}
	var remarks, faults []string
	for r, row := range rows {
		fmt.Fprintf(w, "%-*s", head, row.name)
		for i := range columns {
			cell := columns[i].cells[r]
			text := string(cell.verdict)
			if cell.verdict == failed {
				bad++
				faults = append(faults, fmt.Sprintf("FAIL %s: %s: %s", columns[i].name(), row.name, cell.remark))
			} else if cell.remark != "" {
				text += fmt.Sprintf(" (%d)", footnote(&remarks, cell.remark))
			}
			fmt.Fprintf(w, "%-*s", wide, text)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n%s the newest era of the same server shows it\n", elsewhere)
	for i, text := range remarks {
		fmt.Fprintf(w, "(%d) %s\n", i+1, text)
	}
	for _, text := range faults {
		fmt.Fprintln(w, text)
	}
	return bad
}

// footnote returns the number of a remark, which many cells may share.
func footnote(remarks *[]string, text string) int {
	if i := slices.Index(*remarks, text); i >= 0 {
		return i + 1
	}
	*remarks = append(*remarks, text)
	return len(*remarks)
}
