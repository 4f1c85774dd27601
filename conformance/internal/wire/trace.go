package wire

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// Trace records the traffic of one conversation. Safe for concurrent use.
type Trace struct {
	mu      sync.Mutex
	begin   time.Time
	frames  []conformance.Frame
	dropped int
}

// NewTrace returns an empty trace that begins now.
func NewTrace() *Trace { return &Trace{begin: time.Now()} }

// Add records a frame; note describes what is no message.
func (t *Trace) Add(dir conformance.Direction, data []byte, info *conformance.HTTPInfo, note string) {
	f := conformance.Frame{Dir: dir, Size: len(data), HTTP: info, Note: note}
	f.Data = append([]byte(nil), data[:min(len(data), KeptBytes)]...)
	t.mu.Lock()
	defer t.mu.Unlock()
	f.At = time.Since(t.begin)
	const bound = 2000 // 200 concurrent calls fit; a flood does not
	if len(t.frames) >= bound {
		t.frames = append(t.frames[:0], t.frames[bound/2:]...)
		t.dropped += bound / 2
	}
	t.frames = append(t.frames, f)
}

// Begin makes the times of the trace begin now, and returns how long it has been before.
func (t *Trace) Begin() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := time.Since(t.begin)
	t.begin = time.Now()
	for i := range t.frames {
		t.frames[i].At = 0
	}
	return before
}

func (t *Trace) received(in Inbound) {
	note := ""
	if in.Err != nil {
		note = in.Err.Error()
	}
	t.Add(conformance.FromServer, in.Data, in.HTTP, note)
}

// All returns every frame that is kept.
func (t *Trace) All() []conformance.Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.frames)
}

// Silent reports whether nothing came from the subject.
func (t *Trace) Silent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.frames {
		if f.Dir == conformance.FromServer {
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
func (t *Trace) Since(mark int) []conformance.Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	frames := t.frames[min(max(0, mark-t.dropped), len(t.frames)):]
	if len(frames) <= keptFrames {
		return append([]conformance.Frame(nil), frames...)
	}
	out := append([]conformance.Frame(nil), frames[:keptFrames/2]...)
	left := len(frames) - keptFrames
	out = append(out, conformance.Frame{At: out[len(out)-1].At, Dir: conformance.ToServer, Note: strconv.Itoa(left) + " frames left out"})
	return append(out, frames[len(frames)-keptFrames/2:]...)
}

// Said returns the first bytes that a server sent in a conversation: of an HTTP
// server its first answer, with the status line.
func (t *Trace) Said() (data []byte, status string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.frames {
		if f.Dir != conformance.FromServer {
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
