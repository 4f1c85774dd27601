package engine

import (
	"compress/gzip"
	"io"
	"strings"
)

// Unpack returns a text that a package embeds as gzip, so that mcpctl is smaller: the texts
// of the checks are a sixth of their size. The text lies beside its .gz, which go generate
// writes.
func Unpack(packed string) (string, error) {
	r, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}
