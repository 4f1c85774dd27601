package testmain

import (
	"fmt"
	"slices"
	"strings"
)

// otherLines bounds the stacks of a hang that belong to no test. Those of the tests
// are never left out: a hang is rare, and they say which one it was.
const otherLines = 100

// hang filters what a program prints that was ended because it hung: why, and the
// stacks of all its goroutines. Stacks that differ in numbers only are one. Those of
// tests are written at once: a program that outlives the tests may delay the end.
type hang struct {
	write  func(line string)
	stacks []*stack
	now    *stack // whose lines come
}

type stack struct {
	lines []string
	place string // the functions and lines, without arguments and addresses
	more  int    // stacks like this one
}

// isHang reports whether the line begins what a program prints that hung.
func isHang(line string) bool {
	return strings.HasPrefix(line, "panic: test timed out after ") || strings.HasPrefix(line, "SIGQUIT: ")
}

func (h *hang) add(line string) {
	switch {
	case strings.HasPrefix(line, "goroutine ") && strings.HasSuffix(line, "]:\n"):
		h.done()
		h.now = &stack{}
	case strings.TrimSpace(line) == "":
		h.done()
		return
	}
	switch {
	case h.now != nil:
		h.now.add(line)
	case len(h.stacks) == 0: // after them come the registers
		h.write(line)
	}
}

// done ends the stack whose lines came.
func (h *hang) done() {
	s := h.now
	h.now = nil
	if s == nil {
		return
	}
	if i := slices.IndexFunc(h.stacks, func(o *stack) bool { return o.place == s.place }); i >= 0 {
		h.stacks[i].more++
		return
	}
	h.stacks = append(h.stacks, s)
	if s.ofTest() {
		s.write(h.write)
	}
}

func (s *stack) add(line string) {
	s.lines = append(s.lines, line)
	if len(s.lines) == 1 {
		return // the number of the goroutine, and for how long it waits
	}
	place := strings.TrimSpace(line)
	for _, number := range []string{" +0x", " in goroutine "} {
		place, _, _ = strings.Cut(place, number)
	}
	if strings.HasSuffix(place, ")") {
		place = place[:strings.LastIndex(place, "(")]
	}
	s.place += place + "\n"
}

// ofTest reports whether the goroutine runs a test: one that waits for its turn, or for
// its subtests, does not.
func (s *stack) ofTest() bool {
	return strings.Contains(s.place, "testing.tRunner\n") &&
		!strings.Contains(s.place, "testing.tRunner.func1\n") && !strings.Contains(s.place, "testing.(*T).Parallel\n")
}

// end writes how many stacks were like those written, and as many of the others as
// have room.
func (h *hang) end() {
	h.done()
	room, out := otherLines, 0
	for _, s := range h.stacks {
		switch {
		case s.ofTest():
		case len(s.lines) > room:
			out += 1 + s.more
			continue
		default:
			room -= len(s.lines)
			s.write(h.write)
		}
		if s.more > 0 {
			name, _, _ := strings.Cut(s.lines[0], " [")
			h.write(fmt.Sprintf("… and %d more like %s\n", s.more, name))
		}
	}
	if out > 0 {
		h.write(fmt.Sprintf("… stacks of %d other goroutines left out: %s=all shows them\n", out, outputVariable))
	}
}

func (s *stack) write(write func(line string)) {
	write("\n")
	for _, l := range s.lines {
		write(l)
	}
}
