package front

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

// cancellations are the requests under way in sessions over HTTP, so that the
// response of one that its client has cancelled is not sent (cancellation page,
// "Behavior Requirements": receivers SHOULD not send a response): go-sdk writes an
// error for it. Its stream ends all the same. Who cancels a request and comes
// back for its stream later gets what was kept of it.
type cancellations struct {
	mu   sync.Mutex
	open map[string]*unanswered // by session and id
}

// enter notes that w is where the response to a request goes, and returns the
// writer to give to go-sdk. leave ends that.
func (c *cancellations) enter(w http.ResponseWriter, session string, id json.RawMessage) (out http.ResponseWriter, leave func()) {
	u := &unanswered{ResponseWriter: w, id: canonicalID(id)}
	key := session + "\n" + string(u.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[key] != nil {
		return w, func() {} // go-sdk refuses an id that is in use
	}
	if c.open == nil {
		c.open = map[string]*unanswered{}
	}
	c.open[key] = u
	return u, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, key)
	}
}

// cancel notes that the client does not want the response to a request.
func (c *cancellations) cancel(session string, m *message) {
	id := m.open()["requestId"]
	if !exactID(id) {
		return
	}
	c.mu.Lock()
	w := c.open[session+"\n"+string(canonicalID(id))]
	c.mu.Unlock()
	if w != nil {
		w.mu.Lock()
		w.cancelled = true
		w.mu.Unlock()
	}
}

// unanswered is a stream that leaves the response to a request out once that is
// cancelled.
type unanswered struct {
	http.ResponseWriter
	id json.RawMessage

	mu        sync.Mutex
	cancelled bool
}

// Write passes on what go-sdk writes, an event at a time.
func (u *unanswered) Write(b []byte) (int, error) {
	u.mu.Lock()
	cancelled := u.cancelled
	u.mu.Unlock()
	if cancelled && strings.HasPrefix(u.Header().Get("Content-Type"), "text/event-stream") && u.isResponse(b) {
		return len(b), nil
	}
	return u.ResponseWriter.Write(b)
}

// isResponse reports whether an event is the response to the request.
func (u *unanswered) isResponse(event []byte) bool {
	for line := range bytes.Lines(event) {
		data, is := bytes.CutPrefix(line, []byte("data: "))
		var m struct {
			ID     json.RawMessage
			Method *string
		}
		if is && json.Unmarshal(data, &m) == nil && m.Method == nil && len(m.ID) > 0 && bytes.Equal(canonicalID(m.ID), u.id) {
			return true
		}
	}
	return false
}

// Unwrap lets [http.ResponseController] flush.
func (u *unanswered) Unwrap() http.ResponseWriter { return u.ResponseWriter }
