package mutants

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// statusWriter holds an answer that is an error until its code is known, and
// sends those with the code under another status. Streams pass.
type statusWriter struct {
	http.ResponseWriter
	code   string
	status int
	held   int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if status >= 400 {
		w.held = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(data []byte) (int, error) {
	if w.held != 0 {
		var r struct {
			Error struct{ Code json.Number }
		}
		status := w.held
		if json.NewDecoder(bytes.NewReader(data)).Decode(&r) == nil && r.Error.Code.String() == w.code {
			status = w.status
		}
		w.held = 0
		w.ResponseWriter.WriteHeader(status)
	}
	return w.ResponseWriter.Write(data)
}

// Flush implements http.Flusher.
func (w *statusWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok && w.held == 0 {
		f.Flush()
	}
}
