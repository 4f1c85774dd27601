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

// Judge says why a JSON value does not fit the schema, nil when it fits or when
// nothing can be said: the validator knows numbers as float64 only, so a value
// is never refused because of a number that float64 does not hold.
func (s *Schema) Judge(text json.RawMessage) error {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return nil //nolint:nilerr // what cannot be read is not judged
	}
	err := s.Validate(value)
	if err != nil && s.doubtful(text) {
		return nil
	}
	return err
}

// doubtful reports whether a value holds a number that the validator may have
// judged wrongly: an integer that float64 rounds, in a schema too, or a fraction
// under a multipleOf that is one (19.99 is not a multiple of 0.01 to float64).
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

// hasFractions reports whether a schema asks for multiples of a fraction
// anywhere.
func hasFractions(schema any) bool {
	node, _ := schema.(map[string]any)
	if multiple, isNumber := node["multipleOf"].(json.Number); isNumber && strings.ContainsAny(multiple.String(), ".eE") {
		return true
	}
	found := false
	children("", schema, func(_ string, v any) { found = found || hasFractions(v) })
	return found
}
