package sse

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// AppendEvent appends e in the stream format: one data line for every line of Data, and a blank
// line that dispatches it. An event with an id and no data is a priming event, with one empty
// data line. The format cannot carry line breaks and NUL in ID and Name, or fractions of a
// millisecond; they are omitted.
func AppendEvent(dst []byte, e Event) []byte {
	if e.Name != "" {
		dst = appendField(dst, "event: ", e.Name)
	}
	if e.HasID {
		dst = appendField(dst, "id: ", e.ID)
	}
	if e.HasRetry {
		dst = appendField(dst, "retry: ", strconv.FormatInt(max(0, int64(e.Retry/time.Millisecond)), 10))
	}
	if len(e.Data) > 0 || e.HasID {
		dst = appendData(dst, e.Data)
	}
	return append(dst, '\n')
}

func appendField(dst []byte, field, value string) []byte {
	dst = append(dst, field...)
	if strings.ContainsAny(value, "\r\n\x00") {
		value = strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(value)
	}
	dst = append(dst, value...)
	return append(dst, '\n')
}

func appendData(dst, data []byte) []byte {
	for {
		at := lineEnd(data)
		line := data
		if at >= 0 {
			line = data[:at]
		}
		dst = append(dst, "data:"...)
		if len(line) > 0 {
			dst = append(dst, ' ')
			dst = append(dst, line...)
		}
		dst = append(dst, '\n')
		if at < 0 {
			return dst
		}
		if bytes.HasPrefix(data[at:], []byte("\r\n")) {
			at++
		}
		data = data[at+1:]
	}
}
