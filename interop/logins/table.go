package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// verdictOf is the exit code: what fails with mainstay, or cannot be known.
func verdictOf(results []result) int {
	code := 0
	for _, r := range results {
		if r.missing != nil {
			code = cmp.Or(code, exitMissing)
			continue
		}
		for _, cells := range r.cells {
			for i, c := range columns() {
				if c.ours && cells[i].state != works && cells[i].state != impossible {
					code = exitFailed
				}
			}
		}
	}
	return code
}

// row is a line of the table: a server, a step, and a cell for each column.
type row struct {
	server, step string
	cells        []string
}

// table makes the rows, and the remarks that their cells refer to.
func table(results []result) (rows []row, remarks []string) {
	for _, r := range results {
		for _, step := range steps() {
			line := row{server: r.server.name, step: step}
			for _, o := range r.cells[step] {
				text := string(o.state)
				if o.remark != "" {
					text += fmt.Sprintf(" (%d)", footnote(&remarks, plain(o.remark)))
				}
				line.cells = append(line.cells, text)
			}
			rows = append(rows, line)
		}
	}
	return rows, remarks
}

// footnote returns the number of a remark, which many cells may share.
func footnote(remarks *[]string, text string) int {
	if i := slices.Index(*remarks, text); i >= 0 {
		return i + 1
	}
	*remarks = append(*remarks, text)
	return len(*remarks)
}

var (
	port  = regexp.MustCompile(`(127\.0\.0\.1|localhost):\d+`)
	query = regexp.MustCompile(`\?[^\s"']+`)
)

// plain is a remark without what differs from run to run, in one line.
func plain(text string) string {
	text = query.ReplaceAllString(port.ReplaceAllString(text, "$1:PORT"), "")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return text
}

// printTable writes the table for a terminal.
func printTable(w io.Writer, results []result) {
	rows, remarks := table(results)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tab, "authorization server\tstep")
	for _, c := range columns() {
		fmt.Fprint(tab, "\t", c.name)
	}
	fmt.Fprintln(tab)
	for _, r := range rows {
		fmt.Fprintln(tab, strings.Join(append([]string{r.server, r.step}, r.cells...), "\t"))
	}
	_ = tab.Flush() // a terminal has no second place to report to
	for i, text := range remarks {
		fmt.Fprintf(w, "(%d) %s\n", i+1, text)
	}
	for _, r := range results {
		if r.missing != nil {
			fmt.Fprintf(w, "NOT SHOWN %s: %v\n", r.server.name, r.missing)
		}
	}
}
