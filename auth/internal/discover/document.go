package discover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// errAbsent marks answers that mean: there is no document here.
var errAbsent = errors.New("no document")

// document is a JSON object that was fetched. Its methods read members by their exact
// names, because encoding/json would accept "ISSUER" for "issuer". A member that is
// null counts as absent. err is the first wrong type.
type document struct {
	members map[string]json.RawMessage
	err     error
}

// parse reads a JSON object. A duplicate member is an error, because two readers could
// use different ones. A body that is not JSON at all, such as the start page of a
// website, is errAbsent.
func parse(body []byte) (*document, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		if json.Valid(body) {
			return nil, errors.New("it is not a JSON object")
		}
		return nil, fmt.Errorf("it is not JSON: %w", errAbsent)
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil, errors.New("it is not valid JSON")
	}
	d := &document{members: make(map[string]json.RawMessage)}
	dec := json.NewDecoder(bytes.NewReader(body))
	_, err := dec.Token() // {
	for err == nil && dec.More() {
		var name json.Token
		if name, err = dec.Token(); err != nil {
			break
		}
		key, _ := name.(string)
		if _, twice := d.members[key]; twice {
			return nil, errors.New("it has a duplicate member")
		}
		var value json.RawMessage
		err = dec.Decode(&value)
		d.members[key] = value
	}
	if err != nil {
		return nil, errors.New("it is not valid JSON")
	}
	return d, nil
}

// read decodes a member and reports whether it is there.
func (d *document) read(name string, into any, kind string) bool {
	raw, ok := d.members[name]
	if !ok || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		if d.err == nil {
			d.err = fmt.Errorf("its member %s is not %s", name, kind)
		}
		return false
	}
	return true
}

func (d *document) text(name string) string {
	var s string
	d.read(name, &s, "a string")
	return s
}

// need reports a member that is missing.
func need(name string, there bool) error {
	if there {
		return nil
	}
	return errors.New("it has no " + name)
}

func (d *document) flag(name string) bool {
	var b bool
	d.read(name, &b, "a boolean")
	return b
}

// list returns a list of strings without empty ones and duplicates, and whether the
// member exists.
func (d *document) list(name string) (list []string, ok bool) {
	var all []*string // pointers, to reject null
	ok = d.read(name, &all, "a list of strings")
	seen := make(map[string]bool)
	for _, s := range all {
		switch {
		case s == nil:
			if d.err == nil {
				d.err = fmt.Errorf("its member %s is not a list of strings", name)
			}
		case *s != "" && !seen[*s]:
			seen[*s] = true
			list = append(list, *s)
		}
	}
	return list, ok
}

// scopes returns a list of scopes without strings that are not a scope (RFC 6749
// §3.3): one with a blank would request two scopes.
func (d *document) scopes(name string) []string {
	all, _ := d.list(name)
	var scopes []string
	for _, s := range all {
		if isScope(s) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}
