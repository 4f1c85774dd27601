// Package healthhttp answers the health checks of load balancers and orchestrators.
package healthhttp

import (
	"encoding/json"
	"net/http"
)

// Handler answers GET and HEAD with {"status":…,"servers":[…]} as JSON: 200, or 503 if the status
// is unavailable. It calls look for each request, also concurrently.
func Handler[S comparable, H any](unavailable S, look func() (status S, servers []H)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		status, servers := look()
		code := http.StatusOK
		if status == unavailable {
			code = http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(struct { // an error means that the caller is gone
			Status  S   `json:"status"`
			Servers []H `json:"servers"`
		}{status, servers})
	})
}
