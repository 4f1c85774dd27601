package server

import (
	"bytes"
	"errors"
)

// request is what the server must know of a message. The fields are pieces of
// the message itself.
type request struct {
	id     []byte // as it came; nil for a notification
	method []byte
	tool   []byte
	args   []byte
}

var errNotAMessage = errors.New("not a JSON-RPC message")

// parse finds the few members the server looks at. It checks nothing else:
// what a server costs is in every client's time, so it costs as little as can be.
func parse(message []byte) (request, error) {
	var r request
	ok := members(message, 0, func(key, value []byte) {
		switch string(key) {
		case "id":
			r.id = value
		case "method":
			r.method = unquoted(value)
		case "params":
			if value[0] == '{' {
				members(value, 0, func(key, value []byte) {
					switch string(key) {
					case "name":
						r.tool = unquoted(value)
					case "arguments":
						r.args = value
					}
				})
			}
		}
	})
	if !ok {
		return request{}, errNotAMessage
	}
	return r, nil
}

// members calls f for each member of the object at b[i]. It is false for what
// is no object, or an object without an end.
func members(b []byte, i int, f func(key, value []byte)) bool {
	i = space(b, i)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	for i++; ; {
		i = space(b, i)
		if i >= len(b) {
			return false
		}
		switch b[i] {
		case '}':
			return true
		case ',':
			i++
			continue
		case '"':
		default:
			return false
		}
		end := afterString(b, i)
		if end < 0 {
			return false
		}
		key := b[i+1 : end-1]
		i = space(b, end)
		if i >= len(b) || b[i] != ':' {
			return false
		}
		i = space(b, i+1)
		end = afterValue(b, i)
		if end <= i {
			return false
		}
		f(key, b[i:end])
		i = end
	}
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// afterValue returns where the value at b[i] ends, -1 when it does not.
func afterValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return afterString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				if i = afterString(b, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

// afterString returns where the string that starts at b[i] ends, -1 when it
// does not. It jumps from quote to quote, so 16 MiB of text cost little.
func afterString(b []byte, i int) int {
	for j := i + 1; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		j += k + 1
		escapes := 0
		for b[j-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return j
		}
	}
}

// unquoted drops the quotes. Methods and the names of our tools have no escapes.
func unquoted(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	return value[1 : len(value)-1]
}

// number reads one member of the arguments as a whole number, 0 when it is none.
func (r request) number(name string) int {
	n := 0
	members(r.args, 0, func(key, value []byte) {
		if string(key) != name {
			return
		}
		n = 0
		for _, c := range value {
			if c < '0' || c > '9' {
				n = 0
				return
			}
			n = n*10 + int(c-'0')
		}
	})
	return n
}
