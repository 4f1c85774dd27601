//go:build !unix

package jsonrpc

import "io"

// tryWriter is not available on this system: the writer's goroutine writes every
// frame.
type tryWriter struct{}

func newTryWriter(io.Writer) *tryWriter { return nil }

func (*tryWriter) write([]byte) (int, error) { return 0, nil }

func (*tryWriter) writeAll(*writer) error { return nil }
