package jsonrpc

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// ID is a request id: a string or an integer, kept exactly as written. The zero
// ID means "no id". IDs can be compared with ==. The string "1" and the number
// 1 are different ids.
type ID struct {
	// token is the JSON text of the id in one canonical form: strings quoted
	// with minimal escapes, integers as their digits.
	token string
}

// StringID returns the ID of a string. It replaces invalid UTF-8 by U+FFFD.
func StringID[T string | []byte](s T) ID {
	var scratch [64]byte // enough for a UUID: one allocation, the token's own
	buf := scratch[:0]
	if isPlain(s) {
		buf = append(buf, '"')
		buf = append(buf, s...)
		buf = append(buf, '"')
	} else {
		// The error only reports invalid UTF-8, which has been replaced.
		buf, _ = jsontext.AppendQuote(buf, s)
	}
	return ID{token: string(buf)}
}

// ParseID returns the ID with this JSON text. The ID shares the memory of token
// if token is in canonical form.
func ParseID(token string) (ID, error) {
	if n := len(token); n >= 2 && token[0] == '"' && token[n-1] == '"' && isPlain(token[1:n-1]) {
		return ID{token: token}, nil
	}
	var id ID
	err := id.UnmarshalJSON([]byte(token))
	return id, err
}

// IntID returns the ID of an integer.
func IntID(i int64) ID { return ID{token: strconv.FormatInt(i, 10)} }

// IsZero reports whether id is the zero ID.
func (id ID) IsZero() bool { return id.token == "" }

// IsString reports whether the id is a JSON string.
func (id ID) IsString() bool { return id.token != "" && id.token[0] == '"' }

// String returns the id for people: the text of a string, the digits of an
// integer, or "" for the zero ID.
func (id ID) String() string {
	if !id.IsString() {
		return id.token
	}
	text, err := jsontext.AppendUnquote(nil, id.token)
	if err != nil {
		return id.token
	}
	return string(text)
}

// AppendJSON appends the JSON text of the id, or null for the zero ID.
func (id ID) AppendJSON(dst []byte) []byte {
	if id.token == "" {
		return append(dst, "null"...)
	}
	return append(dst, id.token...)
}

// MarshalJSON implements [encoding/json.Marshaler].
func (id ID) MarshalJSON() ([]byte, error) { return id.AppendJSON(nil), nil }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. null becomes the zero
// ID.
func (id *ID) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*id = ID{}
		return nil
	}
	// Callers may pass any text; canonicalID needs one JSON value.
	data = bytes.Trim(data, jsonSpace)
	if !jsontext.Value(data).IsValid() {
		return errIDType
	}
	token, err := canonicalID(data)
	if err != nil {
		return err
	}
	id.token = string(token)
	return nil
}

var (
	errIDType = errors.New("id must be a string or an integer")
	errIDText = errors.New("id must be valid Unicode")
)

// canonicalID returns the canonical token of a valid raw JSON value. It does not
// allocate for common ids. A number with a fraction or an exponent is not an id.
func canonicalID(raw []byte) ([]byte, error) {
	switch c := raw[0]; {
	case c == '"':
		if isPlain(raw[1 : len(raw)-1]) {
			return raw, nil
		}
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return nil, errIDText
		}
		return jsontext.AppendQuote(nil, text)
	case c == '-' || (c >= '0' && c <= '9'):
		for _, d := range raw[1:] {
			if d < '0' || d > '9' {
				return nil, errIDType
			}
		}
		if string(raw) == "-0" {
			return raw[1:], nil
		}
		return raw, nil
	}
	return nil, errIDType
}

// isPlain reports whether s needs no escaping inside a JSON string.
func isPlain[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}
