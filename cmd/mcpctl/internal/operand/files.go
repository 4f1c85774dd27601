package operand

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"

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

// Read returns the content of a file, or of standard input for -.
func (f *Files) Read(name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("there is no file name after the @; for a text that begins with @ write @@")
	}
	if name != "-" {
		return os.ReadFile(name)
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
// - for standard input. Errors are those of [Parse].
func Base(text string, files *Files) (*doc.Value, error) {
	const flag = "--json"
	data := []byte(text)
	if text == "-" {
		text = "@-"
	}
	if len(text) > 0 && text[0] == '@' {
		var err error
		if data, err = files.Read(text[1:]); err != nil {
			return nil, &formError{arg: flag, reason: "cannot be read", cause: err}
		}
	}
	v, err := doc.Parse(data)
	if err != nil {
		return nil, &formError{arg: flag, reason: "is not JSON", cause: err}
	}
	if v.Kind() != doc.Object {
		return nil, &formError{arg: flag, reason: "must be an object, is " + v.Kind().String()}
	}
	return v, nil
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
