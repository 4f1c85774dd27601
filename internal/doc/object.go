package doc

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// OpenObject returns an object without its closing brace, nil for none. It shares the memory of
// the object.
func OpenObject(object json.RawMessage) []byte {
	for i := len(object) - 1; i >= 0; i-- {
		if object[i] == '}' {
			return object[:i:i]
		}
	}
	return nil
}

// AppendMembers appends members to an open object, after a comma if it is not empty.
func AppendMembers(open, members []byte) []byte {
	if len(members) == 0 {
		return open
	}
	if open[len(open)-1] != '{' {
		open = append(open, ',')
	}
	return append(open, members...)
}

// Pair returns one member: its name, a colon and its value.
func Pair(name string, value []byte) []byte {
	return append(append(jsonrpc.AppendString(nil, name), ':'), value...)
}

// Cut returns an open object without one of its members, and the value of that member, nil if
// there is none. Both share the memory of the object if possible.
func Cut(object json.RawMessage, name string) (open []byte, value json.RawMessage, err error) {
	if err = jsonrpc.Members(object, func(n, v []byte) bool {
		if string(n) == name {
			value = v
		}
		return value == nil
	}); err != nil {
		return nil, nil, err
	}
	if value == nil {
		return OpenObject(object), nil, nil
	}
	open = []byte{'{'}
	err = jsonrpc.Members(object, func(n, v []byte) bool {
		if string(n) != name {
			open = AppendMembers(open, Pair(string(n), v))
		}
		return true
	})
	return open, value, err
}

// MembersOf returns the members of an object, without its braces.
func MembersOf(object json.RawMessage) ([]byte, error) {
	all := []byte{'{'}
	err := jsonrpc.Members(object, func(name, value []byte) bool {
		all = AppendMembers(all, Pair(string(name), value))
		return true
	})
	return all[1:], err
}

// Find returns the value of a member of an object, nil for none. The closing brace may be
// missing.
func Find(object []byte, name string) (found json.RawMessage) {
	_ = jsonrpc.Walk(object, func(n, value []byte) bool {
		if string(n) == name {
			found = value
		}
		return found == nil
	})
	return found
}

// First returns the first byte of a JSON text, 0 for an empty one. The text starts in its first
// line.
func First(text json.RawMessage) byte {
	for _, b := range text {
		if b != ' ' && b != '\t' {
			return b
		}
	}
	return 0
}
