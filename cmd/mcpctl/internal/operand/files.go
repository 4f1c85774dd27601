package operand

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// Files is where @file and @- come from. The zero Files has no standard input.
// Not safe for concurrent use.
type Files struct {
	// Stdin is read once, by whoever names it first.
	Stdin io.Reader
	// BeforeStdin is called before Stdin is read, to tell a person who is
	// expected to type; nil for nothing.
	BeforeStdin func()

	used bool
}

var errStdinTwice = errors.New("standard input can be read once only")

func (f *Files) read(name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("no file is named after the @; @@ writes an @")
	}
	if name != "-" {
		return os.ReadFile(name)
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
		if data, err = files.read(text[1:]); err != nil {
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
