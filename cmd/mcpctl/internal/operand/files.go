package operand

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// Files reads @file and @-. The zero Files has no standard input. It is not safe
// for concurrent use.
type Files struct {
	// Stdin is read at most once.
	Stdin io.Reader
	// BeforeStdin is called before Stdin is read, to ask a person for input; it
	// may be nil.
	BeforeStdin func()
	// NoStdin is the error of reading a Stdin that is nil.
	NoStdin error

	used bool
}

var errStdinTwice = errors.New("standard input can be read only once")

// mark is the byte order mark (U+FEFF), with which some editors begin a file.
const mark = "\ufeff"

// WithoutMark returns a text without the byte order mark at its start.
func WithoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte(mark)) }

// ReadText returns the text of a file that a person has written, without a byte order mark.
func ReadText(name string) ([]byte, error) {
	text, err := os.ReadFile(name)
	return WithoutMark(text), err
}

// Read returns the text of a file, or of standard input for -, without a byte order mark.
func (f *Files) Read(name string) ([]byte, error) {
	text, err := f.exact(name)
	return WithoutMark(text), err
}

// exact returns the bytes of a file, or of standard input for -. Errors name the file.
func (f *Files) exact(name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("there is no file name after the @; for a text that begins with @ write @@")
	}
	if name != "-" {
		data, err := os.ReadFile(name)
		if err != nil { // with the name in the text, for those who show only the cause
			err = errors.New(strings.TrimPrefix(err.Error(), "open "))
		}
		return data, err
	}
	if f.Stdin == nil && f.NoStdin != nil {
		return nil, f.NoStdin
	}
	if f.used || f.Stdin == nil {
		return nil, errStdinTwice
	}
	f.used = true
	if f.BeforeStdin != nil {
		f.BeforeStdin()
	}
	data, err := io.ReadAll(f.Stdin)
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return data, nil
}

// Base reads the object that operands are put on top of: JSON text, @file, or
// - for standard input. Errors are those of [Parse]; they call the object by its name.
func Base(name, text string, files *Files) (*doc.Value, error) {
	data := []byte(text)
	if text == "-" {
		text = "@-"
	}
	if len(text) > 0 && text[0] == '@' {
		var err error
		if data, err = files.Read(text[1:]); err != nil {
			return nil, &formError{arg: name, reason: "cannot be read", cause: err}
		}
	}
	v, err := doc.Parse(data)
	if err != nil {
		return nil, &formError{arg: name, reason: "is not JSON", cause: err}
	}
	if v.Kind() != doc.Object {
		return nil, &formError{arg: name, reason: "must be an object, is " + v.Kind().String()}
	}
	return v, nil
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
