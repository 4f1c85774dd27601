package breaker

import (
	"encoding/json"
	"net/http"
)

// Handler answers GET and HEAD with the state of the breakers as JSON, for
// health checks: {"status":"ok","breakers":[…]} and 200, or status
// "unavailable" and 503 when any of them is OPEN or forced open. One that is
// bypassed is well, and one that is only held will be. Asking changes no
// state: a breaker whose cooldown has passed is OPEN until a call comes. So it does
// not fit where the answer decides whether calls come; the HealthHandler of package
// client does. nil breakers are left out.
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
		// An error here means that the asker has gone.
		_ = json.NewEncoder(w).Encode(health)
	})
}
