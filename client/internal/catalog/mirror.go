package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Mirrors caches the header annotations of each tool until the text of its schema changes. The
// zero value is ready for use. Its methods may be called from many goroutines at once.
type Mirrors struct {
	make  sync.Once
	cache *lru.Cache[string, *Mirror]

	mu    sync.Mutex
	plain []json.RawMessage // lists without any annotation
}

// mostPlain bounds the lists without annotations that are kept; more are read at once.
const (
	mostPlain  = 8
	plainBytes = 256 << 10
)

// Mirror has the header annotations of one tool's schema.
type Mirror struct {
	text json.RawMessage
	// tree leads to the annotated properties; nil if there are none.
	tree *node
	err  error // an annotation is invalid
}

func (m *Mirrors) tools() *lru.Cache[string, *Mirror] {
	m.make.Do(func() {
		m.cache, _ = lru.New[string, *Mirror](maxTools) // fails only for a negative size
	})
	return m.cache
}

// Get returns the annotations of a schema. first is true if its text is new.
func (m *Mirrors) Get(tool string, text json.RawMessage) (s *Mirror, first bool) {
	if s, ok := m.tools().Get(tool); ok && s.text != nil && bytes.Equal(s.text, text) {
		return s, false
	}
	s = &Mirror{text: slices.Clone(text)} // the caller may change its page
	s.tree, s.err = search(text)
	m.tools().Add(tool, s)
	return s, true
}

// plainMirror is that of all schemas without annotations: there is nothing to repeat.
var plainMirror = &Mirror{}

// Show records the schema of a tool in a list that the cache does not keep.
func (m *Mirrors) Show(tool string, text json.RawMessage) {
	if mayAnnotate(text) {
		m.Get(tool, text)
		return
	}
	m.tools().Add(tool, plainMirror)
}

// ShowPlain records a list without annotations, and reports whether it could. Nobody reads a list of
// hundreds of tools for the name of one.
func (m *Mirrors) ShowPlain(list json.RawMessage) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tools().Len() > 0 { // the list may have another schema of a tool that is known
		return false
	}
	if slices.ContainsFunc(m.plain, func(had json.RawMessage) bool { return bytes.Equal(had, list) }) {
		return true
	}
	if mayAnnotate(list) || len(list) > plainBytes || len(m.plain) >= mostPlain {
		return false
	}
	m.plain = append(m.plain, slices.Clone(list)) // the caller may change its page
	return true
}

// Shown returns the last known annotations of a tool, ok is false for none. A tool whose name is
// somewhere else in a list without annotations counts as shown: it has none to repeat.
func (m *Mirrors) Shown(tool string) (s *Mirror, ok bool) {
	if s, ok = m.tools().Get(tool); ok {
		return s, ok
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := jsonrpc.AppendString(nil, tool)
	if slices.ContainsFunc(m.plain, func(list json.RawMessage) bool { return bytes.Contains(list, name) }) {
		return plainMirror, true
	}
	return nil, false
}

// Unlisted records that the server does not list a tool, and reports whether that was already
// recorded.
func (m *Mirrors) Unlisted(tool string) (before bool) {
	if m.tools().Contains(tool) {
		return true
	}
	m.tools().Add(tool, &Mirror{})
	return false
}

// HasAnnotations reports whether a schema has header annotations, valid or not.
func HasAnnotations(schema json.RawMessage) bool {
	tree, err := search(schema)
	return tree != nil || err != nil
}

// Err returns why the annotations of the schema are invalid, nil if they are valid.
func (s *Mirror) Err() error { return s.err }

// Params returns the header values of arguments, in the order of the arguments.
func (s *Mirror) Params(args json.RawMessage) (params []transport.Param, err error) {
	if s.tree == nil || len(args) == 0 {
		return nil, nil
	}
	return s.tree.collect(nil, args)
}

// collect appends the header values of one object.
func (n *node) collect(params []transport.Param, object json.RawMessage) ([]transport.Param, error) {
	var fault error
	// A value that is not an object has no properties: the server will reject it.
	_ = jsonrpc.Members(object, func(name, value []byte) bool {
		child := n.children[string(name)]
		switch {
		case child == nil:
		case child.header != "":
			text, ok, err := headerText(value)
			if err != nil {
				fault = fmt.Errorf("argument %s cannot be repeated in a header: %w", jsonrpc.Printable(string(name), 100), err)
			} else if ok {
				params = append(params, transport.Param{Name: child.header, Value: text})
			}
		}
		if child != nil && child.children != nil && value[0] == '{' && fault == nil {
			params, fault = child.collect(params, value)
		}
		return fault == nil
	})
	return params, fault
}

// headerText returns the header value of an argument. ok is false if no header repeats it: null,
// and values of other types, which the server must reject.
func headerText(value []byte) (text string, ok bool, err error) {
	switch value[0] {
	case '"':
		err := jsonrpc.Unmarshal(value, &text)
		return text, err == nil, err
	case 't', 'f':
		return string(value), true, nil
	case 'n', '{', '[':
		return "", false, nil
	}
	return integerText(string(value))
}

// maxHeaderInteger is the largest integer that every JSON reader represents exactly.
const maxHeaderInteger = 1<<53 - 1

// integerText returns the decimal form of a JSON number: 42.0 and 4.2e1 are 42. ok is false if
// the number is not an integer. It works on the digits, which avoids rounding.
func integerText(number string) (text string, ok bool, err error) {
	number, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	digits, negative := strings.CutPrefix(number, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0", true, nil
	}
	scale := 0 // power of ten that the significant digits are multiplied by
	if exponent != "" {
		if scale, err = strconv.Atoi(exponent); err != nil { // the exponent is too large
			if strings.HasPrefix(exponent, "-") {
				return "", false, nil
			}
			return "", false, errHeaderInteger
		}
	}
	scale += len(digits) - len(significant) - len(fraction)
	const most = 16 // digits of maxHeaderInteger
	switch {
	case scale < 0:
		return "", false, nil
	case scale > most || len(significant)+scale > most:
		return "", false, errHeaderInteger
	}
	text = significant + strings.Repeat("0", scale)
	if n, _ := strconv.ParseInt(text, 10, 64); n > maxHeaderInteger {
		return "", false, errHeaderInteger
	}
	if negative {
		text = "-" + text
	}
	return text, true, nil
}

var errHeaderInteger = fmt.Errorf("the integer is beyond ±%d", int64(maxHeaderInteger))
