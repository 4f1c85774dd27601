package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// table has the results of all rows by their names.
type table struct {
	mu   sync.Mutex
	Rows map[string]*played
}

// played is a row with its results. A way may have several lines.
type played struct {
	Date, Version string
	Lines         map[string][][]string
}

func loadTable(path string) (*table, error) {
	t := &table{Rows: map[string]*played{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	return t, json.Unmarshal(text, t)
}

func (t *table) save(path string) error {
	if path == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	text, err := json.MarshalIndent(t, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// begin forgets the results of the ways that are played again.
func (t *table) begin(r *row, chosen []way, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.Rows[r.name]
	if p == nil {
		p = &played{Lines: map[string][][]string{}}
		t.Rows[r.name] = p
	}
	p.Date, p.Version = time.Now().UTC().Format(time.DateOnly), version
	for i := range chosen {
		delete(p.Lines, chosen[i].name())
	}
}

func (t *table) set(r *row, w *way, values []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.Rows[r.name].Lines
	lines[w.name()] = append(lines[w.name()], values)
}

// page is the page of tables.
func (t *table) page(s *stage) string {
	var b strings.Builder
	b.WriteString("# mcpctl proxy beside other proxies\n\n")
	paragraph(&b, fmt.Sprintf("Written by `scripts/proxies.sh` (`make proxies`). Do not edit. Played on %s/%s, %d cores, %s, node %s. The hosts in front and the server behind are written from the specification (`interop/proxies`). The packages of npm are started by `node`, not by `npx`, which would cost two more processes.",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), nodeVersion()))
	b.WriteString("| proxy | version | direction | started with |\n|---|---|---|---|\n")
	for _, w := range ways() {
		if w.argv == nil || w.peer == direct {
			continue
		}
		version := "this one"
		if w.peer != mcpctl {
			version = s.manifest(w.peer).Version
		}
		behind := []string{"SERVER"}
		if w.direction == stdioURL {
			behind = []string{"URL"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", w.peer, version, w.direction, started(w.argv(&stage{mcpctl: "mcpctl"}, behind, "PORT")))
	}
	b.WriteString("\n")
	for _, r := range rows() {
		if p := t.Rows[r.name]; p != nil {
			p.section(&b, &r)
		}
	}
	return b.String()
}

func started(argv []string) string {
	if argv[0] == "node" {
		argv = append([]string{strings.Split(argv[1], "/")[1]}, argv[2:]...)
	}
	return strings.Join(argv, " ")
}

func (p *played) section(b *strings.Builder, r *row) {
	fmt.Fprintf(b, "## %s\n\n", r.title)
	paragraph(b, fmt.Sprintf("%s %s, mcpctl at %s; `--row %q`.", r.text, p.Date, p.Version, r.name))
	fmt.Fprintf(b, "| direction | proxy | %s |\n|---|---|%s\n", strings.Join(r.columns, " | "), strings.Repeat("---|", len(r.columns)))
	able := map[string]bool{}
	for _, w := range ways() {
		if !r.asks(&w) {
			continue
		}
		able[w.peer] = true
		for _, line := range p.Lines[w.name()] {
			for len(line) < len(r.columns) {
				line = append(line, "")
			}
			fmt.Fprintf(b, "| %s | %s | %s |\n", w.direction, w.peer, strings.Join(line, " | "))
		}
	}
	b.WriteString("\n")
	for _, peer := range []string{mcpRemote, supergateway, mcpProxy} {
		if !able[peer] {
			paragraph(b, peer+" cannot: it has no such direction.")
		}
	}
}

// paragraph wraps a text at 100 columns.
func paragraph(b *strings.Builder, text string) {
	column := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case column == 0:
		case column+1+n > 100:
			b.WriteString("\n")
			column = 0
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += n
	}
	b.WriteString("\n\n")
}

var (
	address = regexp.MustCompile(`(127\.0\.0\.1|localhost|\[::1\]):\d+`)
	spaces  = regexp.MustCompile(`\s+`)
)

const briefSize = 160

// brief makes a cell of an error.
func brief(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer"
	}
	text := address.ReplaceAllString(strings.TrimSpace(err.Error()), "ADDRESS")
	text = strings.ReplaceAll(spaces.ReplaceAllString(text, " "), "|", "/")
	if cut := []rune(text); len(cut) > briefSize {
		text = string(cut[:briefSize]) + "…"
	}
	return text
}
