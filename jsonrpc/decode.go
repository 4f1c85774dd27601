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

// DefaultDepth is the default limit of the nesting of a message.
const DefaultDepth = 512

// Decode reads a message from data, which must contain exactly one JSON object.
// Raw members of the message share the memory of data. The error is always a
// [*DecodeError].
func Decode(data []byte) (Message, error) { return DecodeWithin(data, DefaultDepth) }

// DecodeWithin is [Decode] with another limit of the nesting.
func DecodeWithin(data []byte, depth int) (Message, error) {
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	var e envelope
	if err := s.scan(data, depth, &e); err != nil {
		return nil, err
	}
	return e.message(), nil
}

// DecodeAnswer is [DecodeWithin] for a message that is probably the response to
// the request with this id. It returns a response by value, which saves an
// allocation, and other is nil. Any other message is returned in other.
//
// # Experimental
//
// The client's transports use it. Its form may change.
func DecodeAnswer(data []byte, depth int, id ID) (resp Response, other Message, err error) {
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	var e envelope
	if err := s.scan(data, depth, &e); err != nil {
		return Response{}, nil, err
	}
	if e.kind != kindResponse {
		return Response{}, e.message(), nil
	}
	if string(e.id) != id.token {
		id = ID{token: string(e.id)}
	}
	return Response{ID: id, Result: e.result, Error: e.err}, nil, nil
}

// envelope is one scanned message. Everything in it may share memory with the
// bytes that were scanned.
type envelope struct {
	id     []byte // canonical token; nil if absent or null
	hasID  bool   // the message has a member id, null or not
	marked bool   // the message has a member jsonrpc, of any value
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

// scan fills e from data. The error is a *DecodeError, with the id if it could be
// read.
func (s *scanner) scan(data []byte, depth int, e *envelope) error {
	if depth >= maxFlatDepth && plainMessage(data, e) {
		return nil
	}
	*e = envelope{}
	deep := tooDeep(data, depth)
	err := s.members(data, e)
	s.forget(data)
	if deep {
		// This error wins, but the members were read all the same: one is the id.
		err = depthError(depth)
	}
	if err == nil {
		return nil
	}
	de := &DecodeError{Reason: err.Error(), Head: head(data), TooLarge: deep, Nested: deep, request: e.asks(), marked: e.marked}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		de.Reason = jsontext.ErrDuplicateName.Error()
	case errors.As(err, &syntax):
		de.Syntax = true
		de.Reason = syntax.Err.Error()
	case errors.Is(err, io.EOF):
		de.Syntax = true
		de.Reason = "it has no JSON"
	case errors.Is(err, errTrailing):
		de.Syntax = true
	}
	if e.id != nil {
		de.ID = ID{token: string(e.id)}
	} else if !e.hasID {
		de.ID = tailID(data)
	}
	return de
}

// forget drops the decoder's reference to data. The decoder itself is reset only
// after a large message, because a reset takes a few nanoseconds.
func (s *scanner) forget(data []byte) {
	s.buf = bytes.Buffer{}
	if len(data) > lineBuffer {
		s.dec.Reset(&s.buf)
	}
}

var (
	errNotObject   = errors.New("a message is a JSON object")
	errTrailing    = errors.New("more bytes after the message")
	errVersion     = errors.New(`"jsonrpc" must be "2.0"`)
	errMethodType  = errors.New("method must be a string")
	errParamsType  = errors.New("params must be an object")
	errBothMembers = errors.New("a response has exactly one of result and error")
	errMixed       = errors.New("a message with a method has neither result nor error")
	errNothing     = errors.New("a message has a method, a result or an error")
	errRequestID   = errors.New("a request id must not be null")
	errResultID    = errors.New("a result needs the id of its request")
	errErrorType   = errors.New("error must be an object with an integer code and a string message")
)

// depthError reports a message that nests deeper than this limit.
type depthError int

func (e depthError) Error() string { return fmt.Sprintf("nested deeper than %d levels", int(e)) }

func (s *scanner) members(data []byte, e *envelope) error {
	s.buf = *bytes.NewBuffer(data)
	// Servers cut strings in the middle of an emoji. So invalid text is accepted
	// here and checked for each member below.
	s.dec.Reset(&s.buf, jsontext.AllowInvalidUTF8(true))
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
	var fault error // of the first wrong member; reading continues to find the id
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
			e.marked = true
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

// tooDeep reports whether data nests deeper than limit. The decoder's own limit,
// 10,000, cannot be changed. Most messages have fewer brackets than the limit,
// which two vectorised counts find out; only the others are walked.
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

// memberOf returns the member that a raw name means, or "" for an unknown one.
func memberOf(raw []byte) string {
	raw = plainName(raw)
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

// plainName returns a raw name without unnecessary escapes, so that an escaped
// spelling of a known name is recognized.
func plainName(raw []byte) []byte {
	if isPlain(raw[1 : len(raw)-1]) {
		return raw
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return nil // not Unicode, so not a known name
	}
	return strconv.AppendQuote(nil, string(text))
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
		if string(value) == "null" {
			return nil // some servers send null for "no params"
		}
		if value[0] != '{' {
			return errParamsType
		}
		e.params = mend(value)
	case "result":
		e.result = mend(value)
	case "error":
		if string(value) == "null" {
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

// asks reports whether the message, as far as it was read, is a request or a
// notification. Then its id is the peer's own and belongs to no call of this side.
func (e *envelope) asks() bool {
	return e.kind == kindNotification && e.result == nil && e.err == nil
}

// classify sets the kind of the message from its members.
func (e *envelope) classify() error {
	if e.err != nil && string(e.result) == "null" {
		e.result = nil // some servers write "result": null beside an error
	}
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
		return nil //nolint:nilerr // e.err is the peer's answer, not a failure to read it
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
		key := string(plainName(name)) // name is valid until the next read only
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

// mend replaces invalid Unicode in a raw value by U+FFFD, so that every later
// reader sees the same text. It returns valid values unchanged.
func mend(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = mendBytes(raw)
	}
	return mendSurrogates(raw)
}

// mendBytes replaces every invalid byte by one U+FFFD, as decoders do.
// bytes.ToValidUTF8 writes one for a run of them, which could make two member names
// equal that the scan found different.
func mendBytes(raw []byte) []byte {
	out := make([]byte, 0, len(raw)+len(raw)/8)
	for len(raw) > 0 {
		r, size := utf8.DecodeRune(raw)
		if r == utf8.RuneError && size == 1 {
			out = utf8.AppendRune(out, utf8.RuneError)
		} else {
			out = append(out, raw[:size]...)
		}
		raw = raw[size:]
	}
	return out
}

// mendSurrogates overwrites unpaired \uD800..\uDFFF escapes with \uFFFD, in a copy
// if there are any. raw is valid JSON apart from them.
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
			i += 2 // the backslash and the first character that it escapes
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

// tailID finds the id of a message that could not be decoded, if the id is its
// last member, as many servers write it. The id is only used to fail the call with
// that id early. A hostile server that forges it loses its own answer and nothing
// else.
func tailID(data []byte) ID {
	if len(data) > 512 {
		data = data[len(data)-512:]
	}
	data = bytes.TrimRight(data, jsonSpace)
	data, ok := bytes.CutSuffix(data, []byte("}"))
	if !ok {
		return ID{}
	}
	// The version may follow the id.
	if before, version, ok := cutLastMember(data, `"jsonrpc"`); ok && string(version) == `"2.0"` {
		if before, ok = bytes.CutSuffix(bytes.TrimRight(before, jsonSpace), []byte(",")); ok {
			data = before
		}
	}
	_, value, ok := cutLastMember(data, `"id"`)
	if !ok {
		return ID{}
	}
	var id ID
	if id.UnmarshalJSON(value) != nil {
		return ID{}
	}
	return id
}

// cutLastMember cuts data at the last occurrence of a quoted name and a colon.
func cutLastMember(data []byte, name string) (before, value []byte, ok bool) {
	at := bytes.LastIndex(data, []byte(name))
	if at < 0 {
		return nil, nil, false
	}
	value, ok = bytes.CutPrefix(bytes.TrimLeft(data[at+len(name):], jsonSpace), []byte(":"))
	return data[:at], bytes.Trim(value, jsonSpace), ok
}

func head(data []byte) []byte {
	return bytes.Clone(data[:min(len(data), 200)])
}
