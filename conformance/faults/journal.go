package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// journal writes the history to a file immediately, because the program may crash on
// purpose. A nil journal writes nothing. It is guarded by the proxy's mutex.
type journal struct{ file *os.File }

// entry is one line of the file. One of its parts is set.
type entry struct {
	PID   int        `json:"pid"`
	Call  *Call      `json:"call,omitempty"`
	Rule  *ruleCount `json:"rule,omitempty"`
	Event string     `json:"event,omitempty"` // "start" or "stdin-end"
}

// ruleCount has the counters of a rule, which the next instance continues.
type ruleCount struct {
	Index int `json:"index"`
	Seen  int `json:"seen"`
	Fired int `json:"fired"`
}

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal of the faults proxy: %w", err)
	}
	return &journal{file: file}, nil
}

func (j *journal) write(e entry) {
	if j == nil {
		return
	}
	e.PID = os.Getpid()
	_, _ = j.file.Write(append(text(e), '\n')) // one write: instances do not mix their lines
}

func (j *journal) call(c *Call)      { j.write(entry{Call: c}) }
func (j *journal) event(name string) { j.write(entry{Event: name}) }
func (j *journal) rule(r *armed)     { j.write(entry{Rule: &ruleCount{r.index, r.seen, r.fired}}) }

// Journal is the content of the journal file of [Main], over all instances that wrote it.
type Journal struct {
	// Calls has the messages of each instance, in the order of arrival.
	Calls []Call
	// Starts counts the instances.
	Starts int
	// StdinEnds counts the instances whose stdin ended before they exited.
	StdinEnds int

	rules map[int]ruleCount
}

// ReadJournal reads a journal file. A missing file is an empty journal; an incomplete last
// line is ignored.
func ReadJournal(path string) (*Journal, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Journal{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal of the faults proxy: %w", err)
	}
	return parseJournal(data)
}

func parseJournal(data []byte) (*Journal, error) {
	all := &Journal{rules: map[int]ruleCount{}}
	type key struct{ pid, seq int }
	at := map[key]int{}
	in := bufio.NewReader(bytes.NewReader(data))
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return all, nil //nolint:nilerr // the end, or a line that a crash has cut
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("journal of the faults proxy: line %d: %w", n, err)
		}
		switch {
		case e.Call != nil:
			k := key{e.PID, e.Call.Seq}
			i, known := at[k]
			if !known {
				i = len(all.Calls)
				at[k] = i
				all.Calls = append(all.Calls, Call{})
			}
			all.Calls[i] = *e.Call
		case e.Rule != nil:
			all.rules[e.Rule.Index] = *e.Rule
		case e.Event == "start":
			all.Starts++
		case e.Event == "stdin-end":
			all.StdinEnds++
		}
	}
}

// goOn continues the counters of the instances before.
func (p *Proxy) goOn(j *Journal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.now.rules {
		before := j.rules[r.index]
		r.seen, r.fired = before.Seen, before.Fired
	}
}
