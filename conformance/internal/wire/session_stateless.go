package wire

import (
	"context"
	"net/http"
)

// AskWith sends bytes that are a request, with other headers than its body requires, and
// waits for the answer. Without HTTP it sends the bytes only.
func (s *Session) AskWith(ctx context.Context, id string, data []byte, with http.Header) (Answer, error) {
	w, ok := s.Conn.(*HTTPConn)
	if !ok {
		return s.Ask(ctx, id, data)
	}
	s.Expect(data)
	s.AwaitTurn(ctx)
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if _, err := w.sendWith(ctx, data, with); err != nil {
		s.Doubts(err)
		return Answer{}, err
	}
	return s.Await(ctx, id)
}

// Misstate sends a request with unchanged params, such as a wrong _meta, and with the given
// headers.
func (s *Session) Misstate(ctx context.Context, method string, params any, with http.Header) (Answer, error) {
	id := s.NewID()
	return s.AskWith(ctx, id, Message(id, method, params), with)
}

// sendWith posts one message with other headers than its body requires.
func (w *HTTPConn) sendWith(ctx context.Context, data []byte, with http.Header) (*HTTPAnswer, error) {
	if !w.begin() {
		return nil, ErrClosed
	}
	return w.open(ctx, http.MethodPost, data, with, w.token(data))
}
