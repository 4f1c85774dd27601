package breaker

import (
	"encoding/json"
	"net/http"
)

// Handler returns an HTTP handler for health checks. It answers GET and HEAD
// with the state of the breakers as JSON: {"status":"ok","breakers":[…]} and
// 200. If a breaker is OPEN or forced open, the status is "unavailable" with
// 503. A breaker that is bypassed or only throttled counts as healthy. nil
// breakers are ignored.
//
// A request does not change a state: a breaker stays OPEN after its cooldown
// until a call arrives. Do not use Handler where the answer decides whether
// calls arrive; use the HealthHandler of package client there.
func Handler(bs ...*Breaker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		health := struct {
			Status   string     `json:"status"`
			Breakers []Snapshot `json:"breakers"`
		}{Status: "ok", Breakers: make([]Snapshot, 0, len(bs))}
		status := http.StatusOK
		for _, b := range bs {
			if b == nil { // of a client whose breaker is off
				continue
			}
			s := b.Snapshot()
			health.Breakers = append(health.Breakers, s)
			if s.Mode == ForcedOpen || s.Mode == Auto && s.State == Open {
				health.Status = "unavailable"
				status = http.StatusServiceUnavailable
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		// An error means that the client has disconnected.
		_ = json.NewEncoder(w).Encode(health)
	})
}
