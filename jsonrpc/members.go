package jsonrpc

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// errStop ends a walk that was told to stop.
var errStop = errors.New("stopped")

// Members calls visit with each member of a JSON object, in order, until it
// returns false: the name as text, the value as it stands. Both share the
// object's memory where they can, and Members allocates nothing for names
// without escapes. It reports a value that is no object, and invalid JSON,
// duplicate members and invalid UTF-8 as far as it got.
func Members(object []byte, visit func(name, value []byte) bool) error {
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
