package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// Output formats.
const (
	formatHuman  = "human"
	formatJSON   = "json"
	formatNDJSON = "ndjson"
	formatRaw    = "raw"
)

// data returns the writer for what came from a server. On a terminal control
// characters are always marked; in a pipe bytes pass, except in human output,
// where the callers mark them as they write.
func (a *app) data(write func(w io.Writer) error) error {
	if !a.outTerminal {
		return write(a.stdout)
	}
	w := visible.NewWriter(a.stdout)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// printRaw writes bytes as received, and ends the line.
func (a *app) printRaw(raw []byte) error {
	return a.data(func(w io.Writer) error {
		_, err := w.Write(append(bytes.Clone(raw), '\n'))
		return err
	})
}

// printJSON writes a document indented: names, order and numbers as received.
func (a *app) printJSON(raw []byte) error { return a.printRaw(indented(raw)) }

// printEvent writes one line of NDJSON.
func (a *app) printEvent(name string, value []byte) error {
	line := append([]byte(`{"type":`), encoded(name)...)
	line = append(append(line, ','), encoded(name)...)
	line = append(append(append(line, ':'), compact(value)...), '}')
	return a.printRaw(line)
}

// say writes human output: text from servers has been marked by the caller.
func (a *app) say(text string) error {
	_, err := io.WriteString(a.stdout, text)
	return err
}

// warn writes one line to stderr for people.
func (a *app) warn(format string, args ...any) {
	if !a.flags.quiet {
		fmt.Fprintln(a.stderr, a.style(a.errTerminal).dim("warning: ")+visible.Line(fmt.Sprintf(format, args...)))
	}
}

// step tells what happens, with -v.
func (a *app) step(format string, args ...any) {
	if a.flags.verbose > 0 {
		fmt.Fprintln(a.stderr, a.style(a.errTerminal).dim("* "+visible.Line(fmt.Sprintf(format, args...))))
	}
}

func indented(raw []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return raw // not JSON; shown as it is
	}
	return b.Bytes()
}

func compact(raw []byte) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return raw
	}
	return b.Bytes()
}

// style colours text for a terminal that takes colour; otherwise it returns
// what it is given.
type style bool

func (a *app) style(terminal bool) style {
	switch a.flags.color {
	case "always":
		return true
	case "never":
		return false
	}
	for _, name := range []string{"CLICOLOR_FORCE", "FORCE_COLOR"} {
		if v, ok := a.env(name); ok && v != "" && v != "0" {
			return true
		}
	}
	if v, ok := a.env("NO_COLOR"); ok && v != "" {
		return false
	}
	term, _ := a.env("TERM")
	return style(terminal && term != "dumb")
}

func (s style) wrap(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string { return s.wrap("1", text) }
func (s style) dim(text string) string  { return s.wrap("2", text) }
func (s style) bad(text string) string  { return s.wrap("31", text) }

// tsv writes rows as tab-separated values: the form of tables in a pipe. Cells
// are marked here.
func (a *app) tsv(rows [][]string) error {
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(visible.Line(oneLine(cell)))
		}
		b.WriteByte('\n')
	}
	return a.say(b.String())
}

// oneLine joins the lines of a text, so that it fits a cell.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// aligned pads every column but the last, which is cut at the width.
func aligned(s style, width int, indent string, headings []string, rows [][]string) string {
	cells := make([][]string, 0, len(rows)+1)
	if headings != nil {
		cells = append(cells, headings)
	}
	for _, row := range rows {
		marked := make([]string, len(row))
		for i, cell := range row {
			marked[i] = visible.Line(oneLine(cell))
		}
		cells = append(cells, marked)
	}
	widths := map[int]int{}
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], min(maxCell, utf8.RuneCountInString(cell)))
		}
	}
	var b strings.Builder
	for n, row := range cells {
		line := indent
		for i, cell := range row {
			if i == len(row)-1 {
				line += short(cell, max(20, width-utf8.RuneCountInString(line)-1))
				break
			}
			line += cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))+2)
		}
		line = strings.TrimRight(line, " ")
		if n == 0 && headings != nil {
			line = s.dim(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// maxCell bounds the width that one long cell can give its column.
const maxCell = 48
