package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// An Error is an answer that is not a success.
type Error struct {
	Status int
	// Detail is what the caller reads.
	Detail string
	// Err is the cause, for the log only.
	Err error
}

func (e *Error) Error() string { return e.Detail }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Bad returns a 400.
func Bad(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Detail: fmt.Sprintf(format, args...)}
}

// NotFound returns a 404.
func NotFound(format string, args ...any) *Error {
	return &Error{Status: http.StatusNotFound, Detail: fmt.Sprintf(format, args...)}
}

// failure turns any error into an answer. Failures of the database are named
// by their kind only: what a driver says may hold addresses and statements.
// Once ctx has ended, whatever came of it is that end.
func failure(ctx context.Context, err error) *Error {
	var e *Error
	var unavailable string
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, store.ErrKeyReused):
		return &Error{Status: http.StatusUnprocessableEntity, Detail: "Idempotency-Key was already used for another request"}
	case errors.Is(err, store.ErrBusy):
		unavailable = "Database is busy, try again later"
	case errors.Is(err, store.ErrUnavailable):
		unavailable = "Database is unavailable, try again later"
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		unavailable = "Request timed out"
	default:
		return &Error{Status: http.StatusInternalServerError, Detail: "Internal server error", Err: err}
	}
	return &Error{Status: http.StatusServiceUnavailable, Detail: unavailable, Err: err}
}

// write sends v. A peer that is gone cannot be told that it is gone.
func write(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(append(body, '\n'))
	return err
}

// refuse sends e.
func refuse(w http.ResponseWriter, e *Error) error {
	return write(w, e.Status, map[string]any{"success": false, "error": e.Detail, "detail": e.Detail, "status_code": e.Status})
}

// attrs describes e in the log.
func (e *Error) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("error", e.Detail)}
	if e.Err != nil {
		attrs = append(attrs, slog.String("cause", e.Err.Error()))
	}
	return attrs
}
