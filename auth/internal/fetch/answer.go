package fetch

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
)

// Answer is an HTTP response with its whole body. If it is printed, logged or encoded,
// it shows neither header nor body, which may contain tokens.
type Answer struct {
	// URL is the URL of the answer, after redirects.
	URL    string
	Status int
	Header http.Header
	Body   []byte
}

// String returns the status, the URL without query, and the size.
func (a Answer) String() string {
	return strconv.Itoa(a.Status) + " " + Show(a.URL) + ", " + strconv.Itoa(len(a.Body)) + " bytes"
}

// Format prints String for every verb.
func (a Answer) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(a.String())) }

// LogValue returns String.
func (a Answer) LogValue() slog.Value { return slog.StringValue(a.String()) }

// MarshalText returns String.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }
