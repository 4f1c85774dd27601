package docling

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// What a conversion dropped, and how much, is in the result, at the end of the
// Markdown, and in the log.
func TestDropped(t *testing.T) {
	t.Parallel()
	const page = `<h1>Title</h1><p>Text</p><img src="a.png"><img src="b.png"><img src="c.png" alt="a ship"><img src="d.png" alt="">` +
		`<iframe src="x"></iframe><iframe src="y" style="display: none"></iframe><video></video><audio></audio>` +
		`<svg><text>A label</text></svg><svg><path d="M0 0"/></svg>`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/whole" {
			_, _ = w.Write([]byte("<h1>Title</h1><p>Text</p>"))
			return
		}
		_, _ = w.Write([]byte(page))
	}))
	defer srv.Close()
	s := newTestService(t, Options{AllowNetworks: loopback})
	want := []string{
		"1 embedded page was dropped: frames are not fetched.", "2 videos or sounds were dropped.", "1 drawing was dropped.",
		"2 pictures have no text: what they show was not read.",
	}
	var logs bytes.Buffer
	raw, err := json.Marshal(args{"url": srv.URL + "/"})
	require.NoError(t, err)
	run := family.NewCall("convert_url", raw, slog.New(slog.NewJSONHandler(&logs, nil)))
	res, err := s.convertURL(t.Context(), run)
	require.NoError(t, err)
	run.Finish(t.Context(), nil)
	doc, ok := res.(json.RawMessage)
	require.True(t, ok)
	var d struct{ Dropped []string }
	require.NoError(t, json.Unmarshal(doc, &d))
	require.Equal(t, want, d.Dropped)

	var last struct {
		Msg     string
		Dropped []string
	}
	lines := strings.Split(strings.TrimSpace(logs.String()), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	require.Equal(t, "convert_url_invocation_completed", last.Msg)
	require.Equal(t, want, last.Dropped)

	exported, failure := call(t.Context(), s.family(), "export_markdown", args{"document": doc})
	require.Nil(t, failure)
	require.True(t, strings.HasSuffix(exported.(*family.Result).Text, "\n\n---\n\n**Dropped in the conversion:**\n\n- "+strings.Join(want, "\n- ")), exported.(*family.Result).Text)

	whole := converted(t, s, "convert_url", args{"url": srv.URL + "/whole"})
	require.NotContains(t, string(whole), "dropped")
	exported, failure = call(t.Context(), s.family(), "export_markdown", args{"document": whole})
	require.Nil(t, failure)
	require.Equal(t, "# Title\n\nText", exported.(*family.Result).Text)
}
