package jsonrpc

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// errStop reports that visit ended the walk.
var errStop = errors.New("stopped")

// Members calls visit for each member of a JSON object, in order, until visit
// returns false. name is decoded; value is the raw JSON. Both share the memory
// of object where possible. Members returns an error for a value that is not an
// object, invalid JSON, duplicate members and invalid UTF-8, up to the point
// where it stopped.
func Members(object []byte, visit func(name, value []byte) bool) error {
	if len(object) > 0 && object[0] == '{' && isPlainValue(object) {
		return Walk(object, visit)
	}
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	err := s.each(object, visit)
	s.forget(object)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

func (s *scanner) each(object []byte, visit func(name, value []byte) bool) error {
	s.buf = *bytes.NewBuffer(object)
	s.dec.Reset(&s.buf)
	if s.dec.PeekKind() != '{' {
		return errNotObject
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != '}' {
		raw, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		name := []byte(raw[1 : len(raw)-1])
		if !isPlain(name) {
			if name, err = jsontext.AppendUnquote(nil, raw); err != nil {
				return err
			}
		}
		value, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		if !visit(name, value) {
			return errStop
		}
	}
	_, err := s.dec.ReadToken()
	return err
}
