package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// CountsChildren is set where [Children] can tell.
const CountsChildren = true

// Process is a process of this machine. A number can be used again, together with its start it
// cannot.
type Process struct {
	ID    int
	Name  string
	start string
}

// Children returns the processes that those have started that this one has started. Those of this
// one are the program, and the one that watches over it.
func Children() []Process {
	below := map[int][]Process{}
	entries, _ := os.ReadDir("/proc") // without it there are no files to read either
	for _, e := range entries {
		if p, parent, ok := read(filepath.Join("/proc", e.Name(), "stat")); ok {
			below[parent] = append(below[parent], p)
		}
	}
	var out []Process
	self := os.Getpid()
	for queue := []int{self}; len(queue) > 0; queue = queue[1:] {
		for _, p := range below[queue[0]] {
			queue = append(queue, p.ID)
			if queue[0] != self {
				out = append(out, p)
			}
		}
	}
	return out
}

// Left returns those of the processes that still run.
func Left(all []Process) []Process {
	return slices.DeleteFunc(slices.Clone(all), func(p Process) bool {
		now, _, ok := read(filepath.Join("/proc", strconv.Itoa(p.ID), "stat"))
		return !ok || now.start != p.start
	})
}

// read reads a line of /proc: number, (name), state, parent and, as the 22nd, the start. A process
// that has ended and was not waited for is none.
func read(file string) (p Process, parent int, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return p, 0, false // it has ended
	}
	head, rest, found := strings.Cut(string(text), " (")
	end := strings.LastIndex(rest, ") ")
	if !found || end < 0 {
		return p, 0, false
	}
	fields := strings.Fields(rest[end+2:])
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return p, 0, false
	}
	p.Name, p.start = rest[:end], fields[19]
	if p.ID, err = strconv.Atoi(head); err != nil {
		return p, 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return p, parent, err == nil
}
