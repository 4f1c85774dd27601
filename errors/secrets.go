package mcperrors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Secrets hides known secret values, such as the credentials that a client
// sends. [Redact] finds text that looks like a secret; Secrets finds the values
// themselves, wherever a server repeats them. The zero value hides nothing. A
// Secrets is safe for concurrent use.
type Secrets struct{ forms []string }

// NewSecrets returns a Secrets that hides these values, also in the forms that
// JSON and URLs give them. Values shorter than four bytes are ignored.
func NewSecrets(values ...string) Secrets {
	var s Secrets
	for _, v := range values {
		if len(v) < leastKnown {
			continue
		}
		s.forms = append(s.forms, v, url.QueryEscape(v), url.PathEscape(v))
		if text, err := json.Marshal(v); err == nil { // with < and & escaped
			s.forms = append(s.forms, strings.Trim(string(text), `"`))
		}
		plain := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v)
		s.forms = append(s.forms, plain, strings.ReplaceAll(plain, "/", `\/`))
	}
	// The longest first, because one secret may contain another.
	slices.SortFunc(s.forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	s.forms = slices.Compact(s.forms)
	return s
}

// leastKnown is the length of the shortest value that is hidden, in bytes.
const leastKnown = 4

// Hide returns text without the secrets. If text was shortened, Hide also
// removes a secret that is cut at the end.
func (s Secrets) Hide(text string) string {
	for _, form := range s.forms {
		text = strings.ReplaceAll(text, form, mask)
	}
	cut, shortened := strings.CutSuffix(text, "…")
	if !shortened && len(text) < leastCut {
		return text
	}
	for _, form := range s.forms {
		for n := len(form) - 1; n >= leastKnown; n-- {
			if start, found := strings.CutSuffix(cut, form[:n]); found {
				return start + mask
			}
		}
	}
	return text
}

// leastCut is the length in bytes of the shortest text that may have been cut without a
// mark.
const leastCut = 200

// hideJSON is Hide for each string and number of a JSON value. The result is a JSON value. Its
// running time is linear, because the evidence of an error may be megabytes.
func (s Secrets) hideJSON(raw json.RawMessage) json.RawMessage {
	if len(s.forms) == 0 {
		return raw
	}
	var out []byte // what is written before kept, once something is hidden
	kept := 0
	for at := 0; at < len(raw); {
		n := scalarLen(raw[at:])
		if n == 0 {
			at++
			continue
		}
		if literal, hidden := s.hideScalar(raw[at : at+n]); hidden {
			out = append(append(out, raw[kept:at]...), literal...)
			kept = at + n
		}
		at += n
	}
	if kept == 0 {
		return raw
	}
	return append(out, raw[kept:]...)
}

// hideScalar is Hide for a JSON string or number. It reports whether it hid something.
func (s Secrets) hideScalar(scalar []byte) (literal []byte, hidden bool) {
	text := string(scalar)
	if scalar[0] == '"' && json.Unmarshal(scalar, &text) != nil {
		text = string(scalar)
	}
	without := s.Hide(text)
	if without == text {
		return nil, false
	}
	literal, _ = json.Marshal(without) // never fails for a string
	return literal, true
}

// scalarLen returns the length of the JSON string or number at the start of raw. It returns 0 if
// there is none. A string that does not end is all of raw.
func scalarLen(raw []byte) int {
	switch c := raw[0]; {
	case c == '"':
		for i := 1; i < len(raw); i++ {
			switch raw[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(raw)
	case c == '-' || c >= '0' && c <= '9':
		return len(raw) - len(bytes.TrimLeft(raw, "0123456789.eE+-"))
	default:
		return 0
	}
}

// HideError returns err without the secrets. It changes the texts and the
// evidence of an [*Error] in a copy, and wraps any other error. The result
// matches the same targets as err. HideError returns err itself if it contains
// no secret.
func (s Secrets) HideError(err error) error {
	if err == nil || len(s.forms) == 0 {
		return err
	}
	if e, ok := err.(*Error); ok { //nolint:errorlint // what wraps one is wrapped below
		return s.hideOurs(e)
	}
	text := err.Error()
	if hidden := s.Hide(text); hidden != text {
		return &hiddenError{hidden, err}
	}
	return err
}

func (s Secrets) hideOurs(e *Error) *Error {
	out := *e
	out.Message, out.UserMessage, out.SuggestedAction = s.Hide(e.Message), s.Hide(e.UserMessage), s.Hide(e.SuggestedAction)
	changed := out.Message != e.Message || out.UserMessage != e.UserMessage || out.SuggestedAction != e.SuggestedAction
	if e.RPC != nil {
		rpc := *e.RPC
		rpc.Message, rpc.Data = s.Hide(rpc.Message), s.hideJSON(rpc.Data)
		if rpc.Message != e.RPC.Message || string(rpc.Data) != string(e.RPC.Data) {
			out.RPC, changed = &rpc, true
		}
	}
	if e.HTTP != nil {
		h := *e.HTTP
		h.URL, h.ContentType, h.Body = s.Hide(h.URL), s.Hide(h.ContentType), s.Hide(h.Body)
		h.Header = h.Header.Clone()
		for _, values := range h.Header {
			for i, v := range values {
				values[i] = s.Hide(v)
				changed = changed || values[i] != v
			}
		}
		changed = changed || h.URL != e.HTTP.URL || h.ContentType != e.HTTP.ContentType || h.Body != e.HTTP.Body
		out.HTTP = &h
	}
	if e.Process != nil {
		p := *e.Process
		p.Noise, p.Command, p.Stderr = s.Hide(p.Noise), s.hideAll(p.Command), s.hideAll(p.Stderr)
		changed = changed || p.Noise != e.Process.Noise || !slices.Equal(p.Command, e.Process.Command) || !slices.Equal(p.Stderr, e.Process.Stderr)
		out.Process = &p
	}
	if e.Cause != nil {
		if text := e.Cause.Error(); s.Hide(text) != text {
			out.Cause, changed = &hiddenError{s.Hide(text), e.Cause}, true
		}
	}
	if !changed {
		return e
	}
	return &out
}

func (s Secrets) hideAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = s.Hide(text)
	}
	return out
}

// hiddenError is an error with another text. It matches what err matches, and cannot be
// unwrapped.
type hiddenError struct {
	text string
	err  error
}

func (h *hiddenError) Error() string { return h.text }

// Is and As match what err matches, so that no Unwrap is needed.
func (h *hiddenError) Is(target error) bool { return errors.Is(h.err, target) }

// As implements the interface of [errors.As], see Is.
func (h *hiddenError) As(target any) bool { return errors.As(h.err, target) }
