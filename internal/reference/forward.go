package reference

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Handler returns a handler for all paths of the server. It writes each event of a stream, and
// the whole body of other replies, in one piece, as the server does.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.forward) }

func (s *Server) forward(w http.ResponseWriter, r *http.Request) {
	// The whole body first: net/http closes it when the answer begins, while the transport may
	// still look for its end, and then closes the connection of the answer.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		abort()
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, s.url+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		abort()
	}
	out.Host, out.ContentLength, out.Header = r.Host, r.ContentLength, r.Header.Clone()
	if r.ContentLength == 0 {
		out.Body = nil
	}
	if _, named := out.Header["User-Agent"]; !named {
		out.Header["User-Agent"] = nil
	}
	resp, err := s.trips.RoundTrip(out)
	if err != nil {
		abort() // the server's own connection has ended
	}
	defer func() { _ = resp.Body.Close() }()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // an invalid type is not a stream
	if !strings.EqualFold(media, "text/event-stream") {
		body, err := io.ReadAll(resp.Body)
		_, _ = w.Write(body) // fails only if the client is gone
		if err != nil {
			abort()
		}
		return
	}
	_ = http.NewResponseController(w).Flush() // as below
	for events := bufio.NewReader(resp.Body); ; {
		event, err := readEvent(events)
		_, _ = w.Write(event)
		_ = http.NewResponseController(w).Flush()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			abort()
		}
	}
}

// abort ends a handler and its connection.
func abort() {
	panic(http.ErrAbortHandler) //nolint:forbidigo // net/http requires it to end a connection
}

// readEvent reads to the blank line after an event, or to the end.
func readEvent(r *bufio.Reader) ([]byte, error) {
	var event []byte
	for {
		line, err := r.ReadBytes('\n')
		event = append(event, line...)
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return event, err
		}
	}
}
