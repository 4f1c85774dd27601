package pdf

import (
	"bytes"
	"compress/flate"
	"io"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// A valueKind is what a value is.
type valueKind int

const (
	nullKind valueKind = iota
	numberKind
	stringKind
	nameKind
	arrayKind
	dictKind
	streamKind
)

// A value is an object of a file, its references followed. The zero value is
// null, and so is all within a value that has nothing there.
type value struct {
	f   *reader
	obj types.Object
	ref int // the number of the object, zero where it is part of another
}

// maxReferences is how many references that lead to references are followed.
const maxReferences = 16

// value follows the references of an object.
func (f *reader) value(obj types.Object) value {
	v := value{f: f, obj: obj}
	for range maxReferences {
		ref, ok := v.obj.(types.IndirectRef)
		if !ok {
			return v
		}
		v.ref = ref.ObjectNumber.Value()
		next, err := f.objects.Dereference(ref)
		if err != nil {
			return value{} // what is not there is null
		}
		v.obj = next
	}
	return value{}
}

// Kind is what the value is; booleans count as null.
func (v value) Kind() valueKind {
	switch v.obj.(type) {
	case types.Integer, types.Float:
		return numberKind
	case types.StringLiteral, types.HexLiteral:
		return stringKind
	case types.Name:
		return nameKind
	case types.Array:
		return arrayKind
	case types.Dict:
		return dictKind
	case types.StreamDict, types.ObjectStreamDict, types.XRefStreamDict:
		return streamKind
	}
	return nullKind
}

// IsNull says that nothing is there.
func (v value) IsNull() bool { return v.obj == nil }

// dict is the entries of a dictionary or of a stream.
func (v value) dict() types.Dict {
	switch d := v.obj.(type) {
	case types.Dict:
		return d
	case types.StreamDict:
		return d.Dict
	}
	return nil
}

// Key is an entry of a dictionary or of a stream.
func (v value) Key(key string) value {
	if obj, ok := v.dict()[key]; ok {
		return v.f.value(obj)
	}
	return value{}
}

// Len is how many elements an array has.
func (v value) Len() int {
	list, _ := v.obj.(types.Array)
	return len(list)
}

// Index is an element of an array.
func (v value) Index(i int) value {
	if list, _ := v.obj.(types.Array); i >= 0 && i < len(list) {
		return v.f.value(list[i])
	}
	return value{}
}

// Float64 is a number, zero for anything else.
func (v value) Float64() float64 {
	switch n := v.obj.(type) {
	case types.Integer:
		return float64(n)
	case types.Float:
		return float64(n)
	}
	return 0
}

// Int is a number without its fraction.
func (v value) Int() int { return int(max(min(v.Float64(), 1<<31), -1<<31)) }

// Name is a name, empty for anything else.
func (v value) Name() string {
	name, _ := v.obj.(types.Name)
	return string(name)
}

// Text is a short string in ASCII, empty for anything else.
func (v value) Text() string {
	switch s := v.obj.(type) {
	case types.StringLiteral:
		return string(s)
	case types.HexLiteral:
		b, _ := s.Bytes() // what is no hexadecimal is no text
		return string(b)
	}
	return ""
}

// Decoded is a text string of any language, empty for anything else.
func (v value) Decoded() string {
	text, err := types.StringOrHexLiteral(v.obj)
	if err != nil || text == nil {
		return ""
	}
	return *text
}

// maxUnpacked is how many bytes all content of a document together unpacks to at most.
const maxUnpacked = 128 << 20

// Data is what a stream unpacks to; of a damaged one, what could be unpacked.
// It panics with [ErrTooMuch] when the streams of the file unpack to too much.
func (v value) Data() []byte {
	s, ok := v.obj.(types.StreamDict)
	if !ok {
		return nil
	}
	left := maxUnpacked - v.f.unpacked
	if left <= 0 {
		panic(ErrTooMuch) // see read
	}
	data := s.Content
	if data == nil {
		if err := s.DecodeWithLimit(left); err == nil {
			data = s.Content
		} else {
			data = inflate(&s, left)
		}
	}
	if v.f.unpacked += int64(len(data)); v.f.unpacked > maxUnpacked {
		panic(ErrTooMuch)
	}
	return data
}

// inflate unpacks what a damaged stream has up to its damage.
func inflate(s *types.StreamDict, most int64) []byte {
	if len(s.FilterPipeline) != 1 || !strings.HasPrefix(s.FilterPipeline[0].Name, "Fl") || s.FilterPipeline[0].DecodeParms != nil {
		return nil
	}
	raw := bytes.TrimLeft(s.Raw, "\r\n")
	if len(raw) < 2 {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(raw[2:])), most+1)) // the damage is known
	return data
}
