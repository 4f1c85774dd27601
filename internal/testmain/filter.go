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

// filterArgument is the only argument of a test program that filters the output of another one.
const filterArgument = "mainstay-filter-test-output"

// Limits of the filtered output. Together it is less than 200 lines, with the few that "go test"
// adds; after a hang, stacks follow.
const (
	headLines = 70   // at the start
	failLines = 25   // after that: lines with a failed test
	bugLines  = 60   // after that: panics, data races and leaked goroutines
	eachBug   = 40   // lines of one of them
	tailLines = 30   // at the end
	lineBytes = 1000 // of a line
)

// filter copies the output of tests, and only the most useful parts of long output. It returns
// the exit code of its program.
func filter(from io.Reader, to io.Writer) int {
	signal.Ignore(os.Interrupt, syscall.SIGQUIT) // a terminal sends them to the tests, too, whose last output is read here
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

// readLine returns a line with its newline, cut to the limit.
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
		if beyond <= 1 && err == nil { // only the newline is beyond the limit, or nothing
			return string(bytes.TrimSuffix(line, []byte("\n"))) + "\n", nil
		}
		if beyond > 0 {
			return fmt.Sprintf("%s… and %d bytes more\n", strings.ToValidUTF8(string(line), ""), beyond), err
		}
		return string(line), err
	}
}

// bounded writes the first lines at once. It keeps the last lines until the end of the output. Of
// the lines in between, it writes those of failed tests and of panics and the like.
type bounded struct {
	to       io.Writer
	head     int      // lines written before the first gap
	last     []string // at most tailLines
	out      int      // omitted lines
	reported bool     // whether the omission was reported

	fails, bugs int // lines written of each kind
	bug         int // remaining lines of the current panic

	hang *hang // output after a timeout, nil before
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

// begins records that a panic or the like starts with the line, or counts the line as part of the
// current one.
func (b *bounded) begins(line string) {
	switch {
	case isBug(line) && b.bug == 0:
		b.bug = eachBug
	case b.bug > 0:
		b.bug--
	}
}

// pass writes or omits a line that is neither one of the first nor of the last.
func (b *bounded) pass(line string) {
	if !b.reported {
		b.reported = true
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
		b.write(fmt.Sprintf("… %d lines omitted: %s=all shows them\n", b.out, outputVariable))
	}
	for _, l := range b.last {
		b.write(l)
	}
}

func (b *bounded) write(line string) {
	_, _ = io.WriteString(b.to, line) // there is no other place to report an error
}

// isBug reports whether the line starts output that is not a test's own.
func isBug(line string) bool {
	for _, p := range []string{"panic: ", "fatal error: ", "WARNING: DATA RACE", "goroutines outlive the tests: "} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}
