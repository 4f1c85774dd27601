package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

// A reader has the objects of a PDF file.
type reader struct {
	objects *model.XRefTable
	// unpacked is what all streams unpacked to, in bytes.
	unpacked int64
}

// open reads the objects of a file. What the library cannot find by the file's
// own table of offsets, it finds in a copy whose table is made again.
func open(data []byte) (*reader, error) {
	data = fromHeader(data)
	f, err := load(data)
	if err == nil && f.root().Key("Pages").Kind() == dictKind {
		return f, nil
	}
	if errors.Is(err, pdfcpu.ErrWrongPassword) {
		err = ErrEncrypted
	}
	repaired, ok := repair(data)
	if ok {
		again, second := load(repaired)
		switch {
		case second == nil && again.root().Key("Pages").Kind() == dictKind:
			return again, nil
		case errors.Is(second, pdfcpu.ErrWrongPassword):
			err = ErrEncrypted
		}
	}
	if err == nil {
		err = errTree
	}
	return nil, err
}

// load reads the objects with the library, which may panic.
func load(data []byte) (f *reader, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			f, err = nil, fmt.Errorf("the file is malformed: %v", fault)
		}
	}()
	found, err := pdfcpu.Read(bytes.NewReader(data), &model.Configuration{
		Reader15:       true,
		ValidationMode: model.ValidationRelaxed,
		Offline:        true,
		Limits:         model.DefaultResourceLimits(),
	})
	if err != nil {
		return nil, err
	}
	return &reader{objects: found.XRefTable}, nil
}

// HeaderWithin is the number of first bytes in which readers look for the header.
const HeaderWithin = 1024

var versioned = regexp.MustCompile(`%PDF-\d\.\d`)

// fromHeader is the file from its header on, whose version says what the library
// knows: a reader reads what is there, whatever version the file names.
func fromHeader(data []byte) []byte {
	const known = "%PDF-1.7"
	start := data[:min(len(data), HeaderWithin)]
	at := versioned.FindIndex(start)
	if at == nil {
		if i := bytes.Index(start, []byte("%PDF-")); i >= 0 {
			at = []int{i, i + len("%PDF-")}
			if end := bytes.IndexAny(data[i:], "\r\n"); end > 0 && end < len(known)+8 {
				at[1] = i + end
			}
		}
	}
	if at == nil {
		return append([]byte(known+"\n"), data...)
	}
	out := bytes.Clone(data[at[0]:])
	n := at[1] - at[0]
	if n == len(known) {
		copy(out, known)
		if len(out) > n+1 && (out[n] == ' ' || out[n] == '\t') {
			out[n] = '\n'
		}
		return out
	}
	return append([]byte(known), out[n:]...)
}

// root is the catalog.
func (f *reader) root() value {
	if f.objects.Root == nil {
		return value{}
	}
	return f.value(*f.objects.Root)
}
