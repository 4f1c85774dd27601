package peer

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTaped_Dropped: nothing is written to a connection that was broken on purpose. Go would
// log that.
func TestTaped_Dropped(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	srv := httptest.NewUnstartedServer(Taped(NewTape(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		(&httpWriter{w: w}).Drop()
	})))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(&said, nil), slog.LevelError)
	srv.Start()
	res, err := http.Post(srv.URL, JSONBody, http.NoBody)
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	srv.Close()
	require.Empty(t, said.String())
}
