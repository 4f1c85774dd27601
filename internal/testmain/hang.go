package testmain

import (
	"fmt"
	"slices"
	"strings"
)

// otherLines limits the stacks of a hang that belong to no test. Stacks of tests are never
// omitted: a hang is rare, and they identify the test.
const otherLines = 100

// hang filters the output of a program that was aborted because of a timeout: the reason, and the
// stacks of all goroutines. Stacks that differ only in numbers are merged. Stacks of tests are
// written at once, since a program that outlives the tests may delay the end.
type hang struct {
	write  func(line string)
	stacks []*stack
	now    *stack // stack that is being read
}

type stack struct {
	lines []string
	place string // functions and lines, without arguments and addresses
	more  int    // number of equal stacks
}

// isHang reports whether the line starts the output of a program that timed out.
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
	case len(h.stacks) == 0: // the registers follow the stacks
		h.write(line)
	}
}

// done completes the current stack.
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
		return // the number of the goroutine and its wait time
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

// ofTest reports whether the goroutine runs a test. A test that waits for its turn or for its
// subtests does not count.
func (s *stack) ofTest() bool {
	return strings.Contains(s.place, "testing.tRunner\n") &&
		!strings.Contains(s.place, "testing.tRunner.func1\n") && !strings.Contains(s.place, "testing.(*T).Parallel\n")
}

// end writes the number of stacks equal to the written ones, and as many other stacks as fit.
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
		h.write(fmt.Sprintf("… stacks of %d other goroutines omitted: %s=all shows them\n", out, outputVariable))
	}
}

func (s *stack) write(write func(line string)) {
	write("\n")
	for _, l := range s.lines {
		write(l)
	}
}
