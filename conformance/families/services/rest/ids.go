package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// A Reservation is a range of ids that nobody else gets.
type Reservation struct {
	ID        string    `json:"reservation_id"`
	IDs       []string  `json:"reserved_ids"`
	ExpiresAt time.Time `json:"expires_at"`
}

// IDs is the client of the ID Management service. It is safe for concurrent
// use.
type IDs struct{ *caller }

// NewIDs returns a client of the ID Management service.
func NewIDs(opts Options) (*IDs, error) {
	c, err := newCaller("ID Management service", opts)
	return &IDs{c}, err
}

// Close gives back the connections that are not in use.
func (i *IDs) Close() { i.close() }

// Next returns the next id of a type, given by its prefix. It is not repeated
// once it was sent: every arrival takes a number (C-22).
func (i *IDs) Next(ctx context.Context, workflow, project, prefix string) (string, error) {
	query := url.Values{"type": {prefix}, "project": {project}}
	var answer struct {
		ID string `json:"next_id"`
	}
	err := i.call(ctx, request{method: http.MethodGet, path: "ids/next", query: query, task: workflow}, &answer)
	if err == nil && answer.ID == "" {
		return "", i.unusable(errors.New("no id"))
	}
	return answer.ID, err
}

// Reserve takes a range of count ids. Like [IDs.Next] it is not repeated once
// it was sent.
func (i *IDs) Reserve(ctx context.Context, workflow, project, prefix string, count int) (*Reservation, error) {
	var answer Reservation
	err := i.call(ctx, request{
		method: http.MethodPost, path: "ids/reserve", task: workflow,
		body: map[string]any{"type": prefix, "count": count, "project_id": project},
	}, &answer)
	if err != nil {
		return nil, err
	}
	if answer.ID == "" || len(answer.IDs) != count {
		return nil, i.unusable(errors.New("not the range that was asked for"))
	}
	return &answer, nil
}

// Confirm keeps a reservation from expiring. It may be repeated.
func (i *IDs) Confirm(ctx context.Context, workflow, reservation string) error {
	var answer struct{}
	return i.call(ctx, request{
		method: http.MethodPost, path: "ids/confirm", task: workflow, repeatable: true,
		body: map[string]any{"reservation_id": reservation},
	}, &answer)
}
