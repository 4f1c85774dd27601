package inputschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// Judge returns why a JSON value does not match the schema. It returns nil if the value matches
// or cannot be validated: the validator uses float64, so a value is never rejected because of a
// number that float64 cannot represent.
func (s *Schema) Judge(text json.RawMessage) error {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return nil //nolint:nilerr // invalid JSON is not validated
	}
	err := s.Validate(value)
	if err != nil && s.doubtful(text) {
		return nil
	}
	return err
}

// doubtful reports whether a value has a number that the validator may have judged wrongly: an
// integer that float64 rounds, or a fraction if the schema has a fractional multipleOf (for
// float64, 19.99 is not a multiple of 0.01).
func (s *Schema) doubtful(text json.RawMessage) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return false
		}
		number, isNumber := token.(json.Number)
		switch {
		case err != nil:
			return true // cannot happen: it was decoded before
		case !isNumber:
		case strings.ContainsAny(number.String(), ".eE"):
			if s.fractions {
				return true
			}
		case rounded(number.String()):
			return true
		}
	}
}

// rounded reports whether float64 changes an integer.
func rounded(digits string) bool {
	const exact = 15 // digits that every float64 keeps
	if len(digits) <= exact {
		return false
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return true
	}
	asFloat, _ := big.NewFloat(f).Int(nil)
	return asFloat.String() != digits
}

// hasFractions reports whether a multipleOf in a schema is a fraction.
func hasFractions(schema any) bool {
	node, _ := schema.(map[string]any)
	if multiple, isNumber := node["multipleOf"].(json.Number); isNumber && strings.ContainsAny(multiple.String(), ".eE") {
		return true
	}
	found := false
	children("", schema, func(_ string, v any) { found = found || hasFractions(v) })
	return found
}
