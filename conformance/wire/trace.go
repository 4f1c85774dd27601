package wire

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
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

// Trace records the traffic of one conversation. Safe for concurrent use.
type Trace struct {
	begin time.Time

	mu      sync.Mutex
	frames  []Frame
	dropped int
}

// NewTrace returns an empty trace that begins now.
func NewTrace() *Trace { return &Trace{begin: time.Now()} }

// Add records a frame; note describes what is no message.
func (t *Trace) Add(dir Direction, data []byte, info *HTTPInfo, note string) {
	f := Frame{At: time.Since(t.begin), Dir: dir, Size: len(data), HTTP: info, Note: note}
	f.Data = append([]byte(nil), data[:min(len(data), KeptBytes)]...)
	t.mu.Lock()
	defer t.mu.Unlock()
	const bound = 2000 // 200 concurrent calls fit; a flood does not
	if len(t.frames) >= bound {
		t.frames = append(t.frames[:0], t.frames[bound/2:]...)
		t.dropped += bound / 2
	}
	t.frames = append(t.frames, f)
}

func (t *Trace) received(in Inbound) {
	note := ""
	if in.Err != nil {
		note = in.Err.Error()
	}
	t.Add(FromServer, in.Data, in.HTTP, note)
}

// All returns every frame that is kept.
func (t *Trace) All() []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.frames)
}

// Silent reports whether nothing came from the subject.
func (t *Trace) Silent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.frames {
		if f.Dir == FromServer {
			return false
		}
	}
	return true
}

// Mark is a place in the trace.
func (t *Trace) Mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped + len(t.frames)
}

// Since returns the frames after a mark: all of them when they are few, else
// the first and the last.
func (t *Trace) Since(mark int) []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := t.frames[min(max(0, mark-t.dropped), len(t.frames)):]
	if len(frames) <= keptFrames {
		return append([]Frame(nil), frames...)
	}
	out := append([]Frame(nil), frames[:keptFrames/2]...)
	left := len(frames) - keptFrames
	out = append(out, Frame{At: out[len(out)-1].At, Dir: ToServer, Note: strconv.Itoa(left) + " frames left out"})
	return append(out, frames[len(frames)-keptFrames/2:]...)
}

// Said returns the first bytes that a server sent in a conversation: of an HTTP
// server its first answer, with the status line.
func (t *Trace) Said() (data []byte, status string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.frames {
		if f.Dir != FromServer {
			continue
		}
		if f.HTTP != nil {
			return bytes.Clone(f.Data), strings.TrimSpace(strconv.Itoa(f.HTTP.Status) + " " + f.HTTP.ContentType)
		}
		if len(data) > 0 {
			data = append(data, '\n')
		}
		data = append(data, f.Data...)
		if len(data) >= KeptBytes {
			return data[:KeptBytes], ""
		}
	}
	return data, ""
}
