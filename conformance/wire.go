package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Everything a subject may do to the suite is bounded.
const (
	// maxFrame bounds one message from the subject (decisions 27).
	maxFrame = 16 << 20
	// keptFrames and keptBytes bound the evidence of one check.
	keptFrames = 24
	keptBytes  = 4 << 10
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

// wire is one open way to a subject. It sends any bytes and delivers whatever
// comes back.
type wire interface {
	// send puts one message on the wire. On HTTP it returns when the status
	// of the answer is there, and the answer's messages follow in the inbox.
	send(ctx context.Context, data []byte) (*httpAnswer, error)
	// inbox delivers what arrives; it is closed after the last.
	inbox() *inbox
	// close ends the conversation in the orderly way, within bounds, and
	// reports how the subject ended. It may be called again.
	close() ending
	// stderr returns what a program wrote to its standard error so far.
	stderr() string
	transport() TransportKind
}

// ending is how a subject ended after its input was closed.
type ending struct {
	// prompt is true when it ended by itself before it had to be stopped.
	prompt bool
	took   time.Duration
	// exit is the exit status of a program, -1 when it has none.
	exit int
	err  error
}

// inbound is one thing that came from the subject.
type inbound struct {
	// data is a message, or a line that is none.
	data []byte
	// members are the members of the message when data is one JSON object.
	members map[string]json.RawMessage
	// err says why data is no message, or what broke the stream.
	err  error
	http *HTTPInfo
	// to tells which HTTP answer this came in: the id of the request, or a
	// token for what has none. ended marks the end of that answer and carries
	// no message.
	to    string
	ended bool
	// event is the id of the event it came in. priming marks an event that
	// carries an id or a retry time and no message (SSE-04).
	// name is that of the event where the transport is nothing but events.
	event   string
	name    string
	priming bool
	// retry: its event says how long to wait before coming back.
	retry bool
}

var (
	errNotObject = errors.New("not a JSON object")
	errClosed    = errors.New("the server closed the connection")
	errTooLarge  = fmt.Errorf("larger than %d MiB", maxFrame>>20)
)

// received makes an inbound of bytes from the wire.
func received(data []byte, info *HTTPInfo) inbound {
	in := inbound{data: data, http: info}
	if !utf8.Valid(data) {
		in.err = errors.New("not UTF-8")
		return in
	}
	if err := json.Unmarshal(data, &in.members); err != nil {
		in.err = err
		if json.Valid(data) {
			in.err = errNotObject
		}
		in.members = nil
	} else if in.members == nil {
		in.err = errNotObject // null
	}
	return in
}

// id returns the id as JSON text in one spelling, "" when absent.
func (in inbound) id() string { return spelledID(in.members["id"]) }

// spelledID gives a string id the one spelling in which ids are compared: an
// escaped letter is that letter (RPC-06 is about value and type). A number stays
// as it is written, and so does a string that cannot be read without loss.
func spelledID(raw json.RawMessage) string {
	if !bytes.ContainsRune(raw, '\\') || !isString(raw) {
		return string(raw)
	}
	plain := text(raw)
	if strings.ContainsRune(plain, utf8.RuneError) {
		return string(raw)
	}
	var out bytes.Buffer
	write := json.NewEncoder(&out)
	write.SetEscapeHTML(false)
	if write.Encode(plain) != nil {
		return string(raw)
	}
	return separators.Replace(strings.TrimSuffix(out.String(), "\n"))
}

// separators are what the encoder escapes and a server need not.
var separators = strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029")

func (in inbound) method() string {
	var m string
	_ = json.Unmarshal(in.members["method"], &m) // no method: no string
	return m
}

func (in inbound) isResponse() bool {
	if in.members == nil {
		return false
	}
	_, method := in.members["method"]
	return !method
}

// trace records the traffic of one conversation. Safe for concurrent use.
type trace struct {
	begin time.Time

	mu      sync.Mutex
	frames  []Frame
	dropped int
}

func newTrace() *trace { return &trace{begin: time.Now()} }

func (t *trace) add(dir Direction, data []byte, info *HTTPInfo, note string) {
	f := Frame{At: time.Since(t.begin), Dir: dir, Size: len(data), HTTP: info, Note: note}
	f.Data = append([]byte(nil), data[:min(len(data), keptBytes)]...)
	t.mu.Lock()
	defer t.mu.Unlock()
	const bound = 2000 // 200 concurrent calls fit; a flood does not
	if len(t.frames) >= bound {
		t.frames = append(t.frames[:0], t.frames[bound/2:]...)
		t.dropped += bound / 2
	}
	t.frames = append(t.frames, f)
}

func (t *trace) received(in inbound) {
	note := ""
	if in.err != nil {
		note = in.err.Error()
	}
	t.add(FromServer, in.data, in.http, note)
}

// silent reports whether nothing came from the subject.
func (t *trace) silent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.frames {
		if f.Dir == FromServer {
			return false
		}
	}
	return true
}

// mark is a place in the trace.
func (t *trace) mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dropped + len(t.frames)
}

// since returns the frames after a mark: all of them when they are few, else
// the first and the last.
func (t *trace) since(mark int) []Frame {
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

// httpAnswer is the status line and headers of an HTTP answer; nil on stdio.
type httpAnswer struct {
	status int
	header http.Header
	// body is the whole body where it was read as one.
	body []byte
	// token marks the inbound messages that came in this answer.
	token string
}
