package wire

import (
	"context"
	"net/http"
)

// AskWith sends bytes that hold a request, with headers in the place of those
// its body asks for, and waits for the answer. Where a transport has no headers
// it sends the bytes alone.
func (s *Session) AskWith(ctx context.Context, id string, data []byte, with http.Header) (Answer, error) {
	w, ok := s.Conn.(*HTTPConn)
	if !ok {
		return s.Ask(ctx, id, data)
	}
	s.Expect(data)
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if _, err := w.sendWith(ctx, data, with); err != nil {
		s.Doubts(err)
		return Answer{}, err
	}
	return s.Await(ctx, id)
}

// Misstate sends a request whose params, _meta in particular, are not what the
// session would make of them, with the headers in with.
func (s *Session) Misstate(ctx context.Context, method string, params any, with http.Header) (Answer, error) {
	id := s.NewID()
	return s.AskWith(ctx, id, Message(id, method, params), with)
}

// sendWith posts one message with other headers than its body asks for.
func (w *HTTPConn) sendWith(ctx context.Context, data []byte, with http.Header) (*HTTPAnswer, error) {
	if !w.begin() {
		return nil, ErrClosed
	}
	return w.open(ctx, http.MethodPost, data, with, w.token(data))
}
