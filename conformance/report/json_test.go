package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, JSON(&b, sampleReport()))
	var got struct {
		Kind    string
		Version int
		Tool    map[string]string
		Run     struct{ StartedAt string }
		Target  map[string]any
		Summary struct {
			Verdict string
			Exit    int
			Must    map[string]int
			Should  map[string]int
			Skip    int
		}
		Checks []struct {
			ID, Status, Expected, Detail, Repro, Fingerprint string
			Spec                                             map[string]string
			Skip                                             map[string]string
			DurationMs                                       float64
			Evidence                                         []struct {
				Dir, Frame, Base64, Note string
				AtMs                     float64
				Size                     int
				HTTP                     map[string]any
			}
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Equal(t, "mcpctl.conform", got.Kind)
	require.Equal(t, 1, got.Version)
	require.Equal(t, "2026-11-20T18:04:05.120Z", got.Run.StartedAt)
	require.Equal(t, map[string]any{"tools": map[string]any{}}, got.Target["capabilities"])
	require.Equal(t, map[string]any{"tools": 16.0}, got.Target["surface"])
	require.Equal(t, "failed", got.Summary.Verdict)
	require.Equal(t, 1, got.Summary.Exit)
	require.Equal(t, map[string]int{"pass": 1, "fail": 1, "inconclusive": 1, "error": 1}, got.Summary.Must)
	require.Equal(t, map[string]int{"pass": 0, "warn": 1, "inconclusive": 0, "error": 0}, got.Summary.Should)
	require.Equal(t, 2, got.Summary.Skip)
	require.Len(t, got.Checks, 7)

	broken := got.Checks[1]
	require.Equal(t, "fail", broken.Status)
	require.Equal(t, "https://modelcontextprotocol.io/specification/2025-11-25/basic#messages", broken.Spec["url"])
	require.InDelta(t, 1.5, broken.DurationMs, 1e-9)
	require.Len(t, broken.Evidence, 2)
	require.Equal(t, "c2s", broken.Evidence[0].Dir)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, broken.Evidence[0].Frame)
	require.Equal(t, 9000, broken.Evidence[1].Size)
	require.Equal(t, map[string]any{"status": 200.0, "contentType": "application/json"}, broken.Evidence[1].HTTP)
	require.Equal(t, map[string]string{"reason": "transport", "detail": "a rule of http"}, got.Checks[4].Skip)
	require.Empty(t, got.Checks[4].Repro)
	require.NotEqual(t, got.Checks[1].Fingerprint, got.Checks[2].Fingerprint)

	var again bytes.Buffer
	require.NoError(t, JSON(&again, sampleReport()))
	require.Equal(t, b.String(), again.String(), "the same report is the same bytes")
}

func TestFrameJSON_NotText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "//4=", frameJSON(conformance.Frame{Data: []byte("\xff\xfe"), Size: 2}).Base64)
	cut := frameJSON(conformance.Frame{Data: []byte("ab\xf0\x9f\xa6"), Size: 100})
	require.Equal(t, "ab", cut.Frame, "a cut through a character is no reason for base64")
}

// schemaOf compiles the published schema. closed refuses what it does not
// describe: readers may meet new members, our own reports may not have members
// that are not published.
func schemaOf(t *testing.T, closed bool) *jsonschema.Resolved {
	t.Helper()
	var doc any
	require.NoError(t, json.Unmarshal(Schema, &doc))
	if closed {
		closeObjects(doc)
	}
	text, err := json.Marshal(doc)
	require.NoError(t, err)
	return resolved(t, text)
}

func resolved(t *testing.T, text []byte) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &s))
	r, err := s.Resolve(nil)
	require.NoError(t, err)
	return r
}

func closeObjects(v any) {
	m, isObject := v.(map[string]any)
	if !isObject {
		return
	}
	if m["type"] == "object" && m["properties"] != nil {
		m["additionalProperties"] = false
	}
	for _, inner := range m {
		closeObjects(inner)
	}
}

func requireValid(t *testing.T, s *jsonschema.Resolved, document []byte) {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(document, &v))
	require.NoError(t, s.Validate(v))
}

func TestJSON_FollowsItsSchema(t *testing.T) {
	t.Parallel()
	closed, open := schemaOf(t, true), schemaOf(t, false)
	var all []*conformance.Report
	for _, r := range samples() {
		var b bytes.Buffer
		require.NoError(t, JSON(&b, r))
		requireValid(t, closed, b.Bytes())
		all = append(all, r)
	}
	var b bytes.Buffer
	require.NoError(t, Matrix(&b, all))
	requireValid(t, closed, b.Bytes())

	b.Reset()
	require.NoError(t, JSON(&b, sampleReport()))
	text := b.String()
	for name, change := range map[string][2]string{
		"a status of its own":        {`"status": "warn"`, `"status": "warning"`},
		"a skip without a reason":    {`"reason": "transport",`, ``},
		"another kind":               {`"kind": "mcpctl.conform"`, `"kind": "mcpctl.bench"`},
		"a percentage as a verdict":  {`"verdict": "failed"`, `"verdict": "98%"`},
		"a fingerprint of its own":   {`"fingerprint": "sha256:`, `"fingerprint": "md5:`},
		"an exit that is none":       {`"exit": 1,`, `"exit": 70,`},
		"a revision in no direction": {`"dir": "s2c"`, `"dir": "in"`},
	} {
		broken := strings.Replace(text, change[0], change[1], 1)
		require.NotEqual(t, text, broken, name)
		var v any
		require.NoError(t, json.Unmarshal([]byte(broken), &v), name)
		require.Error(t, open.Validate(v), name)
	}
	added := strings.Replace(text, `"kind":`, `"added": 1, "kind":`, 1)
	requireValid(t, open, []byte(added))
}

// TestRead: a report that is read is the report that was written, in every
// format.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, r := range samples() {
		r.Duration += 999 * time.Microsecond // no format says more than another
		for i := range r.Results {
			r.Results[i].Duration += 999
		}
		var first, page, second, text, again bytes.Buffer
		require.NoError(t, JSON(&first, r))
		read, err := Read(bytes.NewReader(first.Bytes()))
		require.NoError(t, err, name)
		require.Len(t, read, 1)
		require.NoError(t, JSON(&second, read[0]))
		require.Equal(t, first.String(), second.String(), name)
		require.NoError(t, Text(&text, r, TextOptions{}))
		require.NoError(t, Text(&again, read[0], TextOptions{}))
		require.Equal(t, text.String(), again.String(), name)
		for _, format := range []func(io.Writer, []*conformance.Report) error{JUnit, HTML, SARIF} {
			text.Reset()
			again.Reset()
			require.NoError(t, format(&text, []*conformance.Report{r}))
			require.NoError(t, format(&again, read))
			require.Equal(t, text.String(), again.String(), name)
		}
		require.NoError(t, HTML(&page, []*conformance.Report{r}))
		read, err = Read(bytes.NewReader(page.Bytes()))
		require.NoError(t, err, name)
		second.Reset()
		require.NoError(t, JSON(&second, read[0]))
		require.Equal(t, first.String(), second.String(), name)
	}
	var b bytes.Buffer
	require.NoError(t, HTML(&b, []*conformance.Report{sampleReport(), wideReport()}))
	read, err := Read(&b)
	require.NoError(t, err)
	require.Len(t, read, 2)
	require.Equal(t, conformance.Failed, worst(read))
	require.Equal(t, conformance.Passed, worst([]*conformance.Report{passedReport()}))
	require.Equal(t, conformance.VerdictInconclusive, worst([]*conformance.Report{passedReport(), {}}))
}

func TestRead_Refuses(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, JSON(&b, wideReport()))
	for name, text := range map[string]string{
		"nothing":              "",
		"another document":     `{"kind":"mcpctl.bench","version":1}`,
		"a later version":      strings.Replace(b.String(), `"version": 1`, `"version": 2`, 1),
		"an unknown status":    strings.ReplaceAll(b.String(), `"status": "pass"`, `"status": "ok"`),
		"an unknown level":     strings.Replace(b.String(), `"level": "MUST"`, `"level": "must"`, 1),
		"a broken time":        strings.Replace(b.String(), `"startedAt": "2026`, `"startedAt": "26`, 1),
		"bytes that are none":  strings.Replace(b.String(), `"base64": "`, `"base64": "!`, 1),
		"a page of others":     "<!doctype html><html></html>",
		"an empty matrix":      `{"kind":"mcpctl.conform.matrix","version":1,"reports":[]}`,
		"checks that are none": `{"kind":"mcpctl.conform","version":1,"checks":{}}`,
	} {
		_, err := Read(strings.NewReader(text))
		require.ErrorContains(t, err, "not a report", name)
	}
}

// TestRead_PlainPage: pages of earlier builds have the report as plain JSON.
func TestRead_PlainPage(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, JSON(&b, passedReport()))
	got, err := Read(strings.NewReader("<!doctype html>" + plainOpen + b.String() + "</script>"))
	require.NoError(t, err)
	require.Equal(t, passedReport().Results[0].ID, got[0].Results[0].ID)
	for _, broken := range []string{"!", "", "AAAA"} {
		_, err = Read(strings.NewReader("<!doctype html>" + scriptOpen + broken + "</script>"))
		require.ErrorContains(t, err, "not a report")
	}
}
