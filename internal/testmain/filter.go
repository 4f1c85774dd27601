package testmain

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// filterArgument is the only argument of a test program that filters the output of
// another one.
const filterArgument = "mainstay-filter-test-output"

// What the filter lets pass. Together it is less than 200 lines, with the few that
// "go test" adds; after a hang come the stacks.
const (
	headLines = 70   // from the beginning
	failLines = 25   // after it: lines that name a failed test
	bugLines  = 60   // after it: panics, data races and leaked goroutines
	eachBug   = 40   // of them, for one
	tailLines = 30   // at the end
	lineBytes = 1000 // of a line
)

// filter copies the output of tests, and of long output only what says most. It
// returns the exit code of its program.
func filter(from io.Reader, to io.Writer) int {
	signal.Ignore(os.Interrupt, syscall.SIGQUIT) // a terminal sends them to the tests, too, whose last words come here
	f := &bounded{to: to}
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := readLine(r)
		if line != "" {
			f.add(line)
		}
		if err != nil {
			f.end()
			return 0
		}
	}
}

// readLine returns a line with its newline, without what is beyond its bound.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	beyond := 0
	for {
		part, err := r.ReadSlice('\n')
		room := max(lineBytes-len(line), 0)
		if len(part) > room {
			beyond += len(part) - room
			part = part[:room]
		}
		line = append(line, part...)
		if err == bufio.ErrBufferFull { //nolint:errorlint // the reader returns it unwrapped
			continue
		}
		if beyond <= 1 && err == nil { // it is the newline, or the line has room
			return string(bytes.TrimSuffix(line, []byte("\n"))) + "\n", nil
		}
		if beyond > 0 {
			return fmt.Sprintf("%s… and %d bytes more\n", strings.ToValidUTF8(string(line), ""), beyond), err
		}
		return string(line), err
	}
}

// bounded writes the first lines at once. The last lines wait until it is known
// that they are the last; those that are not are written only when they name a
// failed test or belong to a panic or its like.
type bounded struct {
	to   io.Writer
	head int      // lines written before the first gap
	last []string // at most tailLines
	out  int      // lines left out
	told bool     // that lines are left out

	fails, bugs int // lines written of each kind
	bug         int // lines of the panic being written that may still come

	hang *hang // what came since the program was ended for hanging, nil before
}

func (b *bounded) add(line string) {
	if b.hang == nil && isHang(line) {
		b.end()
		b.hang = &hang{write: b.write}
	}
	if b.hang != nil {
		b.hang.add(line)
		return
	}
	if b.head < headLines {
		b.head++
		b.begins(line)
		b.write(line)
		return
	}
	if len(b.last) == tailLines {
		b.pass(b.last[0])
		b.last = append(b.last[:0], b.last[1:]...)
	}
	b.last = append(b.last, line)
}

// begins notes that a panic or its like begins with the line, and takes the line
// from what is left of one that began before.
func (b *bounded) begins(line string) {
	switch {
	case isBug(line) && b.bug == 0:
		b.bug = eachBug
	case b.bug > 0:
		b.bug--
	}
}

// pass writes a line that is neither of the first nor of the last, or leaves it out.
func (b *bounded) pass(line string) {
	if !b.told {
		b.told = true
		b.write("… of what follows only failed tests, panics and the last lines are shown\n")
	}
	b.begins(line)
	switch {
	case b.bug > 0 && b.bugs < bugLines:
		b.bugs++
		b.write(line)
	case strings.HasPrefix(strings.TrimLeft(line, " "), "--- FAIL: ") && b.fails < failLines:
		b.fails++
		b.write(line)
	default:
		b.out++
	}
}

func (b *bounded) end() {
	if b.hang != nil {
		b.hang.end()
		return
	}
	if b.out > 0 {
		b.write(fmt.Sprintf("… %d lines left out: %s=all shows them\n", b.out, outputVariable))
	}
	for _, l := range b.last {
		b.write(l)
	}
}

func (b *bounded) write(line string) {
	_, _ = io.WriteString(b.to, line) // there is no second place to report to
}

// isBug reports whether the line begins what a test does not print by itself.
func isBug(line string) bool {
	for _, p := range []string{"panic: ", "fatal error: ", "WARNING: DATA RACE", "goroutines outlive the tests: "} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}
