package console

import (
	"context"
	"errors"
	"io"
	"strings"
)

// ErrNoLine means that the terminal has no more lines: a person typed Ctrl-D.
var ErrNoLine = errors.New("no line was typed")

// typed is a line of the terminal, or why there is none.
type typed struct {
	line string
	err  error
}

// Asks reports whether a person can be asked: there is a terminal to read and one to write to.
func (c *Console) Asks() bool { return c.InTerminal && c.ErrTerminal }

// Line reads a line that a person types, without the spaces around it. It returns [ErrNoLine] at
// the end of the input. One goroutine at a time may call it.
//
// A read of a terminal cannot be cancelled: if ctx ends first, the line that is typed later is the
// answer to the next question.
func (c *Console) Line(ctx context.Context) (string, error) {
	if c.reading == nil {
		c.reading = make(chan typed, 1)
		go func() { c.reading <- readLine(c.In) }()
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case read := <-c.reading:
		c.reading = nil
		return read.line, read.err
	}
}

// readLine reads byte by byte: what follows the line is for others.
func readLine(in io.Reader) typed {
	var line []byte
	for next := make([]byte, 1); ; {
		n, err := in.Read(next)
		switch {
		case n == 1 && next[0] == '\n', err != nil && len(line) > 0:
			return typed{line: strings.TrimSpace(string(line))}
		case n == 1:
			line = append(line, next[0])
		case err != nil:
			return typed{err: ErrNoLine}
		}
	}
}

// Yes reads the answer to a question that is no unless a person types y or yes.
func (c *Console) Yes(ctx context.Context) (bool, error) {
	line, err := c.Line(ctx)
	if err != nil && !errors.Is(err, ErrNoLine) {
		return false, err
	}
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"), nil
}
