// Package marker writes and finds the marker that tells, in the text of an
// agent's tool result, that an artifact was saved (tools.md §6.1).
package marker

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

const (
	prefix = "ARTIFACT_CREATED:"
	tail   = "|File generated successfully."
)

// Created is what the marker tells.
type Created struct {
	ID           string `json:"id"`
	ArtifactType string `json:"artifact_type"`
	Title        string `json:"title"`
}

// Text returns the whole result of save_artifact. Scanners in use cut the JSON
// at the first "|", so one in the title is escaped (C-44).
func Text(c Created) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return "", err
	}
	// A "|" is in a string or nowhere, and never the second half of an escape.
	body := strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "|", `\u007c`)
	return prefix + body + tail, nil
}

// ErrMalformed is the error for a marker that cannot be read.
var ErrMalformed = errors.New("malformed ARTIFACT_CREATED marker")

// Find returns what the first marker in text tells; found is false without an
// error when there is none. The JSON is decoded as one value that a "|" must
// follow, so that a "|" inside it does no harm.
func Find(text string) (c Created, found bool, err error) {
	_, rest, ok := strings.Cut(text, prefix)
	if !ok {
		return c, false, nil
	}
	r := strings.NewReader(rest)
	dec := json.NewDecoder(r)
	if err := dec.Decode(&c); err != nil {
		return Created{}, false, ErrMalformed
	}
	if after := rest[dec.InputOffset():]; !strings.HasPrefix(after, "|") || c.ID == "" {
		return Created{}, false, ErrMalformed
	}
	return c, true, nil
}

// maxMarkers bounds the work of [Strip]; what follows more of them is cut off.
const maxMarkers = 100

// Strip returns text as its reader sees it, without markers and what they tell.
// A marker that cannot be read is removed up to the next "|", or to the end of
// its line.
func Strip(text string) string {
	for range maxMarkers {
		before, rest, ok := strings.Cut(text, prefix)
		if !ok {
			break
		}
		text = before + rest[length(rest):]
	}
	text, _, _ = strings.Cut(text, prefix)
	return strings.TrimSpace(text)
}

// length is that of a marker's rest, after the prefix.
func length(rest string) int {
	dec := json.NewDecoder(strings.NewReader(rest))
	var body json.RawMessage
	if dec.Decode(&body) == nil && strings.HasPrefix(rest[dec.InputOffset():], "|") {
		return int(dec.InputOffset()) + 1
	}
	line, _, _ := strings.Cut(rest, "\n")
	if end := strings.IndexByte(line, '|'); end >= 0 {
		return end + 1
	}
	return len(line)
}
