package operand

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// Build puts operands on top of base, which it changes; a nil base is an empty
// object. The findings are values that no branch of the schema takes; they are
// in the result as strings, for a caller who wants to send them all the same.
// An error matches [ErrForm]: the operands contradict each other.
func Build(base *doc.Value, operands []Operand, s schema.Schema) (*doc.Value, []schema.Finding, error) {
	if base == nil {
		base = doc.NewObject()
	}
	b := builder{given: map[string]bool{}}
	for _, op := range operands {
		if at := written(op.path); !op.appends() {
			if b.given[at] {
				return nil, nil, &formError{arg: op.arg, reason: "is given twice; to append to a list write " + at + "[]=…"}
			}
			b.given[at] = true
		}
		b.op = op
		if op.form == remove {
			drop(base, op.path)
			continue
		}
		if _, err := b.place(base, s, op.path, ""); err != nil {
			return nil, nil, err
		}
	}
	return base, b.findings, nil
}

type builder struct {
	op       Operand
	given    map[string]bool
	findings []schema.Finding
}

func (o Operand) appends() bool {
	for _, s := range o.path {
		if s.end {
			return true
		}
	}
	return false
}

// place returns the value at a place after the operand: at itself, changed,
// or a new value where there was none.
func (b *builder) place(at *doc.Value, s schema.Schema, path []step, pointer string) (*doc.Value, error) {
	if len(path) == 0 {
		return b.leaf(s, pointer), nil
	}
	next := path[0]
	index, list, err := b.index(at, s, next)
	if err != nil {
		return nil, err
	}
	if list {
		if at == nil {
			at = doc.NewArray()
		}
		var item *doc.Value
		if index < len(at.Items()) {
			item = at.Items()[index]
		}
		item, err = b.place(item, s.Item(index), path[1:], pointer+"/"+strconv.Itoa(index))
		if err != nil {
			return nil, err
		}
		at.SetItem(index, item)
		return at, nil
	}
	if at == nil {
		at = doc.NewObject()
	}
	member, err := b.place(at.Get(next.name), s.Property(next.name), path[1:], pointer+"/"+escape(next.name))
	if err != nil {
		return nil, err
	}
	at.Set(next.name, member)
	return at, nil
}

// index decides whether a step goes into a list, and where. Digits are an
// index in a list and a name in an object; where nothing is there yet the
// schema decides, and without one they are an index.
func (b *builder) index(at *doc.Value, s schema.Schema, next step) (index int, list bool, err error) {
	n, notDigits := strconv.Atoi(next.name)
	digits := notDigits == nil && n >= 0 && !strings.HasPrefix(next.name, "+")
	switch at.Kind() {
	case doc.Object:
		if next.end {
			return 0, false, &formError{arg: b.op.arg, reason: "[] needs a list, but the value is an object"}
		}
		return 0, false, nil
	case doc.Array:
		if !next.end && !digits {
			return 0, false, &formError{arg: b.op.arg, reason: fmt.Sprintf("[%s] needs an object, but the value is a list", next.name)}
		}
	case 0:
		if !next.end && (!digits || s.TakesObject()) {
			return 0, false, nil
		}
	default:
		return 0, false, &formError{arg: b.op.arg, reason: fmt.Sprintf("[%s] needs an object or a list, but the value is %s", next.name, at)}
	}
	if next.end {
		return len(at.Items()), true, nil
	}
	if n > len(at.Items()) {
		return 0, false, &formError{arg: b.op.arg, reason: fmt.Sprintf("[%d] is out of range: the list has %d items", n, len(at.Items()))}
	}
	return n, true, nil
}

func (b *builder) leaf(s schema.Schema, pointer string) *doc.Value {
	if b.op.form == exact {
		own, err := doc.Parse(b.op.value.AppendJSON(nil)) // operands may be used again, for another object
		if err != nil {
			return b.op.value
		}
		return own
	}
	if b.op.form == coded {
		return doc.Text(b.op.text)
	}
	v, want, ok := s.Typed(b.op.text)
	if !ok && b.op.fromFile {
		// The line feed at the end of a file is no part of a number, nor is the mark at its start.
		v, want, ok = s.Typed(strings.TrimSpace(strings.TrimPrefix(b.op.text, mark)))
	}
	if !ok {
		b.findings = append(b.findings, schema.Finding{Pointer: pointer, Message: want + ", got " + schema.Brief(v)})
	}
	return v
}

// drop takes a path out of the object, when it is there.
func drop(at *doc.Value, path []step) {
	for _, s := range path[:len(path)-1] {
		at.Touch()
		next := at.Get(s.name)
		if i, err := strconv.Atoi(s.name); err == nil && i >= 0 && i < len(at.Items()) {
			next = at.Items()[i]
		}
		if next == nil {
			return
		}
		at = next
	}
	if at.Kind() == doc.Object {
		at.Delete(path[len(path)-1].name)
	}
}

// escape writes a name as a token of a JSON pointer (RFC 6901 section 3).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
