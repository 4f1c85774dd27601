package report

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// sloppy is a server that gets much wrong: every request is answered with the
// same object, in which nothing is where it should be.
func sloppy(_ context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var m struct{ ID json.RawMessage }
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"\u0000<b>"},"capabilities":{"tools":7}}}`+"\n", m.ID)
	}
	return lines.Err()
}

// TestRuns: what real runs find, good and bad, is valid in every format.
func TestRuns(t *testing.T) {
	t.Parallel()
	srv, err := reference.New(reference.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	schema := schemaOf(t, true)
	var both []*conformance.Report
	for name, c := range map[string]struct {
		serve  func(ctx context.Context, in io.Reader, out io.Writer) error
		answer time.Duration
		want   conformance.Verdict
	}{"reference": {srv.ServeStdio, 0, conformance.Passed}, "sloppy": {sloppy, 100 * time.Millisecond, conformance.Failed}} {
		r, err := checks.Run(t.Context(), conformance.InProcess(c.serve), conformance.Options{Only: []string{"LC-*", "RPC-0*", "http"}, Answer: c.answer})
		require.NoError(t, err)
		r.Results = slices.DeleteFunc(r.Results, func(res conformance.Result) bool { return res.Reason == conformance.SkipExcluded })
		var text, junit, sarif, page, again bytes.Buffer
		require.NoError(t, Text(&text, r, TextOptions{}))
		require.Equal(t, c.want, r.Verdict(), text.String())
		text.Reset()
		require.NoError(t, JSON(&text, r))
		requireValid(t, schema, text.Bytes())
		require.NoError(t, JUnit(&junit, []*conformance.Report{r}))
		var root element
		require.NoError(t, xml.Unmarshal(junit.Bytes(), &root), name)
		requireForm(t, &root)
		requireCounts(t, &root)
		require.NoError(t, SARIF(&sarif, []*conformance.Report{r}))
		requireConsistent(t, sarif.Bytes())
		requireTaken(t, sarif.Bytes())
		require.NoError(t, HTML(&page, []*conformance.Report{r}))
		read, err := Read(&page)
		require.NoError(t, err)
		require.NoError(t, JSON(&again, read[0]))
		require.Equal(t, text.String(), again.String(), name)
		both = append(both, r)
	}
	var b bytes.Buffer
	require.NoError(t, Matrix(&b, both))
	requireValid(t, schema, b.Bytes())
}

// dying answers initialize, and exits at the next request.
const dying = `while read -r line; do
	id=$(printf %s "$line" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
	case $line in
	*'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"dying","version":"1"},"capabilities":{}}}\n' "$id" ;;
	*notifications/*) ;;
	*) echo "cannot open the store" >&2; exit 3 ;;
	esac
done`

// TestRuns_Exit: a program that exits is one finding, with the line that explains it.
func TestRuns_Exit(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	r, err := checks.Run(t.Context(), conformance.Command([]string{shell, "-c", dying}, nil), conformance.Options{Only: []string{"X-WIRE-03", "X-WIRE-04"}, Revisions: []mcp.Version{mcp.LatestSession}})
	require.NoError(t, err)
	found := findings(r)
	require.NotEmpty(t, found)
	require.Contains(t, found[0].title(), ": cannot open the store")
	require.Greater(t, len(found[0].ids()), 3)
}
