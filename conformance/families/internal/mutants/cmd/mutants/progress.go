package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/mutants"
)

// progress is what a run has found so far, a line for each mutant that was
// noticed, so that a run that was ended can go on. It belongs to one state of the
// suite: who changes that begins a new file. Mutants that survived are judged
// again.
type progress struct {
	file  *os.File // nil: nothing is kept
	found map[string]mutants.Finding
}

type progressLine struct {
	Mutant  string
	Finding mutants.Finding
}

// openProgress reads what an earlier run has found and adds to it; "" keeps
// nothing.
func openProgress(name string) (*progress, error) {
	p := &progress{found: map[string]mutants.Finding{}}
	if name == "" {
		return p, nil
	}
	before, err := os.Open(name)
	if err == nil {
		lines := bufio.NewScanner(before)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var line progressLine
			if json.Unmarshal(lines.Bytes(), &line) == nil { // else cut short when the run was ended
				p.found[line.Mutant] = line.Finding
			}
		}
		err = errors.Join(lines.Err(), before.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p.file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a record of the caller's
	return p, err
}

// add keeps what noticed a mutant.
func (p *progress) add(mutant string, f mutants.Finding) error {
	if p.file == nil {
		return nil
	}
	line, err := json.Marshal(progressLine{mutant, f})
	if err == nil {
		_, err = p.file.Write(append(line, '\n'))
	}
	return err
}

func (p *progress) close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}
