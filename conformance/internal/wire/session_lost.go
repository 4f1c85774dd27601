package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Doubts remembers that the server may have gone.
func (s *Session) Doubts(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.Doubt = err
	}
}

// Unanswered is the error of an HTTP answer that ended without a response. A
// status from 500 on is that of a server which may not work at all.
func (s *Session) Unanswered(in Inbound) error {
	err := fmt.Errorf("%w: %w", ErrNoAnswer, in.Err)
	if in.HTTP != nil && in.HTTP.Status >= http.StatusInternalServerError {
		s.Doubts(err)
	}
	return err
}

// IsLost reports whether err is the end or the silence of the server, and not an
// answer of HTTP with no response in it.
func IsLost(err error) bool {
	return err != nil && (!errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrLate))
}
