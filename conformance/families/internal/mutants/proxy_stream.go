package mutants

import (
	"bytes"
	"mime"
	"net/http"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"
	mediaJSON      = "application/json"
	mediaStream    = "text/event-stream"
)

// event is one event of a stream.
type event struct {
	id    string // "" is none
	data  []byte
	other []string // the lines that are neither
}

func parseEvent(block []byte) event {
	var e event
	for line := range bytes.Lines(block) {
		text := string(bytes.TrimRight(line, "\r\n"))
		switch value, isData := cutField(text, "data"); {
		case text == "":
		case isData:
			if e.data != nil {
				e.data = append(e.data, '\n')
			}
			e.data = append(append([]byte{}, e.data...), value...)
		default:
			if id, ok := cutField(text, "id"); ok {
				e.id = id
			} else {
				e.other = append(e.other, text)
			}
		}
	}
	return e
}

func cutField(line, name string) (string, bool) {
	value, ok := bytes.CutPrefix([]byte(line), []byte(name+":"))
	return string(bytes.TrimPrefix(value, []byte(" "))), ok
}

func (e event) bytes() []byte {
	var out bytes.Buffer
	for _, line := range e.other {
		out.WriteString(line + "\n")
	}
	if e.id != "" {
		out.WriteString("id: " + e.id + "\n")
	}
	if e.data != nil {
		out.WriteString("data: ")
		out.Write(e.data)
		out.WriteString("\n")
	}
	out.WriteString("\n")
	return out.Bytes()
}

// rewriter passes the answer to one HTTP request on, message by message. A JSON
// body is held until it is whole, an event until its blank line.
type rewriter struct {
	http.ResponseWriter
	p *proxy
	x *exchange

	status  int
	held    bool // JSON: nothing is written yet
	stream  bool
	pending bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (w *rewriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	h := w.Header()
	if w.p.head != nil {
		w.p.mu.Lock()
		status = w.p.head(w.x, status, h)
		w.p.mu.Unlock()
	}
	w.status = status
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type")) // none: passed on as it is
	w.held, w.stream = media == mediaJSON, media == mediaStream
	if w.held || w.stream {
		h.Del("Content-Length")
	}
	if !w.held {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *rewriter) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.held && !w.stream {
		return w.ResponseWriter.Write(data)
	}
	w.pending.Write(data)
	if w.stream {
		w.events()
	}
	return len(data), nil
}

// Flush implements http.Flusher.
func (w *rewriter) Flush() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if f, ok := w.ResponseWriter.(http.Flusher); ok && !w.held {
		f.Flush()
	}
}

// events passes the events on that are whole.
func (w *rewriter) events() {
	for {
		block, rest, whole := bytes.Cut(w.pending.Bytes(), []byte("\n\n"))
		if !whole {
			return
		}
		e := parseEvent(block)
		left := bytes.Clone(rest)
		w.pending.Reset()
		w.pending.Write(left)
		for _, out := range w.rewrite(e) {
			_, _ = w.ResponseWriter.Write(out.bytes()) // a client that has gone reads nothing
		}
		w.Flush()
	}
}

// rewrite returns the events in place of one.
func (w *rewriter) rewrite(e event) []event {
	out := []event{e}
	if message, ok := decode(e.data); ok {
		out = nil
		for i, m := range w.p.replace(w.x, message) {
			next := event{data: encode(m), other: e.other}
			if i == 0 {
				next.id = e.id
			}
			out = append(out, next)
		}
	}
	if w.p.event != nil {
		w.p.mu.Lock()
		defer w.p.mu.Unlock()
		for i := range out {
			w.p.event(w.x, &out[i])
		}
	}
	return out
}

// finish writes the body that was held.
func (w *rewriter) finish() {
	if !w.held {
		return
	}
	body := w.pending.Bytes()
	if message, ok := decode(body); ok {
		_, refused := isError(message)
		replies := w.p.replace(w.x, message)
		if refused && len(replies) > 0 && replies[0]["result"] != nil && replies[0]["error"] == nil {
			w.status = http.StatusOK // a refusal became a success
		}
		switch len(replies) {
		case 0:
			body = nil
		case 1:
			body = encode(replies[0])
		default:
			body = nil
			w.Header().Set("Content-Type", mediaStream)
			for _, reply := range replies {
				body = append(body, event{data: encode(reply)}.bytes()...)
			}
		}
	}
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write(body) // a client that has gone reads nothing
}
