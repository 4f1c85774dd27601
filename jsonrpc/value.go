package jsonrpc

import (
	stdjson "encoding/json"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// valueOptions give applications what encoding/json taught them (durations as
// integers, omitempty as it was), minus its two surprises: names match exactly
// and duplicate members are errors (RPC-20).
var (
	marshalOptions = json.JoinOptions(
		jsonv1.DefaultOptionsV1(),
		jsontext.EscapeForHTML(false),
		jsontext.EscapeForJS(false),
		json.Deterministic(true),
	)
	unmarshalOptions = json.JoinOptions(
		jsonv1.DefaultOptionsV1(),
		json.MatchCaseInsensitiveNames(false),
		jsontext.AllowDuplicateNames(false),
		json.WithUnmarshalers(json.UnmarshalFromFunc(exactNumber)),
	)
)

// Marshal encodes v as JSON. It behaves like encoding/json.Marshal, except
// that <, > and & are not escaped.
func Marshal(v any) (stdjson.RawMessage, error) {
	return json.Marshal(v, marshalOptions)
}

// Unmarshal decodes data into v. It behaves like encoding/json.Unmarshal,
// except that member names match exactly, duplicate members are an error, and
// a number that lands in an empty interface is an encoding/json.Number, so
// that none passes through float64 (RPC-21).
func Unmarshal(data []byte, v any) error {
	return json.Unmarshal(data, v, unmarshalOptions)
}

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
