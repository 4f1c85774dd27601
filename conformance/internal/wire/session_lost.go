package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// Doubts records that the server may have been lost.
func (s *Session) Doubts(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.Doubt = err
	}
}

// Unanswered is the error of an HTTP answer that ended without a response. A status of 5xx
// means that the server may not work at all.
func (s *Session) Unanswered(in Inbound) error {
	err := fmt.Errorf("%w: %w", ErrNoAnswer, in.Err)
	if in.HTTP != nil && in.HTTP.Status >= http.StatusInternalServerError {
		s.Doubts(err)
	}
	return err
}

// IsLost reports whether err is a closed connection or a missing answer, not an HTTP
// response without a message.
func IsLost(err error) bool {
	return err != nil && (!errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrLate))
}
