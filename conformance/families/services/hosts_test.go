package services_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
)

// as asks for an id under a host name, as the page of that host would, and
// returns the status.
func (r *rig) as(host string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.IDsURL+"/ids/next?type=US&project=p", nil)
	require.NoError(r.t, err)
	req.Host = host
	req.Header.Set("Origin", "http://"+host)
	res, err := client.Do(req)
	require.NoError(r.t, err)
	require.NoError(r.t, res.Body.Close())
	return res.StatusCode
}

// TestHosts_Rebinding has the page of a site that makes its name point to this
// machine: it takes no ids, wherever the service listens. What the services
// say of where they are works.
func TestHosts_Rebinding(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		addr    string
		hosts   []string
		refused []string
	}{
		"loopback":        {refused: []string{"machine.example"}},
		"loopback named":  {addr: "localhost:0", hosts: []string{"machine.example"}},
		"every interface": {addr: "0.0.0.0:0", refused: []string{"192.0.2.7", "0.0.0.0"}},
		"given names":     {addr: "0.0.0.0:0", hosts: []string{"machine.example", "192.0.2.7"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *services.Options) { o.IDsAddr, o.Hosts = tc.addr, tc.hosts })
			for _, host := range append(tc.refused, "rebind.example", "rebind.example:8081", "evillocalhost") {
				require.Equal(t, http.StatusForbidden, r.as(host), host)
			}
			own := strings.TrimPrefix(r.IDsURL, "http://")
			_, port, _ := strings.Cut(own, ":")
			for _, host := range append(tc.hosts, own, "localhost:"+port) {
				require.Equal(t, http.StatusOK, r.as(host), host)
			}
			require.Equal(t, http.StatusOK, r.call("GET", "/ids/next?type=US&project=p", "").status, "who names no origin")
		})
	}
}
