// Package assistant has the checks of save_artifact.
package assistant

import (
	_ "embed" // the tables
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/coe"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// ToolSave is the tool of the assistant family.
const ToolSave = "save_artifact"

const Area = "assistant"

// noSession is what an unknown session token gets (S4-SAVE-04).
const noSession = "Error: session context not found"

// maxSaved is the most bytes a saved file may have.
const maxSaved = 5 << 20

// tables are the checks that are calls, one after the other.
//
//go:generate gzip -9nkf tables.txt
//go:embed tables.txt.gz
var tables string

// Scenarios returns the scenarios of the family.
func Scenarios() []engine.Scenario {
	needs := needsOf(nil)
	all := table.Scenarios(table.MustRead(tables, table.Words{
		Area: Area, Needs: needsOf, Make: makeAssistant, That: judgements, Phrases: phrases,
		Suits:  map[string]func(r *table.Run) (string, error){"known token": knownToken},
		Before: func(string) (func(r *table.Run) error, error) { return readRow, nil },
	})...)
	return append(all,
		docling.NotObserved("S4-SAVE-07", needs, "a database that fails"),
		docling.NotObserved("S4-REG-01", needs, "tokens that are registered and taken back"),
		docling.NotObserved("S4-REG-02", needs, "a look at the registry"),
		docling.NotObserved("S4-REG-03", needs, "a clock"),
		docling.NotObserved("S4-GEN-03", needs, "a chat whose agent calls this server"),
		docling.NotObserved("S4-GEN-05", needs, "a chat whose agent calls this server"),
	)
}

// needsOf is what a table needs; "http" is the transport.
func needsOf(words []string) engine.Needs {
	needs := engine.Needs{Capability: "tools", Profile: profile.Assistant, SideEffects: conformance.SideEffectsAll, Tools: []string{ToolSave}}
	if len(words) > 0 {
		needs.Transport = conformance.TransportKind(words[0])
	}
	return needs
}

func makeAssistant(r *table.Run, name string) (any, error) {
	switch name {
	case "token":
		return surroundings.Of(r.Trial).SessionToken, nil
	case "most":
		return strings.Repeat("0123456789abcdef", maxSaved/16), nil
	case "over":
		return strings.Repeat("0123456789abcdef", maxSaved/16) + "x", nil
	case "letters-255":
		return coe.Letters(255), nil
	case "letters-256":
		return coe.Letters(256), nil
	}
	return nil, fmt.Errorf("%w: no answer before had %s", table.ErrPrerequisite, name)
}

// knownToken keeps a table to servers that take the token of the suite.
func knownToken(r *table.Run) (string, error) {
	const reason = "needs a session token that the server knows"
	if surroundings.Of(r.Trial).SessionToken == "" {
		return reason, nil
	}
	doc, err := r.Prepare(ToolSave, table.Members{"session_token": "$token", "title": "whether the token is known", "content_markdown": "# A token"})
	if err == nil && table.TextAt(doc, "text") == noSession {
		return reason, nil
	}
	return "", err
}

// phrases are expectations of tables, by their first word.
var phrases = map[string]func(text string) ([]table.Expectation, error){
	// The marker of a file with a title, in a text that S4's own reader takes, which looks for
	// the first "|".
	"saved": func(text string) ([]table.Expectation, error) {
		var title string
		err := json.Unmarshal([]byte(text), &title)
		return table.Wants(table.That("a marker with an id, generated_file and the title, ended by the first |", func(doc any, kept map[string]any) bool {
			created, ok := markerOf(table.TextAt(doc, "text"))
			return ok && created["artifact_type"] == "generated_file" && table.Is("title", title).Holds(created["title"], true, kept) && artifact.UUIDText.MatchString(fmt.Sprint(created["id"]))
		})), err
	},
	// A member of the row that was read.
	"row": func(text string) ([]table.Expectation, error) {
		path, value, _ := strings.Cut(text, " ")
		var want string
		err := json.Unmarshal([]byte(value), &want)
		return table.Wants(table.That(fmt.Sprintf("%s %q in the row", path, want), func(_ any, kept map[string]any) bool {
			found, there := table.Lookup(kept["row"], "body."+path)
			return there && found == want
		})), err
	},
}

// judgements are what tables ask of whole answers, by their words.
var judgements = map[string]func(doc any, kept map[string]any) bool{
	"another id": func(doc any, kept map[string]any) bool {
		created, ok := markerOf(table.TextAt(doc, "text"))
		before, _ := markerOf(fmt.Sprint(kept["first"]))
		return ok && created["id"] != before["id"]
	},
	"status 200": func(_ any, kept map[string]any) bool { return table.NumberAt(kept["row"], "status") == http.StatusOK },
	"thread_id and created_at": func(_ any, kept map[string]any) bool {
		return table.TextAt(kept["row"], "body.thread_id") != "" && table.Timestamp("").Holds(docling.Within(kept["row"], "body.created_at"), true, nil)
	},
	"session_token, title and content_markdown": listsSave,
}

// markerOf reads the marker at the start of a text.
func markerOf(text string) (map[string]any, bool) {
	rest, marked := strings.CutPrefix(text, "ARTIFACT_CREATED:")
	inner, after, ended := strings.Cut(rest, "|")
	var created map[string]any
	err := json.Unmarshal([]byte(inner), &created)
	return created, marked && ended && err == nil && after == "File generated successfully."
}

// listsSave reports whether tools/list has save_artifact as S4 has it.
func listsSave(doc any, _ map[string]any) bool {
	for _, tool := range table.ArrayAt(doc, "payload.tools") {
		if table.TextAt(tool, "name") != ToolSave {
			continue
		}
		required := table.ArrayAt(tool, "inputSchema.required")
		properties, _ := docling.Within(tool, "inputSchema.properties").(map[string]any)
		for _, name := range []string{"session_token", "title", "content_markdown"} {
			if !slices.Contains(required, any(name)) || table.TextAt(tool, "inputSchema.properties."+name+".type") != "string" {
				return false
			}
		}
		return len(required) == 3 && len(properties) == 3
	}
	return false
}

// readRow reads the artifact of the marker kept and keeps the answer as row.
func readRow(r *table.Run) error {
	created, ok := markerOf(fmt.Sprint(r.Kept["marker"]))
	subject, isURL := r.Rev.Subject.(*conformance.URLSubject)
	if !ok || !isURL {
		return fmt.Errorf("%w: a marker in %s", table.ErrPrerequisite, rawjson.Clip(fmt.Sprint(r.Kept["marker"]), 100))
	}
	u, err := url.Parse(subject.URL)
	if err != nil {
		return err
	}
	u.Path, u.RawQuery = "/api/artifacts/"+fmt.Sprint(created["id"]), ""
	req, err := http.NewRequestWithContext(r.Ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return engine.SuiteError(err)
	}
	for name, values := range subject.Header {
		req.Header[name] = values
	}
	transport := subject.RoundTripper
	if transport == nil {
		own := &http.Transport{}
		defer own.CloseIdleConnections()
		transport = own
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, wire.MaxFrame))
	if err != nil {
		return err
	}
	r.Kept["row"] = map[string]any{"status": float64(resp.StatusCode), "body": table.Decoded(body)}
	return nil
}
