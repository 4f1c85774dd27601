package conformance

import (
	"net/http"
	"time"
)

// Direction is the direction of a frame.
type Direction string

// The directions.
const (
	ToServer   Direction = "c2s"
	FromServer Direction = "s2c"
)

// Frame is one message on the wire.
type Frame struct {
	// At is the time since the conversation began.
	At  time.Duration
	Dir Direction
	// Data has the first 4 KiB of the message; Size is its whole size.
	Data []byte
	Size int
	// HTTP describes the HTTP request or response of the message, if any.
	HTTP *HTTPInfo
	// Note describes events that are no messages, such as the end of the stream.
	Note string
}

// HTTPInfo describes the HTTP request or response of a message.
type HTTPInfo struct {
	// Method is set on frames to the server, Status on frames from it.
	Method      string
	Status      int
	ContentType string
	// Header has no secrets.
	Header http.Header
}

// TransportKind is a transport.
type TransportKind string

// The transports that the suite supports.
const (
	TransportStdio TransportKind = "stdio"
	TransportHTTP  TransportKind = "http"
	// TransportSSE is the HTTP+SSE transport of revision 2024-11-05.
	TransportSSE TransportKind = "sse"
)
