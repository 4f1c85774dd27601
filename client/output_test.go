package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

const weather = `{"type":"object","properties":{"degrees":{"type":"number"},"where":{"type":"string"}},"required":["degrees"]}`

// strictResults refuses results that do not fit.
var strictResults = client.WithValidation(client.Validation{Results: client.ValidateStrict})

// A tool's structured content is checked against the schema that it declared.
func TestOutputValidation(t *testing.T) {
	t.Parallel()
	const session, stateless = "2025-11-25", "2026-07-28"
	for _, tt := range []struct {
		name, version, schema, result string
		want                          string // of the error, "" for none
	}{
		{"fits", session, weather, `{"content":[],"structuredContent":{"degrees":3.5,"where":"here"}}`, ""},
		{"misfit", session, weather, `{"content":[],"structuredContent":{"degrees":"warm"}}`, `"degrees" must be a number, got a string`},
		{"member missing", session, weather, `{"content":[],"structuredContent":{}}`, `"degrees" is required`},
		{"content missing", session, weather, `{"structuredContent":{"degrees":1}}`, ""},
		{"absent", session, weather, `{"content":[{"type":"text","text":"{\"degrees\":1}"}]}`, "it has no structured content"},
		{"null is not absent", session, weather, `{"content":[],"structuredContent":null}`, "is not an object"},
		{"an error is not judged", session, weather, `{"content":[],"isError":true}`, ""},
		{"an error with content is not judged", session, weather, `{"content":[],"isError":true,"structuredContent":{"degrees":"x"}}`, ""},
		{"no schema", session, ``, `{"content":[],"structuredContent":[1]}`, ""},
		{"a list in the session era", session, `{"type":"array"}`, `{"content":[],"structuredContent":[1]}`, "is not an object"},
		{"a list", stateless, `{"type":"array","items":{"type":"integer"}}`, `{"content":[],"structuredContent":[1,2]}`, ""},
		{"a wrong list", stateless, `{"type":"array","items":{"type":"integer"}}`, `{"content":[],"structuredContent":[1,"x"]}`, `"[1]" must be an integer, got a string`},
		{"null", stateless, `{"type":["null","object"]}`, `{"content":[],"structuredContent":null}`, ""},
		{"null where a number belongs", stateless, `{"type":"number"}`, `{"content":[],"structuredContent":null}`, `must be a number, got null`},
		{"a number", stateless, `{"type":"number"}`, `{"content":[],"structuredContent":7}`, ""},
		{"absent, any value", stateless, `{}`, `{"content":[]}`, "it has no structured content"},
		{"a schema that is true", stateless, `true`, `{"content":[],"structuredContent":"x"}`, ""},
		{"beyond float64", session, `{"type":"object","properties":{"n":{"const":9007199254740993}}}`, `{"content":[],"structuredContent":{"n":9007199254740993}}`, ""},
		{"draft-07", session, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"n":{"type":"integer"}},"properties":{"n":{"$ref":"#/definitions/n"}}}`, `{"content":[],"structuredContent":{"n":"x"}}`, `"n" must be an integer, got a string`},
		{"a schema that is none", session, `{"type":7}`, `{"content":[],"structuredContent":{"n":1}}`, ""},
		{"a schema without end", session, `{"$ref":"#"}`, `{"content":[]}`, ""},
		{"before there were output schemas", "2025-03-26", weather, `{"content":[]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, s := ofVersion(t, tt.version, toolWith(tt.schema), strictResults)
			s.result("tools/call", tt.result)
			res, err := c.CallTool(t.Context(), "x", nil)
			if tt.want == "" {
				require.NoError(t, err)
				require.NotNil(t, res)
				return
			}
			require.ErrorContains(t, err, tt.want)
			var misfit *client.OutputError
			require.ErrorAs(t, err, &misfit)
			require.NotNil(t, misfit.Result, "the tool has answered")
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, []any{mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered, "x"}, []any{e.Code, e.Kind, e.Delivery, e.Tool})
		})
	}
}

// misfit is the reason in an event about a result that does not match.
type misfit struct{ tool, reason string }

// mismatches collects the events of results that do not fit.
func mismatches(into *[]misfit) client.Option {
	return client.OnEvent(func(_ context.Context, e client.Event) {
		if m, ok := e.(client.OutputMismatch); ok {
			*into = append(*into, misfit{m.Tool, m.Reason})
		}
	})
}

// A result that does not fit reaches the caller: the tool has run, and the server's
// schema may be what is wrong (server/tools#output-schema: clients SHOULD validate).
// Each has an event; the log has a line for each schema of a tool. The check can also
// refuse such results, and be switched off, for the client and for a call.
func TestOutputValidationModes(t *testing.T) {
	t.Parallel()
	mode := func(m client.ValidationMode) []client.Option {
		return []client.Option{client.WithValidation(client.Validation{Results: m})}
	}
	for name, tt := range map[string]struct {
		opts           []client.Option
		call           []client.CallOption
		fails, reports bool
	}{
		"default":                 {reports: true},
		"strict":                  {opts: mode(client.ValidateStrict), fails: true},
		"warn":                    {opts: mode(client.ValidateWarn), reports: true},
		"strict after warn":       {opts: append(mode(client.ValidateWarn), mode(client.ValidateStrict)...), fails: true},
		"off":                     {opts: mode(client.ValidateOff)},
		"a call":                  {call: []client.CallOption{client.WithoutValidation()}},
		"a call, strict":          {opts: mode(client.ValidateStrict), call: []client.CallOption{client.WithoutValidation()}},
		"arguments are unchecked": {opts: []client.Option{client.WithValidation(client.Validation{Arguments: client.ValidateOff})}, reports: true},
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var log lines
					var events []misfit
					c, s := ofVersion(t, version, toolWith(weather), append(tt.opts, client.WithLogger(log.logger()), mismatches(&events))...)
					s.result("tools/call", `{"content":[{"type":"text","text":"warm"}],"structuredContent":{"degrees":"s3cret"}}`)
					for range 3 {
						res, err := c.CallTool(t.Context(), "x", nil, tt.call...)
						require.Equal(t, tt.fails, err != nil, "%v", err)
						if !tt.fails {
							require.Equal(t, "warm", res.Text())
							require.Equal(t, json.RawMessage(`{"degrees":"s3cret"}`), res.StructuredContent)
						}
					}
					synctest.Wait()
					const reason = `"degrees" must be a number, got a string`
					if !tt.reports {
						require.Empty(t, events)
						require.NotContains(t, log.text(), "does not fit")
						return
					}
					require.Equal(t, slices.Repeat([]misfit{{"x", reason}}, 3), events)
					require.Equal(t, 1, strings.Count(log.text(), "does not fit its output schema"), "once for a schema")
					require.NotContains(t, log.text(), "s3cret")

					s.result("tools/list", toolWith(strings.Replace(weather, "number", "integer", 1)))
					time.Sleep(10 * time.Second)
					_, err := c.CallTool(t.Context(), "x", nil)
					require.NoError(t, err)
					require.Equal(t, 2, strings.Count(log.text(), "does not fit its output schema"), "the schema is another")
				})
			})
		}
	}
	tr, _ := newFake(t)
	_, err := client.Connect(t.Context(), tr, client.WithValidation(client.Validation{Results: 9}))
	require.ErrorContains(t, err, "unknown validation mode 9")
}

// An error of the tool is not checked, and a decoder that cannot use a result reports
// that itself.
func TestOutputMismatchOfCallAs(t *testing.T) {
	t.Parallel()
	c, s := ofVersion(t, "2025-11-25", toolWith(weather))
	s.result("tools/call", `{"content":[],"structuredContent":{"where":"here"}}`)
	got, err := client.CallAs[struct {
		Where string `json:"where"`
	}](t.Context(), c, "x", nil)
	require.NoError(t, err)
	require.Equal(t, "here", got.Where)
	_, err = client.CallAs[[]int](t.Context(), c, "x", nil)
	require.ErrorContains(t, err, "cannot be decoded")
}

// A changed definition refuses no result: the client checks it again, and a list that
// is not available proves nothing.
func TestOutputOfAChangedTool(t *testing.T) {
	t.Parallel()
	c, s := ofVersion(t, "2025-11-25", toolWith(weather), strictResults)
	s.result("tools/call", `{"content":[],"structuredContent":{"celsius":3}}`)
	_, err := c.CallTool(t.Context(), "x", nil)
	require.Error(t, err, "the server lists the same still")
	require.Equal(t, 2, s.count("tools/list"))

	s.result("tools/list", toolWith(`{"type":"object","required":["celsius"]}`))
	c.InvalidateTools()
	_, err = c.CallTool(t.Context(), "x", nil)
	require.NoError(t, err)
	require.Equal(t, 3, s.count("tools/list"))

	s.result("tools/call", `{"content":[],"structuredContent":{"kelvin":3}}`)
	s.on("tools/list", func(jsonrpc.Request) any { return jsonrpc.NewError(-32603, "broken", nil) })
	c.InvalidateTools()
	_, err = c.CallTool(t.Context(), "x", nil)
	require.NoError(t, err)
}

// A result that does not fit makes one request for the list, and is then judged by
// what the server lists now, in the default as in strict.
func TestOutputMismatchAsksForTheListFirst(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		now   string // the schema that the server lists now
		opts  []client.Option
		fails bool
		event []misfit
	}{
		"it fits now":                  {now: `{"type":"object","required":["celsius"]}`},
		"it fits now, strict":          {now: `{"type":"object","required":["celsius"]}`, opts: []client.Option{strictResults}},
		"the tool has no schema now":   {now: ""},
		"it does not fit":              {now: `{"type":"object","required":["kelvin"]}`, event: []misfit{{"x", `"kelvin" is required`}}},
		"it does not fit, strict":      {now: `{"type":"object","required":["kelvin"]}`, opts: []client.Option{strictResults}, fails: true},
		"the list is what it was":      {now: weather, event: []misfit{{"x", `"degrees" is required`}}},
		"the list is what it was, too": {now: weather, opts: []client.Option{strictResults}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var events []misfit
				c, s := ofVersion(t, "2025-11-25", toolWith(weather), append(tt.opts, mismatches(&events))...)
				s.result("tools/call", `{"content":[],"structuredContent":{"celsius":3}}`)
				s.result("tools/list", toolWith(tt.now))
				before := s.count("tools/list")
				_, err := c.CallTool(t.Context(), "x", nil)
				require.Equal(t, tt.fails, err != nil, "%v", err)
				require.Equal(t, before+1, s.count("tools/list"))
				_, err = c.CallTool(t.Context(), "x", nil)
				require.Equal(t, tt.fails, err != nil, "%v", err)
				require.Equal(t, before+1, s.count("tools/list"), "asked once in ten seconds")
				synctest.Wait()
				require.Equal(t, append(tt.event, tt.event...), events)
			})
		})
	}
}

// A schema that refers to another document is not fetched, in any revision: it cannot
// be checked, which is logged once (official json-schema-ref-no-deref).
func TestForeignReferencesAreNotFetched(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"type":"string"}`))
	}))
	defer canary.Close()
	foreign := `{"type":"object","properties":{"a":{"$ref":"` + canary.URL + `/schema.json"}}}`
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		var log lines
		c, s := ofVersion(t, version, `{"tools":[{"name":"x","inputSchema":`+foreign+`,"outputSchema":`+foreign+`}]}`,
			client.WithLogger(log.logger()))
		s.result("tools/call", `{"content":[],"structuredContent":{"a":1}}`)
		for range 3 {
			_, err := c.CallTool(t.Context(), "x", map[string]any{"a": 1})
			require.NoError(t, err)
		}
		tool, err := c.GetToolSchema(t.Context(), "x")
		require.NoError(t, err)
		require.JSONEq(t, foreign, string(tool.OutputSchema), "the schema is handed on as it is")
		require.NoError(t, ignoreClosed(c.Close()))
		require.Equal(t, 1, strings.Count(log.String(), "output schema cannot be used"))
		require.Equal(t, 1, strings.Count(log.String(), "input schema cannot be used"))
	}
	require.Zero(t, asked.Load())
}

func toolWith(outputSchema string) string {
	if outputSchema != "" {
		outputSchema = `,"outputSchema":` + outputSchema
	}
	return `{"tools":[{"name":"x","inputSchema":{"type":"object"}` + outputSchema + `}]}`
}

// ofVersion returns a client of a fake server that speaks one revision and lists
// tools.
func ofVersion(t *testing.T, version, tools string, opts ...client.Option) (*client.Client, *fakeServer) {
	t.Helper()
	tr, s := newFake(t)
	s.result("tools/list", tools)
	s.result("initialize", strings.Replace(initResult, "2025-11-25", version, 1))
	s.result("server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	c, err := client.Connect(t.Context(), tr, append([]client.Option{client.WithProtocolVersion(version)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
	return c, s
}

// The result's memory is the caller's, and digits are kept.
func TestStructuredContentIsVerbatim(t *testing.T) {
	t.Parallel()
	c, s := ofVersion(t, "2026-07-28", toolWith(`{"type":"array"}`))
	s.result("tools/call", `{"content":[],"structuredContent":[9007199254740993,1.10]}`)
	res, err := c.CallTool(t.Context(), "x", nil)
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(`[9007199254740993,1.10]`), res.StructuredContent)
}
