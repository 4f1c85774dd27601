package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// recorder appends events to a file that the driver reads: a word and a value a line.
// All processes of one server share the file, so each line is one write.
type recorder struct{ file *os.File }

func openRecorder(path string) (*recorder, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &recorder{file}, nil
}

func (r *recorder) add(word, value string) {
	_, _ = fmt.Fprintf(r.file, "%s %s\n", word, value) // a missing line shows in the table
}

// record is what the processes of one server did.
type record map[string][]string

func readRecord(path string) record {
	text, _ := os.ReadFile(path) // a server that never started wrote nothing
	r := record{}
	for line := range strings.Lines(string(text)) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		r[word] = append(r[word], value)
	}
	return r
}

// programs are the processes of the server that are alive.
func (r record) programs() []int {
	var alive []int
	for _, text := range r["pid"] {
		if pid, err := strconv.Atoi(text); err == nil && isAlive(pid) {
			alive = append(alive, pid)
		}
	}
	return alive
}

// repeated counts executions of pay beyond the first of each id.
func (r record) repeated() int {
	ids := slices.Clone(r["pay"])
	slices.Sort(ids)
	return len(ids) - len(slices.Compact(ids))
}
