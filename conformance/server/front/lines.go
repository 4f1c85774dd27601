package front

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// line is one line of the input. Over is set when it was longer than the
// limit: Data then holds its beginning only.
type line struct {
	data []byte
	over bool
}

// lineReader splits a stream into lines of bounded length.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: most}
}

// next returns the next line that is not blank, without its line ending. The
// last line may lack one. A line over the limit is read to its end and cut.
func (l *lineReader) next() (line, error) {
	for {
		got, err := l.read()
		got.data = bytes.TrimSpace(got.data)
		if len(got.data) > 0 {
			return got, nil // an error will come again
		}
		if err != nil {
			return line{}, err
		}
	}
}

func (l *lineReader) read() (line, error) {
	var got line
	for {
		part, err := l.r.ReadSlice('\n')
		if room := l.max + len("\r\n") - len(got.data); len(part) > room {
			part, got.over = part[:room], true
		}
		got.data = append(got.data, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(bytes.TrimRight(got.data, "\r\n")) > l.max {
			got.over = true
		}
		return got, err
	}
}
