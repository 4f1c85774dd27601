package main

import (
	"fmt"
	"io"
	"strings"
)

// said is the result of a row in a few words.
func (r row) said() string {
	switch {
	case r.err != nil:
		return "not judged: " + r.err.Error()
	case len(r.worse) == 0:
		return "not found"
	}
	return fmt.Sprintf("found by %d, as number %d: %s", len(r.worse), r.at, r.first)
}

// table prints the rows and the score of each server as Markdown, and returns how many were not
// judged. A row has the finding that names the defect, with its place in the report, and the checks
// with a worse outcome.
func table(w io.Writer, rows []row) (failed int) {
	fmt.Fprintln(w, "| defect | cause | first finding of it | checks |\n|---|---|---|---|")
	type score struct{ found, first, all int }
	scores := map[string]*score{}
	var servers []string
	for _, r := range rows {
		s := scores[r.server]
		if s == nil {
			s = &score{}
			scores[r.server], servers = s, append(servers, r.server)
		}
		if r.err != nil {
			failed++
			fmt.Fprintf(w, "| %s | %s | **not judged** | %v |\n", r.defect, r.cause, r.err)
			continue
		}
		s.all++
		if len(r.worse) == 0 {
			fmt.Fprintf(w, "| %s | %s | **not found** | |\n", r.defect, r.cause)
			continue
		}
		s.found++
		if r.at == 1 {
			s.first++
		}
		fmt.Fprintf(w, "| %s | %s | %d: %s | %s |\n", r.defect, r.cause, r.at, r.first, strings.Join(r.worse[:min(4, len(r.worse))], ", "))
	}
	var all score
	fmt.Fprintln(w)
	for _, name := range servers {
		s := scores[name]
		all = score{all.found + s.found, all.first + s.first, all.all + s.all}
		fmt.Fprintf(w, "- %s: %d of %d found, %d of them as the first finding\n", name, s.found, s.all, s.first)
	}
	fmt.Fprintf(w, "- all: %d of %d found (%d %%), %d of them as the first finding\n", all.found, all.all, 100*all.found/max(1, all.all), all.first)
	return failed
}
