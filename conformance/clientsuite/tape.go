package clientsuite

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
)

const (
	// maxMessage bounds a message from a client.
	maxMessage = 32 << 20
	// keptFrames and keptBytes bound the evidence of one check.
	keptFrames = 24
	keptBytes  = 4 << 10
	// maxEntries bounds a tape: a client that storms must not fill the memory.
	maxEntries = 20_000
)

// message is one message from the client as it was on the wire: a line, or an
// HTTP request, which may have no message in it.
type message struct {
	seq int
	at  time.Duration
	// life counts the processes of the server that the client started, from 1;
	// 0 over HTTP.
	life int
	data []byte
	// members are those of the one JSON object that data is, else nil and err
	// says why.
	members map[string]json.RawMessage
	err     error
	// verb, path and header are of the HTTP request.
	verb, path string
	header     http.Header
	// left is when the client went away before its request was answered whole,
	// answered when the first byte of the answer went out, as places on the tape;
	// 0 when it did not happen.
	left, answered int
	// reply is the header of the answer, agreed the version in it when the message
	// was initialize.
	reply  http.Header
	agreed string
}

var errNotObject = errors.New("not a JSON object")

// parse reads data into the message.
func (m *message) parse(data []byte) {
	m.data = data
	if !utf8.Valid(data) {
		m.err = errors.New("not UTF-8")
		return
	}
	if err := json.Unmarshal(data, &m.members); err != nil || m.members == nil {
		m.members, m.err = nil, err
		if json.Valid(data) {
			m.err = errNotObject
		}
	}
}

// id is the id as JSON text, "" when there is none.
func (m *message) id() string { return string(m.members["id"]) }

// method is empty in a response, and in what is no message.
func (m *message) method() string { return text(m.members["method"]) }

func (m *message) isRequest() bool { return m.method() != "" && m.members["id"] != nil }
func (m *message) isResponse() bool {
	return m.members != nil && m.members["method"] == nil && (m.members["result"] != nil || m.members["error"] != nil || m.members["id"] != nil)
}

// param is the member of params at a path.
func (m *message) param(path ...string) json.RawMessage {
	return at(m.members["params"], path...)
}

// at is the member of raw at a path, nil when there is none.
func at(raw json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		raw = members[name]
	}
	return raw
}

// text is the string that raw is, else "".
func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // no string: empty
	return s
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}

// isString reports whether raw is a JSON string.
func isString(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`))
}

// tape is what was said in one scenario, in order. Safe for concurrent use.
type tape struct {
	begin time.Time

	mu     sync.Mutex
	seq    int
	sent   []*message
	frames []*conformance.Frame
	ends   []end
}

// end is something that happened to a process of the server.
type end struct {
	seq  int
	at   time.Duration
	life int
	what string // "start", "eof", "gone", or the name of a signal
}

func newTape() *tape { return &tape{begin: time.Now()} }

// next is the place of what happens now. Must hold mu.
func (t *tape) next() (int, time.Duration) {
	t.seq++
	return t.seq, time.Since(t.begin)
}

// received writes down what came from the client.
func (t *tape) received(m *message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.seq, m.at = t.next()
	if len(t.sent) < maxEntries {
		t.sent = append(t.sent, m)
	}
	f := &conformance.Frame{At: m.at, Dir: conformance.ToServer, Size: len(m.data), Data: m.data[:min(len(m.data), keptBytes)]}
	if m.verb != "" {
		f.HTTP = &conformance.HTTPInfo{Method: m.verb, ContentType: m.header.Get("Content-Type"), Header: public(m.header)}
	}
	if m.err != nil && len(m.data) > 0 {
		f.Note = m.err.Error()
	}
	t.keep(f)
}

// answering begins a frame to the client and returns what adds to it. to is the
// message that it answers, nil for none; status is 0 over stdio.
func (t *tape) answering(to *message, status int, contentType string) func(data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seq, now := t.next()
	f := &conformance.Frame{At: now, Dir: conformance.FromServer}
	if to != nil {
		to.answered = seq
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

// answeredLine writes down a line to the client.
func (t *tape) answeredLine(life int, line []byte) {
	var answer message
	answer.parse(line)
	t.answering(t.waiting(life, &answer), 0, "")(line)
}

// waiting is the request of that process that m answers, nil when there is none.
func (t *tape) waiting(life int, m *message) *message {
	if !m.isResponse() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sent := range slices.Backward(t.sent) {
		if sent.life == life && sent.answered == 0 && sent.isRequest() && sent.id() == m.id() {
			return sent
		}
	}
	return nil
}

// replied notes the header of an answer.
func (t *tape) replied(m *message, header http.Header) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.reply = header
}

// told notes what the answer to initialize said.
func (t *tape) told(m *message, body []byte) {
	var answer message
	answer.parse(body)
	if i := bytes.Index(body, []byte("data: {")); answer.members == nil && i >= 0 {
		line, _, _ := bytes.Cut(body[i+len("data: "):], []byte("\n"))
		answer.parse(line)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m.agreed = text(at(answer.members["result"], "protocolVersion"))
}

// keep must hold mu.
func (t *tape) keep(f *conformance.Frame) {
	if len(t.frames) < maxEntries {
		t.frames = append(t.frames, f)
	}
}

// leaves writes down that the client went away from a request.
func (t *tape) leaves(m *message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.left, _ = t.next()
}

// besides writes down a request to another server than the one that is scripted.
func (t *tape) besides(verb, where string, header http.Header, data []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, now := t.next()
	t.keep(&conformance.Frame{
		At: now, Dir: conformance.ToServer, Size: len(data), Data: data[:min(len(data), keptBytes)], Note: where,
		HTTP: &conformance.HTTPInfo{Method: verb, ContentType: header.Get("Content-Type"), Header: public(header)},
	})
}

// happened writes down what became of a process of the server.
func (t *tape) happened(life int, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seq, now := t.next()
	t.ends = append(t.ends, end{seq, now, life, what})
	t.keep(&conformance.Frame{At: now, Dir: conformance.ToServer, Note: "server process " + strconv.Itoa(life) + ": " + what})
}

// now is the place on the tape.
func (t *tape) now() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seq
}

// all returns copies of the messages so far.
func (t *tape) all() []*message {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]*message, len(t.sent))
	for i, m := range t.sent {
		c := *m
		out[i] = &c
	}
	return out
}

// happenings returns what became of the processes of the server.
func (t *tape) happenings() []end {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]end(nil), t.ends...)
}

// evidence returns the frames: all when they are few, else the first and the
// last.
func (t *tape) evidence() []conformance.Frame {
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

// public is the header without what may be a secret.
func public(h http.Header) http.Header {
	out := h.Clone()
	for _, name := range []string{"Authorization", "Cookie"} {
		if out.Get(name) != "" {
			out.Set(name, "[redacted]")
		}
	}
	return out
}
