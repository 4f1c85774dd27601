package peer

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

const (
	// maxMessage bounds a message from a client.
	maxMessage = 32 << 20
	// keptFrames and keptBytes bound the evidence of one check.
	keptFrames = 24
	keptBytes  = 4 << 10
	// maxEntries bounds a tape: a client in a loop must not fill the memory.
	maxEntries = 20_000
)

// Tape records the traffic of one scenario, in order. Safe for concurrent use.
type Tape struct {
	start time.Time

	mu     sync.Mutex
	seq    int
	sent   []*Message
	frames []*conformance.Frame
	events []ProcessEvent
}

// ProcessEvent is what happened to a process of the server.
type ProcessEvent struct {
	Seq int
	// What is "start", "eof", "gone", or the name of a signal.
	What string
}

// NewTape returns an empty tape.
func NewTape() *Tape { return &Tape{start: time.Now()} }

// next is the position of what happens now. Must hold mu.
func (t *Tape) next() (int, time.Duration) {
	t.seq++
	return t.seq, time.Since(t.start)
}

// Received records a message from the client.
func (t *Tape) Received(m *Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.Seq, m.At = t.next()
	if len(t.sent) < maxEntries {
		t.sent = append(t.sent, m)
	}
	f := m.Evidence()
	if m.Err != nil && len(m.Data) > 0 {
		f.Note = m.Err.Error()
	}
	t.keep(&f)
}

// Answering begins a frame to the client and returns a function that adds to it. to is the
// message that it answers, nil for none; status is 0 over stdio.
func (t *Tape) Answering(to *Message, status int, contentType string) func(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seq, now := t.next()
	f := &conformance.Frame{At: now, Dir: conformance.FromServer}
	if to != nil {
		to.Answered = seq
	}
	if status != 0 {
		f.HTTP = &conformance.HTTPInfo{Status: status, ContentType: contentType}
	}
	t.keep(f)
	return func(data []byte) {
		t.mu.Lock()
		defer t.mu.Unlock()
		f.Size += len(data)
		f.Data = append(f.Data, data[:min(len(data), keptBytes-len(f.Data))]...)
	}
}

// answeredLine records a line to the client.
func (t *Tape) answeredLine(process int, line []byte) {
	var answer Message
	answer.Parse(line)
	t.Answering(t.waiting(process, &answer), 0, "")(line)
}

// waiting is the request of that process that m answers, nil when there is none.
func (t *Tape) waiting(process int, m *Message) *Message {
	if !m.IsResponse() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sent := range slices.Backward(t.sent) {
		if sent.Process == process && sent.Answered == 0 && sent.IsRequest() && sent.ID() == m.ID() {
			return sent
		}
	}
	return nil
}

// setReply records the header of an answer.
func (t *Tape) setReply(m *Message, header http.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.Reply = header
}

// setAgreed records the revision in the answer to initialize.
func (t *Tape) setAgreed(m *Message, body []byte) {
	var answer Message
	answer.Parse(body)
	if i := bytes.Index(body, []byte("data: {")); answer.Members == nil && i >= 0 {
		line, _, _ := bytes.Cut(body[i+len("data: "):], []byte("\n"))
		answer.Parse(line)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m.Agreed = rawjson.Text(At(answer.Members["result"], "protocolVersion"))
}

// keep must hold mu.
func (t *Tape) keep(f *conformance.Frame) {
	if len(t.frames) < maxEntries {
		t.frames = append(t.frames, f)
	}
}

// left records that the client went away from a request.
func (t *Tape) left(m *Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.Left, _ = t.next()
}

// Elsewhere records a request to another server than the peer.
func (t *Tape) Elsewhere(verb, where string, header http.Header, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := &Message{Verb: verb, Header: header, Data: data}
	_, m.At = t.next()
	f := m.Evidence()
	f.Note = where
	t.keep(&f)
}

// processEvent records what happened to a process of the server.
func (t *Tape) processEvent(process int, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seq, now := t.next()
	t.events = append(t.events, ProcessEvent{seq, what})
	t.keep(&conformance.Frame{At: now, Dir: conformance.ToServer, Note: "server process " + strconv.Itoa(process) + ": " + what})
}

// Now is the current position.
func (t *Tape) Now() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seq
}

// Messages returns copies of the messages so far.
func (t *Tape) Messages() []*Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]*Message, len(t.sent))
	for i, m := range t.sent {
		c := *m
		out[i] = &c
	}
	return out
}

// ProcessEvents returns what happened to the processes of the server.
func (t *Tape) ProcessEvents() []ProcessEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.events)
}

// Evidence returns the frames: all when they are few, else the first and the last.
func (t *Tape) Evidence() []conformance.Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []conformance.Frame
	for i, f := range t.frames {
		if len(t.frames) > keptFrames && i >= keptFrames/2 && i < len(t.frames)-keptFrames/2 {
			if i == keptFrames/2 {
				out = append(out, conformance.Frame{At: f.At, Dir: f.Dir, Note: strconv.Itoa(len(t.frames)-keptFrames) + " frames left out"})
			}
			continue
		}
		c := *f
		c.Data = bytes.Clone(f.Data)
		out = append(out, c)
	}
	return out
}

// redact returns the header without secrets.
func redact(h http.Header) http.Header {
	out := h.Clone()
	for _, name := range []string{"Authorization", "Cookie"} {
		if out.Get(name) != "" {
			out.Set(name, "[redacted]")
		}
	}
	return out
}
