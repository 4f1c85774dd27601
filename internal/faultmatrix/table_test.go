package faultmatrix

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/faults"
)

// row is one form of a fault with the outcomes of its trials.
type row struct {
	fault    faults.Fault
	variant  string
	carrier  faults.Carrier
	outcomes []outcome // in the order of trials: by frequency, kind of call, era
}

// page is the page for operators.
const page = "../../docs/generated/faults.md"

// table describes the outcomes of the calls: of those with one fault, and of those with a fault
// every time.
func table(rows []row) string {
	var out strings.Builder
	out.WriteString("| fault | over | once: a read | once: a write | always: a read | always: a write | the server's circuit |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		name := r.fault.ID + " " + r.fault.Title
		if r.variant != "" {
			name += ": " + r.variant
		}
		fmt.Fprintf(&out, "| %s | %s |", name, r.carrier)
		if text := racy[strings.TrimSpace(r.fault.ID+" "+r.variant)]; text != "" {
			fmt.Fprintf(&out, " %s | | | | |\n", text)
			continue
		}
		for i := 0; i < len(r.outcomes); i += 2 {
			fmt.Fprintf(&out, " %s |", eras(r.outcomes[i].words(), r.outcomes[i+1].words()))
		}
		n := len(r.outcomes)
		fmt.Fprintf(&out, " %s |\n", eras(r.outcomes[n-2].verdict, r.outcomes[n-1].verdict))
	}
	return out.String()
}

// racy are faults whose outcome depends on timing. Only the guarantees are checked for them.
var racy = map[string]string{
	"E6 request": "answered by the next program, or E201 transport, not-sent or unknown by how much of the line was taken; five programs that end make a crash loop",
	"E7":         "answered when the answer is first, else E201 transport, unknown; a read is answered by the next program",
	"E9":         "answered when the answer is first, else E201 transport, unknown; a read is answered by the next program",
}

// eras joins the outcomes in both eras.
func eras(session, stateless string) string {
	if session == stateless {
		return session
	}
	return session + "; stateless: " + stateless
}

// words describes the outcome of a call. Times that depend on jitter are omitted.
func (o outcome) words() string {
	text := o.text
	if o.attempts > 1 {
		text += fmt.Sprintf(", %d requests", o.attempts)
	}
	if o.took >= time.Minute {
		text += fmt.Sprintf(", after %d min", int(o.took.Minutes()))
	}
	return text
}

// holdTable compares a table with the part of the page between its marks, or writes it there with
// -update.
func holdTable(t *testing.T, name, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	begin, end := []byte("<!-- begin "+name+" -->\n"), []byte("<!-- end "+name+" -->")
	before, rest, ok := bytes.Cut(text, begin)
	require.True(t, ok, "%s has no mark %s", page, begin)
	stands, after, ok := bytes.Cut(rest, end)
	require.True(t, ok, "%s has no mark %s", page, end)
	if *update {
		whole := bytes.Join([][]byte{before, begin, []byte(table), end, after}, nil)
		require.NoError(t, os.WriteFile(page, whole, 0o644)) //nolint:gosec // a page of the documentation
		return
	}
	require.Equal(t, string(stands), table, "if it is meant, run go test ./internal/faultmatrix -update and read the diff")
}
