package web

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// decoded is the body of an answer without its content encoding. Only gzip is
// asked for, and the transport has removed it; some servers send another one.
func decoded(res *http.Response) (io.Reader, error) {
	switch name := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); name {
	case "", "identity":
		return res.Body, nil
	case "gzip", "x-gzip":
		plain, err := gzip.NewReader(res.Body)
		return &encoded{plain}, claimed(err)
	case "deflate":
		return inflated(res.Body)
	default:
		return nil, fmt.Errorf("%w: %.50q", ErrEncoding, name)
	}
}

// inflated reads deflate in both forms that servers send: with the header of zlib,
// as in the standard, and without.
func inflated(body io.Reader) (io.Reader, error) {
	packed := bufio.NewReader(body)
	head, err := packed.Peek(2)
	switch {
	case errors.Is(err, io.EOF) && len(head) > 0:
		return nil, fmt.Errorf("%w: %w", ErrEncoded, err)
	case errors.Is(err, io.EOF):
		return packed, nil
	case err != nil:
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		plain, err := zlib.NewReader(packed)
		return &encoded{plain}, claimed(err)
	}
	return &encoded{flate.NewReader(packed)}, nil
}

// encoded reads a body that may turn out not to be in its encoding.
type encoded struct{ io.Reader }

// Read implements [io.Reader].
func (e *encoded) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	return n, claimed(err)
}

// claimed makes an error of decoding one of the document; those of the network stay.
func claimed(err error) error {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrChecksum) ||
		errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", ErrEncoded, err)
	}
	return err
}
