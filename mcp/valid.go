package mcp

import (
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// source is what a codec reads from.
type source interface {
	// PeekKind returns the kind of the next token, 0 at the end.
	PeekKind() jsontext.Kind
	ReadToken() (jsontext.Token, error)
	ReadValue() (jsontext.Value, error)
	// InputOffset returns the end of the last token or value.
	InputOffset() int64
}

// validSource reads JSON that was validated before, mostly the result of a message.
// It only finds where values end and does not check for duplicate names, which makes
// it several times faster than the decoder. It reads invalid JSON as far as it looks
// valid.
type validSource struct {
	data []byte
	at   int
}

// start returns the start of the next token.
func (s *validSource) start() int {
	for i := s.at; i < len(s.data); i++ {
		switch s.data[i] {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			return i
		}
	}
	return len(s.data)
}

// PeekKind implements source.
func (s *validSource) PeekKind() jsontext.Kind {
	i := s.start()
	if i == len(s.data) {
		return 0
	}
	switch kind := s.data[i]; kind {
	case '{', '}', '[', ']', '"', 'n', 't', 'f':
		return jsontext.Kind(kind)
	default:
		return '0'
	}
}

// ReadToken implements source. It returns an empty token: callers know its kind from
// PeekKind.
func (s *validSource) ReadToken() (jsontext.Token, error) {
	i := s.start()
	if i == len(s.data) {
		s.at = i
		return jsontext.Token{}, io.EOF
	}
	switch s.data[i] {
	case '{', '}', '[', ']':
		s.at = i + 1
	default:
		s.at = s.end(i)
	}
	return jsontext.Token{}, nil
}

// ReadValue implements source.
func (s *validSource) ReadValue() (jsontext.Value, error) {
	i := s.start()
	if i == len(s.data) {
		return nil, io.ErrUnexpectedEOF
	}
	s.at = s.end(i)
	return jsontext.Value(s.data[i:s.at:s.at]), nil
}

// InputOffset implements source.
func (s *validSource) InputOffset() int64 { return int64(s.at) }

// end returns the end of the value that starts at i.
func (s *validSource) end(i int) int {
	switch s.data[i] {
	case '"':
		return s.stringEnd(i)
	case '{', '[':
	default:
		for i++; i < len(s.data); i++ {
			switch s.data[i] {
			case ',', ':', ']', '}', ' ', '\t', '\n', '\r':
				return i
			}
		}
		return i
	}
	for depth := 0; i < len(s.data); i++ {
		switch s.data[i] {
		case '"':
			i = s.stringEnd(i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s.data)
}

// stringEnd returns the end of the string that starts at i.
func (s *validSource) stringEnd(i int) int {
	if end := skipString(s.data, i); end >= 0 {
		return end
	}
	return len(s.data)
}
