// Package footprint estimates how much memory the words of a server take, so that
// queues of what it has sent can be bounded in bytes.
package footprint

import (
	"errors"
	"reflect"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Of returns about how many bytes the fields of v hold: texts, errors, tools and
// what servers call themselves. v is a struct, such as an event; anything else
// counts as nothing.
func Of(v any) int {
	fields := reflect.ValueOf(v)
	if fields.Kind() != reflect.Struct {
		return 0
	}
	n := 0
	for i := range fields.NumField() {
		switch field := fields.Field(i); {
		case !field.CanInterface():
		case field.Kind() == reflect.String:
			n += field.Len()
		default:
			n += value(field.Interface())
		}
	}
	return n
}

// value is Of for the types that hold what a server has sent.
func value(v any) int {
	switch v := v.(type) {
	case error:
		return Error(v)
	case mcp.Tool:
		return Tool(&v)
	case *mcp.Tool:
		if v != nil {
			return Tool(v)
		}
	case mcp.Implementation:
		return server(v)
	}
	return 0
}

// Error returns about how many bytes of a server's words an error holds.
func Error(err error) int {
	e, ok := errors.AsType[*mcperrors.Error](err)
	if !ok {
		return 0
	}
	n := len(e.Message)
	if e.RPC != nil {
		n += len(e.RPC.Data)
	}
	if e.HTTP != nil {
		n += len(e.HTTP.Body)
	}
	if e.Process != nil {
		for _, line := range e.Process.Stderr {
			n += len(line)
		}
	}
	return n
}

// Tool returns about how many bytes the definition of a tool takes.
func Tool(t *mcp.Tool) int {
	const fixed = 512
	n := fixed + len(t.Name) + len(t.Title) + len(t.Description) + len(t.InputSchema) + len(t.OutputSchema) + len(t.Meta) + members(t.Extra)
	if a := t.Annotations; a != nil {
		n += len(a.Title) + members(a.Extra)
	}
	for i := range t.Icons {
		icon := &t.Icons[i]
		n += len(icon.Src) + len(icon.MIMEType) + len(icon.Theme) + members(icon.Extra)
		for _, size := range icon.Sizes {
			n += len(size)
		}
	}
	if e := t.Execution; e != nil {
		n += len(e.TaskSupport) + members(e.Extra)
	}
	return n
}

func members(all mcp.Members) (n int) {
	for _, m := range all {
		n += len(m.Name) + len(m.Value)
	}
	return n
}

// server returns the size of a server's name, its icons and the like. One that
// cannot be encoded was not read from a message.
func server(s mcp.Implementation) int {
	raw, err := mcp.Marshal(&s)
	if err != nil {
		return 0
	}
	return len(raw)
}
