package mcperrors_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// The outputs of programs of five runtimes that cannot start: the few lines that an
// error shows include the reason, wherever it is in the output.
func TestReasonOfAProgramThatFailed(t *testing.T) {
	t.Parallel()
	frames := func(frame string, n int) []string { return strings.Split(strings.Repeat(frame+"\n", n), "\n")[:n] }
	for name, tt := range map[string]struct {
		lines  []string
		reason string
	}{
		"node": {append(append([]string{
			"node:internal/modules/cjs/loader:1228", "  throw err;", "  ^", "",
			"Error: Cannot find module '/srv/dist/index.js'",
		}, frames("    at Module._load (node:internal/modules/cjs/loader:1104:27)", 9)...),
			"  code: 'MODULE_NOT_FOUND',", "  requireStack: []", "}", "", "Node.js v22.1.0"), "Cannot find module '/srv/dist/index.js'"},
		"python": {append(append([]string{"Traceback (most recent call last):"}, frames(`  File "/srv/a.py", line 3, in <module>`, 20)...),
			"ModuleNotFoundError: No module named 'mcp'"), "No module named 'mcp'"},
		"npm": {[]string{
			"npm warn deprecated glob@7.2.3", "npm error code E404", "npm error 404 Not Found - GET https://registry.example/nothing",
			"npm error 404", "npm error 404  'nothing@*' is not in this registry.", "npm error 404", "npm error A complete log of this run can be found in: /x",
		}, "E404"},
		"go":    {append([]string{"starting", "panic: no database", "", "goroutine 1 [running]:"}, frames("main.main()", 30)...), "panic: no database"},
		"usage": {append([]string{"server: unknown option --prot", "usage: server [options]"}, frames("  --port N   where to listen", 12)...), "unknown option --prot"},
		"quiet": {frames("log", 5), "log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &mcperrors.ProcessEvidence{Exited: true, Exit: 1, Stderr: tt.lines}
			got := p.Reason(3)
			require.Len(t, got, 3)
			require.Contains(t, strings.Join(got, "\n"), tt.reason)
			e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "the server stopped before it answered", nil)
			e.Process = p
			require.Contains(t, e.Error(), tt.reason)
			require.Equal(t, tt.lines, p.Reason(100))
			require.Empty(t, p.Reason(0))
		})
	}
}
