package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// DefaultDepth is how deep a message may be nested (decisions 27).
const DefaultDepth = 512

// Decode reads one message from data, which must hold exactly one JSON object.
// Raw members of the message share data's memory. Every error is a
// [*DecodeError].
func Decode(data []byte) (Message, error) { return DecodeWithin(data, DefaultDepth) }

// DecodeWithin is [Decode] with another limit on the nesting.
func DecodeWithin(data []byte, depth int) (Message, error) {
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	var e envelope
	if err := s.scan(data, depth, &e); err != nil {
		return nil, err
	}
	return e.message(), nil
}

// envelope is one scanned message. Everything in it may share memory with the
// bytes that were scanned.
type envelope struct {
	id     []byte // canonical token; nil when absent or null
	hasID  bool   // an id member was there, null or not
	method string
	params json.RawMessage
	result json.RawMessage
	err    *Error
	kind   kind
}

type kind uint8

const (
	kindRequest kind = iota + 1
	kindNotification
	kindResponse
)

func (e *envelope) message() Message {
	id := ID{token: string(e.id)}
	switch e.kind {
	case kindRequest:
		return Request{ID: id, Method: e.method, Params: e.params}
	case kindNotification:
		return Notification{Method: e.method, Params: e.params}
	default:
		return Response{ID: id, Result: e.result, Error: e.err}
	}
}

// scanner splits messages into their members in one strict pass. Not safe for
// concurrent use.
type scanner struct {
	buf bytes.Buffer
	dec *jsontext.Decoder
}

var scanners = sync.Pool{New: func() any { return newScanner() }}

func newScanner() *scanner {
	s := &scanner{}
	s.dec = jsontext.NewDecoder(&s.buf)
	return s
}

// scan fills e from data. A failure is a *DecodeError that carries the id when
// one can be told.
func (s *scanner) scan(data []byte, depth int, e *envelope) error {
	*e = envelope{}
	err := s.members(data, depth, e)
	s.buf = bytes.Buffer{} // keep no reference to the caller's bytes
	if err == nil {
		return nil
	}
	de := &DecodeError{Reason: err.Error(), Head: head(data)}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		de.Syntax = true
		de.Reason = syntax.Err.Error()
	} else if errors.Is(err, io.EOF) {
		de.Syntax = true
		de.Reason = "no JSON in it"
	}
	_, de.TooLarge = err.(depthError)
	if e.id != nil {
		de.ID = ID{token: string(e.id)}
	} else {
		de.ID = tailID(data)
	}
	return de
}

// depthError is the limit that a message nests deeper than.
type depthError int

func (e depthError) Error() string { return fmt.Sprintf("nested deeper than %d levels", int(e)) }

var (
	errNotObject   = errors.New("a message is a JSON object")
	errTrailing    = errors.New("more bytes after the message")
	errVersion     = errors.New(`"jsonrpc" must be "2.0"`)
	errMethodType  = errors.New("method must be a string")
	errParamsType  = errors.New("params must be an object")
	errBothMembers = errors.New("a response has exactly one of result and error")
	errMixed       = errors.New("a message with a method has neither result nor error")
	errNothing     = errors.New("neither a method nor a result nor an error")
	errRequestID   = errors.New("a request id must not be null")
	errResultID    = errors.New("a result needs the id of its request")
	errErrorType   = errors.New("error must be an object with an integer code and a string message")
)

func (s *scanner) members(data []byte, depth int, e *envelope) error {
	s.buf = *bytes.NewBuffer(data)
	// Servers cut strings in the middle of an emoji: invalid text is taken
	// here and judged below, member by member (decisions 10).
	s.dec.Reset(&s.buf, jsontext.AllowInvalidUTF8(true))
	if tooDeep(data, depth) {
		return depthError(depth)
	}
	if s.dec.PeekKind() != '{' {
		if _, err := s.dec.ReadValue(); err != nil {
			return err
		}
		return errNotObject
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	version := false
	var fault error // the first wrong member; reading goes on to find the id
	for s.dec.PeekKind() != '}' {
		name, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		member := memberOf(name)
		value, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		if member == "jsonrpc" {
			version = string(value) == `"2.0"`
		} else if err := e.set(member, value); err != nil && fault == nil {
			fault = err
		}
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	if _, err := s.dec.ReadToken(); err != io.EOF {
		return errTrailing
	}
	if fault != nil {
		return fault
	}
	if !version {
		return errVersion
	}
	return e.classify()
}

// tooDeep reports whether data nests deeper than limit. The decoder has a bound
// of its own, 10,000, that cannot be set. Most messages have fewer brackets
// than the limit, which two vectorised counts tell; only the rest is walked.
func tooDeep(data []byte, limit int) bool {
	if bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) <= limit {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// memberOf returns the member a raw name means; "" for members of no interest.
func memberOf(raw []byte) string {
	if !isPlain(raw[1 : len(raw)-1]) {
		// An escaped spelling of a known name is that name.
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return ""
		}
		raw = strconv.AppendQuote(nil, string(text))
	}
	switch string(raw) {
	case `"jsonrpc"`:
		return "jsonrpc"
	case `"id"`:
		return "id"
	case `"method"`:
		return "method"
	case `"params"`:
		return "params"
	case `"result"`:
		return "result"
	case `"error"`:
		return "error"
	}
	return ""
}

func (e *envelope) set(member string, value []byte) error {
	switch member {
	case "id":
		e.hasID = true
		if string(value) == "null" {
			return nil
		}
		id, err := canonicalID(value)
		if err != nil {
			return err
		}
		e.id = id
	case "method":
		text, ok := unquote(value)
		if !ok {
			return errMethodType
		}
		e.method = text
		e.kind = kindNotification
	case "params":
		if value[0] != '{' {
			return errParamsType
		}
		e.params = mend(value)
	case "result":
		e.result = mend(value)
	case "error":
		if string(value) == "null" && e.result == nil {
			return nil // some servers write "error": null beside a result
		}
		got, err := decodeError(value)
		if err != nil {
			return err
		}
		e.err = got
	}
	return nil
}

// classify decides what the members make together (RPC-07, RPC-11).
func (e *envelope) classify() error {
	switch {
	case e.kind == kindNotification && (e.result != nil || e.err != nil):
		return errMixed
	case e.kind == kindNotification && !e.hasID:
		return nil
	case e.kind == kindNotification && e.id == nil:
		return errRequestID
	case e.kind == kindNotification:
		e.kind = kindRequest
		return nil
	case e.result != nil && e.err != nil:
		return errBothMembers
	case e.result != nil && e.id == nil:
		return errResultID
	case e.result != nil || e.err != nil:
		e.kind = kindResponse
		return nil
	}
	return errNothing
}

// decodeError reads an error object.
func decodeError(raw []byte) (*Error, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return nil, errErrorType
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	e := &Error{}
	var hasCode, hasMessage bool
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		key := string(name)
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		switch key {
		case `"code"`:
			if e.Code, err = strconv.ParseInt(string(value), 10, 64); err != nil {
				return nil, errErrorType
			}
			hasCode = true
		case `"message"`:
			if e.Message, hasMessage = unquote(value); !hasMessage {
				return nil, errErrorType
			}
		case `"data"`:
			e.Data = mend(bytes.Clone(value))
		}
	}
	if !hasCode || !hasMessage {
		return nil, errErrorType
	}
	return e, nil
}

// unquote returns the text of a JSON string that must be valid Unicode.
func unquote(raw []byte) (string, bool) {
	if raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; isPlain(inner) {
		return string(inner), true
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}

// mend replaces what is not valid Unicode in a raw value by U+FFFD, so that
// every later reader sees the same text. Valid values come back as they are.
func mend(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	return mendSurrogates(raw)
}

// mendSurrogates overwrites unpaired \uD800..\uDFFF escapes with \uFFFD, in a
// copy when there are any. raw is valid JSON but for those.
func mendSurrogates(raw []byte) []byte {
	mended := false
	for i := 0; ; {
		at := bytes.Index(raw[i:], []byte(`\`))
		if at < 0 {
			return raw
		}
		i += at
		hi := surrogate(raw[i:])
		switch {
		case hi == 0:
			i += 2 // whatever is escaped, its first character is consumed
			continue
		case hi < 0xDC00:
			if low := surrogate(raw[i+6:]); low >= 0xDC00 {
				i += 12
				continue
			}
		}
		if !mended {
			raw, mended = bytes.Clone(raw), true
		}
		copy(raw[i:], `\ufffd`)
		i += 6
	}
}

// surrogate returns the UTF-16 surrogate escaped at the start of s, or 0.
func surrogate(s []byte) uint64 {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0
	}
	v, err := strconv.ParseUint(string(s[2:6]), 16, 32)
	if err != nil || v < 0xD800 || v > 0xDFFF {
		return 0
	}
	return v
}

// tailID finds the id of a message that could not be decoded, when the id
// stands at its very end, where many servers put it. What it finds is only
// used to fail a call with that id early, so a wrong guess costs a hostile
// server its own answer and nobody else anything.
func tailID(data []byte) ID {
	if len(data) > 512 {
		data = data[len(data)-512:]
	}
	data = bytes.TrimRight(data, " \t\r\n")
	data, ok := bytes.CutSuffix(data, []byte("}"))
	if !ok {
		return ID{}
	}
	if rest, cut := bytes.CutSuffix(bytes.TrimRight(data, " "), []byte(`"2.0"`)); cut {
		if at := bytes.LastIndex(rest, []byte(`,"jsonrpc"`)); at >= 0 {
			data = data[:at]
		}
	}
	at := bytes.LastIndex(data, []byte(`"id"`))
	if at < 0 {
		return ID{}
	}
	value := bytes.TrimSpace(data[at+len(`"id"`):])
	value, ok = bytes.CutPrefix(value, []byte(":"))
	if !ok {
		return ID{}
	}
	var id ID
	if v := jsontext.Value(bytes.TrimSpace(value)); !v.IsValid() || id.UnmarshalJSON(v) != nil {
		return ID{}
	}
	return id
}

func head(data []byte) []byte {
	return bytes.Clone(data[:min(len(data), 200)])
}
