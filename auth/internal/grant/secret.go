package grant

import (
	"fmt"
	"log/slog"
)

// Secret is a text that is never printed, for example a token. In unexported fields fmt calls no
// methods and follows pointers to structs, but of a pointer to a string it prints only the address.
// So the text is behind such a pointer. The zero value has no text. To compare two secrets, compare
// their Text.
type Secret struct {
	_    [0]func() // == would compare the pointers
	text *string
}

// Hide returns a text as a secret.
func Hide(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Text returns the text, "" for none.
func (s Secret) Text() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Empty reports whether there is no text.
func (s Secret) Empty() bool { return s.text == nil }

// Set replaces the text. Copies of the secret keep theirs.
func (s *Secret) Set(text string) { *s = Hide(text) }

// String shows only whether there is a text.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return hidden
}

// GoString is String, so that %#v shows no secret either.
func (s Secret) GoString() string { return s.String() }

// Format writes String for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue implements [slog.LogValuer] with String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText writes String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
