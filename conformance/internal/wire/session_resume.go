package wire

import (
	"context"
	"net/http"
	"time"
)

// resumeAfter is how long a session waits before it reads on in a stream that the server has closed.
const resumeAfter = 100 * time.Millisecond

// resume reads on after the last event of a stream that ended before its answer, as a client should: a
// server may close the connection after an event with an id at any time (2025-11-25,
// basic/transports#sending-messages-to-the-server). It returns what the messages of the new stream
// have as [Inbound.To].
func (s *Session) resume(ctx context.Context, end Inbound) (to string, resumed bool) {
	w, ok := s.Conn.(*HTTPConn)
	last := s.lastEvent[end.To]
	if !ok || last == "" || s.Stateless != "" {
		return "", false
	}
	delete(s.lastEvent, end.To) // a stream without another event is at its end
	if Pause(ctx, resumeAfter) != nil {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	answer, err := w.Listen(ctx, last)
	if err != nil || !answer.Is(nil, http.StatusOK) {
		return "", false
	}
	return answer.Token, true
}
