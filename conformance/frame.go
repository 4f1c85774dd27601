package conformance

import (
	"net/http"
	"time"
)

// Direction is who sent a frame.
type Direction string

// The directions.
const (
	ToServer   Direction = "c2s"
	FromServer Direction = "s2c"
)

// Frame is one message as it was on the wire.
type Frame struct {
	// At is the time since the conversation began.
	At  time.Duration
	Dir Direction
	// Data is the bytes, cut to 4 KiB; Size is how many there were.
	Data []byte
	Size int
	// HTTP is what HTTP said around the message, where it did.
	HTTP *HTTPInfo
	// Note describes what is not a message: a line that is not JSON, the end
	// of the stream.
	Note string
}

// HTTPInfo is what HTTP says around a message.
type HTTPInfo struct {
	// Method is set on frames to the server, Status on frames from it.
	Method      string
	Status      int
	ContentType string
	// Header is the headers, without secrets.
	Header http.Header
}

// TransportKind is how a subject is reached.
type TransportKind string

// The transports the suite drives.
const (
	TransportStdio TransportKind = "stdio"
	TransportHTTP  TransportKind = "http"
	// TransportSSE is the HTTP+SSE transport of revision 2024-11-05.
	TransportSSE TransportKind = "sse"
)
