package jsonrpc

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// The options behave like encoding/json (durations as integers, its omitempty),
// with two exceptions: names match exactly, and duplicate members are errors.
var (
	marshalOptions = json.JoinOptions(
		jsonv1.DefaultOptionsV1(),
		jsontext.EscapeForHTML(false),
		jsontext.EscapeForJS(false),
		json.Deterministic(true),
		json.WithMarshalers(json.MarshalToFunc(writeNumber)),
	)
	unmarshalOptions = json.JoinOptions(
		jsonv1.DefaultOptionsV1(),
		json.MatchCaseInsensitiveNames(false),
		jsontext.AllowDuplicateNames(false),
		json.WithUnmarshalers(json.JoinUnmarshalers(
			json.UnmarshalFromFunc(exactNumber),
			json.UnmarshalFromFunc(readNumber),
		)),
	)
)

// Marshal encodes v as JSON. It behaves like [encoding/json.Marshal], but does
// not escape <, > and &.
func Marshal(v any) (stdjson.RawMessage, error) {
	return json.Marshal(v, marshalOptions)
}

// Unmarshal decodes data into v. It behaves like [encoding/json.Unmarshal] with
// these exceptions: member names match exactly, duplicate members are errors,
// and a number in an empty interface becomes an [encoding/json.Number], never a
// float64.
func Unmarshal(data []byte, v any) error {
	return json.Unmarshal(data, v, unmarshalOptions)
}

// AppendValue appends a JSON value after it has checked that the value is
// valid. Numbers and the order of members stay unchanged. It removes line
// breaks, because newline framing does not allow them. Duplicate members and
// invalid UTF-8 are errors.
func AppendValue(dst []byte, value stdjson.RawMessage) ([]byte, error) {
	if isPlainValue(value) {
		return append(dst, value...), nil
	}
	v := jsontext.Value(value)
	if !v.IsValid() {
		return dst, errNotValue
	}
	if bytes.IndexByte(v, '\n') >= 0 || bytes.IndexByte(v, '\r') >= 0 {
		v = v.Clone()
		if err := v.Compact(jsontext.PreserveRawStrings(true)); err != nil {
			return dst, err
		}
	}
	return append(dst, v...), nil
}

var errNotValue = errors.New("not one JSON value: it must be valid JSON without duplicate members")

// The codec has its own Number, and treats the one of encoding/json as a string.
// The three functions below make that a number in both directions.

// exactNumber reads a number into an empty interface.
func exactNumber(dec *jsontext.Decoder, v *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*v = stdjson.Number(raw)
	return nil
}

// readNumber reads a Number from the same values as encoding/json: a number, null,
// or a string with a number.
func readNumber(dec *jsontext.Decoder, n *stdjson.Number) error {
	if inName(dec) {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case 'n':
		return nil
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil || jsontext.Value(text).Kind() != '0' || !jsontext.Value(text).IsValid() {
			return fmt.Errorf("the string %s is not a number", raw)
		}
		raw = text
	case '0':
	default:
		return fmt.Errorf("cannot read %s as a number", raw.Kind())
	}
	*n = stdjson.Number(raw)
	return nil
}

// writeNumber writes the digits of a Number. As in encoding/json, an empty one is 0.
func writeNumber(enc *jsontext.Encoder, n stdjson.Number) error {
	if inName(enc) {
		return errors.ErrUnsupported
	}
	if n == "" {
		n = "0"
	}
	raw := jsontext.Value(n)
	if raw.Kind() != '0' {
		return fmt.Errorf("invalid number literal %q", string(n))
	}
	return enc.WriteValue(raw)
}

// inName reports whether a member name comes next, which is a string for every Go
// type.
func inName(at interface {
	StackDepth() int
	StackIndex(int) (jsontext.Kind, int64)
},
) bool {
	kind, n := at.StackIndex(at.StackDepth())
	return kind == '{' && n%2 == 0
}
