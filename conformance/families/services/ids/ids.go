// Package ids is the ID Management service of S0: it hands out artifact ids,
// one by one or as reserved ranges, and never one twice (tools.md §2.10).
package ids

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/api"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// Name is the service in the log.
const Name = "id_management"

// DefaultReservation is how long a range is held for its owner (tools.md §2.10).
const DefaultReservation = 15 * time.Minute

const maxCount = 100

// Options configure the service.
type Options struct {
	api.Options
	Store store.IDStore
	// Reservation is how long a range is held. 0 is [DefaultReservation].
	Reservation time.Duration
	// Now is the clock expiries are measured by. Nil is [time.Now].
	Now func() time.Time
}

// Handler returns the service.
func Handler(o Options) http.Handler {
	o.Name = Name
	if o.Reservation <= 0 {
		o.Reservation = DefaultReservation
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &service{o}
	return api.Handler(o.Options,
		api.Route{Method: http.MethodGet, Path: "/ids/next", Handle: s.next},
		api.Route{Method: http.MethodPost, Path: "/ids/reserve", Handle: s.reserve},
		api.Route{Method: http.MethodPost, Path: "/ids/confirm", Handle: s.confirm},
		api.Route{Method: http.MethodDelete, Path: "/ids/reservations/expired", Handle: s.deleteExpired},
	)
}

type service struct{ Options }

func (s *service) next(ctx context.Context, req *api.Request) (int, any, error) {
	kind, err := artifactType(req.Query("type"))
	if err != nil {
		return 0, nil, err
	}
	project, err := req.Project()
	if err != nil {
		return 0, nil, err
	}
	a, err := s.Store.NextID(ctx, project, kind, s.Now())
	if err != nil {
		return 0, nil, failure(err)
	}
	req.Log(ctx, "id_allocated", slog.String("artifact_type", kind), slog.String("project", project), slog.String("next_id", a.ID))
	body := map[string]any{"success": true, "artifact_type": kind, "next_id": a.ID, "last_assigned": nil}
	if a.Last != "" {
		body["last_assigned"] = a.Last
	}
	return http.StatusOK, body, nil
}

func (s *service) reserve(ctx context.Context, req *api.Request) (int, any, error) {
	var in struct {
		Type      string `json:"type"`
		Count     *int   `json:"count"`
		ProjectID string `json:"project_id"`
		Project   string `json:"project"`
	}
	const badCount = "Invalid count: must be between 1 and 100"
	raw, err := req.Body(&in, map[string]string{"count": badCount})
	if err != nil {
		return 0, nil, err
	}
	kind, err := artifactType(in.Type)
	if err != nil {
		return 0, nil, err
	}
	project, err := api.Project("project_id", in.ProjectID, in.Project)
	if err != nil {
		return 0, nil, err
	}
	if in.Count == nil {
		return 0, nil, api.Bad("Missing required parameter: count")
	}
	if *in.Count < 1 || *in.Count > maxCount {
		return 0, nil, api.Bad(badCount)
	}
	key, err := req.Key(raw)
	if err != nil {
		return 0, nil, err
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return 0, nil, err
	}
	now := s.Now()
	res, err := s.Store.ReserveIDs(ctx, store.ReserveRequest{
		ID: id, Project: project, Type: kind, Count: *in.Count, Now: now, ExpiresAt: now.Add(s.Reservation), Key: key,
	})
	if err != nil {
		return 0, nil, failure(err)
	}
	req.Log(ctx, "ids_reserved", slog.String("artifact_type", kind), slog.String("project", project), slog.Int("count", len(res.IDs)),
		slog.Any("reserved_ids", res.IDs), slog.String("reservation_id", res.ID.String()),
		slog.String("expires_at", api.Time(res.ExpiresAt)), slog.Bool("repeated", res.ID != id))
	return http.StatusOK, map[string]any{
		"success": true, "reservation_id": res.ID, "artifact_type": kind, "reserved_ids": res.IDs, "expires_at": api.Time(res.ExpiresAt),
	}, nil
}

func (s *service) confirm(ctx context.Context, req *api.Request) (int, any, error) {
	var in struct {
		ReservationID string `json:"reservation_id"`
	}
	const badID = "Invalid reservation_id: must be a UUID"
	if _, err := req.Body(&in, map[string]string{"reservation_id": badID}); err != nil {
		return 0, nil, err
	}
	if in.ReservationID == "" {
		return 0, nil, api.Bad("Missing required parameter: reservation_id")
	}
	id, err := uuid.Parse(in.ReservationID)
	if err != nil || len(in.ReservationID) != len(uuid.Nil.String()) { // no braces, no urn:
		return 0, nil, api.Bad(badID)
	}
	err = s.Store.ConfirmReservation(ctx, id, s.Now())
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil, api.NotFound("Reservation expired or not found")
	}
	if err != nil {
		return 0, nil, failure(err)
	}
	req.Log(ctx, "reservation_confirmed", slog.String("reservation_id", id.String()))
	return http.StatusOK, map[string]any{"success": true, "reservation_id": id, "confirmed": true}, nil
}

func (s *service) deleteExpired(ctx context.Context, req *api.Request) (int, any, error) {
	n, err := s.Store.DeleteExpired(ctx, s.Now())
	if err != nil {
		return 0, nil, err
	}
	req.Log(ctx, "reservations_expired", slog.Int("deleted_count", n))
	return http.StatusOK, map[string]any{"success": true, "deleted_count": n}, nil
}

func artifactType(prefix string) (string, error) {
	if prefix == "" {
		return "", api.Bad("Missing required parameter: type")
	}
	if !slices.Contains(store.Prefixes(), prefix) {
		return "", api.Bad("Invalid artifact_type: %s. Valid types: %s", api.Clip(prefix), strings.Join(store.Prefixes(), ", "))
	}
	return prefix, nil
}

// failure names the one answer of an allocation that is this service's own.
func failure(err error) error {
	if errors.Is(err, store.ErrExhausted) {
		return &api.Error{Status: http.StatusConflict, Detail: "No id left in the sequence", Err: err}
	}
	return err
}
