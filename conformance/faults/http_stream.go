package faults

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/sse"
)

// resumable sends an event with an id, keeps the answer for requests after that id, and
// drops the stream. retry is the stream's reconnection time in milliseconds; empty is the
// rule's For.
func resumable(v *visit, retry string) {
	got := v.fetched()
	id := "faults-" + strconv.Itoa(v.call.Seq)
	v.proxy.keep(id, got.answer)
	if retry == "" && v.For > 0 {
		retry = strconv.FormatInt(time.Duration(v.For).Milliseconds(), 10)
	}
	s := &sink{v: v, header: got.header}
	if retry != "" {
		s.send([]byte("retry: " + retry + "\n"))
	}
	s.send([]byte("id: " + id + "\ndata: \n\n"))
	v.abort()
}

// keep stores an answer for an event id.
func (p *Proxy) keep(id string, answer []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resume[id] = answer
}

// resumed answers a GET that resumes after an event id of the proxy.
func (v *visit) resumed() bool {
	last := v.r.Header.Get("Last-Event-ID")
	if v.r.Method != http.MethodGet || last == "" {
		return false
	}
	v.proxy.mu.Lock()
	answer, ok := v.proxy.resume[last]
	v.proxy.mu.Unlock()
	if !ok {
		return false
	}
	v.req = parse(answer)
	v.req.Method = http.MethodGet
	v.entered(v.r.Header.Get(sessionHeader))
	s := &sink{v: v}
	v.deliver(func() bool {
		return s.send(sse.AppendEvent(nil, sse.Event{ID: last + "-end", HasID: true, Data: answer}))
	})
	return true
}

// comments floods the stream before the answer.
func comments(v *visit) {
	got := v.fetched()
	s := &sink{v: v, header: got.header}
	line := append(append([]byte(":"), bytes.Repeat([]byte("c"), 1022)...), '\n')
	block := bytes.Repeat(line, 64)
	for left := orInt(v.Size, 100<<20); left > 0; left -= len(block) {
		if !s.send(block) {
			return
		}
	}
	got.relay(v, s)
}

// silence opens the stream and sends nothing while the fault lasts.
func silence(v *visit) {
	got := v.fetched()
	s := &sink{v: v, header: got.header}
	s.open()
	if v.held() {
		v.unfetched(&got)
		v.deliver(func() bool { return s.event(v.bodyOf(got)) })
	}
}

// longLine sends one line, or one event of many lines, of the size; then the
// answer.
func longLine(v *visit) {
	got := v.fetched()
	s := &sink{v: v, header: got.header}
	size := orInt(v.Size, overLimit)
	line := "data: "
	if v.form == "line" {
		s.send([]byte(line))
	}
	block := bytes.Repeat([]byte("x"), 64<<10)
	for left := size; left > 0; left -= len(block) {
		block = block[:min(left, len(block))]
		chunk := block
		if v.form == "event" {
			chunk = append([]byte(line), append(block[:len(block):len(block)], '\n')...)
		}
		if !s.send(chunk) {
			return
		}
	}
	if v.form == "line" {
		s.send([]byte("\n"))
	}
	s.send([]byte("\n"))
	v.deliver(func() bool { return s.event(v.bodyOf(got)) })
}

// lineEnds sends the right answer in each form that the format allows.
func lineEnds(v *visit) {
	got := v.fetched()
	s := &sink{v: v, header: got.header}
	event := "event: message\ndata: " + string(bytes.ReplaceAll(v.bodyOf(got), []byte("\n"), nil)) + "\n\n"
	v.deliver(func() bool { return s.inForm(v, event) })
}

func (s *sink) inForm(v *visit, event string) bool {
	switch v.form {
	case "cr":
		return s.send(bytes.ReplaceAll([]byte(event), []byte("\n"), []byte("\r")))
	case "lf":
		return s.send([]byte(event))
	case "crlf":
		return s.send(bytes.ReplaceAll([]byte(event), []byte("\n"), []byte("\r\n")))
	case "bom":
		return s.send([]byte("\ufeff" + event))
	case "split":
		for i := range len(event) {
			if !s.send([]byte(event[i : i+1])) { // UTF-8 is split by this too
				return false
			}
		}
		return true
	default: // mix
		ends := []string{"\n", "\r\n", "\r"}
		var out []byte
		for _, b := range []byte(": mixed\n" + event) {
			if b == '\n' {
				end := ends[v.random.IntN(len(ends))]
				if end == "\n" && out[len(out)-1] == '\r' {
					end = "\r" // a line feed behind a carriage return would be one end, not two
				}
				out = append(out, end...)
				continue
			}
			out = append(out, b)
		}
		return s.send(out)
	}
}

// moreAnswers sends the answer among others.
func moreAnswers(v *visit) {
	got := v.fetched()
	s := &sink{v: v, header: got.header}
	answer := v.bodyOf(got)
	if v.form == "foreign" {
		s.event(with(answer, "id", string(unknownID)))
	}
	v.deliver(func() bool { return s.event(answer) })
	switch v.form {
	case "two":
		s.event(failure(v.req.ID, -32603, "a second answer", ""))
	case "after":
		s.event(notification("notifications/message", `{"level":"info","data":"behind the answer"}`))
	default:
	}
}

// listeningEnds forwards the server's stream and ends it.
func listeningEnds(v *visit) {
	in := newIntake()
	ctx, end := context.WithCancel(v.r.Context())
	defer end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		in.serve(v.upstream, v.outgoing(ctx, v.body))
	}()
	defer func() {
		end()
		_ = in.from.Close() // a pipe's never fails
		<-done
	}()
	v.proxy.note(v.call, sent)
	<-in.begun
	for name, values := range in.sent {
		v.w.Header()[name] = values
	}
	v.w.WriteHeader(in.status)
	_ = http.NewResponseController(v.w).Flush()
	if v.For > 0 {
		stop := time.AfterFunc(time.Duration(v.For), func() { _ = in.from.Close() })
		defer stop.Stop()
	}
	block := make([]byte, 4096)
	for {
		n, err := in.from.Read(block)
		if n > 0 {
			v.proxy.note(v.call, answered)
			_, failed := v.w.Write(block[:n])
			if failed != nil || http.NewResponseController(v.w).Flush() != nil {
				return
			}
			if v.For == 0 {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if v.form == "dies" {
		v.abort()
	}
}
