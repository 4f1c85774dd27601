package suitetest

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// started finds out where a reference server's services are.
type started struct {
	mu         sync.Mutex
	tasks, ids string
}

func (s *started) Write(line []byte) (int, error) {
	var said struct {
		Tasks string `json:"tasks_url"`
		IDs   string `json:"ids_url"`
	}
	if bytes.Contains(line, []byte("services_started")) && json.Unmarshal(line, &said) == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tasks, s.ids = said.Tasks, said.IDs
	}
	return len(line), nil
}

// TestRun_Again: a server that lives on keeps what a run has stored, approved,
// queued and reserved, and a second run passes all the same.
func TestRun_Again(t *testing.T) {
	t.Parallel()
	var services started
	srv, err := families.New(families.Options{Options: server.Options{Logger: server.NewLogger(&services, slog.LevelInfo)}})
	require.NoError(t, err)
	server := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, srv.Close())
	})
	opts := conformance.Options{
		Only:     []string{"store_artifact", "approve_artifact", "add_task", "ids", "tasks_api", "ids_api"},
		Fixtures: map[string]any{surroundings.Key: surroundings.Fixtures{TasksURL: services.tasks, IDsURL: services.ids}},
	}
	least := 2 * 110
	if testmain.Race { // what is kept is kept there, too
		opts.Only, least = []string{"S0-STORE-14", "S0-APPROVE-25", "S0-ADD-01", "S0-TASKAPI-16"}, 2*8
	}
	for range 2 {
		report, err := familychecks.Run(t.Context(), conformance.URL(server.URL+"/mcp", nil), opts)
		require.NoError(t, err)
		requirePassed(t, report, least, conformance.SkipExcluded, conformance.SkipControl, conformance.SkipNotInRevision)
	}
}
