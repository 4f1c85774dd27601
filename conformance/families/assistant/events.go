package assistant

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// events writes server-sent events. It belongs to the goroutine of the handler.
type events struct {
	w     http.ResponseWriter
	flush func() error
}

func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	e := &events{w: w, flush: http.NewResponseController(w).Flush}
	_ = e.flush() // a client that is gone is noticed by its context
	return e
}

// send writes one event. Its data are JSON, and so one line.
func (e *events) send(name string, data any) {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\ndata: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(data) != nil {
		return // strings and numbers always encode
	}
	b.WriteByte('\n')
	_, _ = e.w.Write(b.Bytes())
	_ = e.flush()
}
