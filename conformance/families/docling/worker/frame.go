package worker

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// greeting is the first thing a worker says. A program that does not know the
// argument says something else, and is not fed documents.
const greeting = "mainstay convert-worker 1\n"

// maxHeader bounds the JSON half of a frame.
const maxHeader = 1 << 20

// A header goes before the document of a request.
type header struct {
	Request
	// Memory is what the worker may use, in bytes.
	Memory int64 `json:"memory"`
	// Timeout in milliseconds is when a worker whose server forgot it gives up.
	Timeout int64 `json:"timeout_ms"`
}

// An answer goes before the result; exactly one of the two says something.
type answer struct {
	Failure *Failure `json:"failure,omitempty"`
}

var errFrame = errors.New("not a frame of the converter protocol")

// writeFrame writes head as JSON and body, each behind its length.
func writeFrame(w io.Writer, head any, body []byte) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if len(text) > maxHeader {
		return fmt.Errorf("%w: a header of %d bytes", errFrame, len(text))
	}
	lengths := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	for _, part := range [][]byte{lengths, text, binary.BigEndian.AppendUint64(nil, uint64(len(body))), body} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// readFrame is the other end of writeFrame. A frame that claims a body of more
// than most bytes is refused before memory is taken for it. io.EOF means that
// there was no frame at all.
func readFrame(r io.Reader, head any, most int64) ([]byte, error) {
	var short [4]byte
	if _, err := io.ReadFull(r, short[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(short[:])
	if size > maxHeader {
		return nil, fmt.Errorf("%w: a header of %d bytes", errFrame, size)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, cut(err)
	}
	if err := json.Unmarshal(text, head); err != nil {
		return nil, fmt.Errorf("%w: %v", errFrame, err)
	}
	var long [8]byte
	if _, err := io.ReadFull(r, long[:]); err != nil {
		return nil, cut(err)
	}
	length := binary.BigEndian.Uint64(long[:])
	if length > uint64(most) {
		return nil, fmt.Errorf("%w: a body of %d bytes", errFrame, length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, cut(err)
	}
	return body, nil
}

// cut makes of an end within a frame what it is.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
