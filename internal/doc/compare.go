package doc

import (
	"math"
	"strconv"
)

// Any returns the value as JSON Schema validators expect it: maps, slices, strings, booleans,
// nil, and numbers as int64 if they are integers that fit, else as the nearest finite float64.
// Use it only for validation; [Value.AppendJSON] writes the value to send.
func (v *Value) Any() any {
	switch v.Kind() {
	case Bool:
		return v.True()
	case Number:
		if i, err := strconv.ParseInt(v.raw, 10, 64); err == nil {
			return i
		}
		return v.Float()
	case String:
		return v.Str()
	case Array:
		out := make([]any, len(v.items))
		for i, item := range v.items {
			out[i] = item.Any()
		}
		return out
	case Object:
		out := make(map[string]any, len(v.members))
		for _, m := range v.members {
			out[m.Name] = m.Value.Any()
		}
		return out
	}
	return nil
}

// Float returns the finite float64 nearest to a number; 0 for other kinds.
func (v *Value) Float() float64 {
	if v.Kind() != Number {
		return 0
	}
	f, _ := strconv.ParseFloat(v.raw, 64) // out of range returns an infinity, which is clamped
	return max(-math.MaxFloat64, min(math.MaxFloat64, f))
}

// IsInteger reports whether a number has no fraction, as in JSON Schema: 1.0 is an integer.
func (v *Value) IsInteger() bool {
	return v.Kind() == Number && v.Float() == math.Trunc(v.Float())
}

// Equal reports whether two values are equal in JSON Schema: with members in any order, and
// numbers by value.
func Equal(a, b *Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case Number:
		x, ok := a.Any().(int64)
		y, also := b.Any().(int64)
		if ok && also {
			return x == y
		}
		return a.Float() == b.Float()
	case String:
		return a.Str() == b.Str()
	case Bool:
		return a.raw == b.raw
	case Array:
		if len(a.items) != len(b.items) {
			return false
		}
		for i := range a.items {
			if !Equal(a.items[i], b.items[i]) {
				return false
			}
		}
	case Object:
		if len(a.members) != len(b.members) {
			return false
		}
		for _, m := range a.members {
			other := b.Get(m.Name)
			if other == nil || !Equal(m.Value, other) {
				return false
			}
		}
	}
	return true
}
