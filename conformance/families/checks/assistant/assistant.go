// Package assistant has the checks of save_artifact.
package assistant

import (
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
	"github.com/mainstay-mcp/mainstay/mcp"
)

// ToolSave is the tool of the assistant family.
const ToolSave = "save_artifact"

const Area = "assistant"

// noSession is what an unknown session token gets (S4-SAVE-04).
const noSession = "Error: session context not found"

// maxSaved is the most bytes a saved file may have.
const maxSaved = 5 << 20

// Scenarios returns the scenarios of the family.
func Scenarios() []engine.Scenario {
	needs := assistantNeeds()
	return slices.Concat(
		table.Scenarios(assistantTables()...), table.Scenarios(assistantRowTables()...),
		[]engine.Scenario{
			docling.NotObserved("S4-SAVE-07", needs, "a database that fails"),
			docling.NotObserved("S4-REG-01", needs, "tokens that are registered and taken back"),
			docling.NotObserved("S4-REG-02", needs, "a look at the registry"),
			docling.NotObserved("S4-REG-03", needs, "a clock"),
			docling.NotObserved("S4-GEN-03", needs, "a chat whose agent calls this server"),
			docling.NotObserved("S4-GEN-05", needs, "a chat whose agent calls this server"),
		},
	)
}

func assistantNeeds() engine.Needs {
	return engine.Needs{Capability: "tools", Profile: profile.Assistant, SideEffects: conformance.SideEffectsAll, Tools: []string{ToolSave}}
}

// assistantTable is a table of the family.
func assistantTable(id, title string, steps ...table.Step) table.Table {
	return table.Table{ID: id, Area: Area, Title: title, Needs: assistantNeeds(), Steps: steps, Make: makeAssistant}
}

// savingTable is a table whose calls save, which takes a token.
func savingTable(id, title string, steps ...table.Step) table.Table {
	tb := assistantTable(id, title, steps...)
	tb.Suits = knownToken
	return tb
}

func makeAssistant(r *table.Run, name string) (any, error) {
	switch name {
	case "token":
		return surroundings.Of(r.Trial).SessionToken, nil
	case "most":
		return strings.Repeat("0123456789abcdef", maxSaved/16), nil
	case "over":
		return strings.Repeat("0123456789abcdef", maxSaved/16) + "x", nil
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

// saved expects the marker of a file with a title, in a text that S4's own
// reader takes, which looks for the first "|".
func saved(title string) table.Expectation {
	return table.That("a marker with an id, generated_file and the title, ended by the first |", func(doc any, kept map[string]any) bool {
		created, ok := markerOf(table.TextAt(doc, "text"))
		want := strings.ReplaceAll(title, "$nonce", fmt.Sprint(kept["nonce"]))
		return ok && created["artifact_type"] == "generated_file" && created["title"] == want && artifact.UUIDText.MatchString(fmt.Sprint(created["id"]))
	})
}

// markerOf reads the marker at the start of a text.
func markerOf(text string) (map[string]any, bool) {
	rest, marked := strings.CutPrefix(text, "ARTIFACT_CREATED:")
	inner, after, ended := strings.Cut(rest, "|")
	var created map[string]any
	err := json.Unmarshal([]byte(inner), &created)
	return created, marked && ended && err == nil && after == "File generated successfully."
}

func assistantTables() []table.Table {
	file := table.Members{"session_token": "$token", "title": "A file of the suite", "content_markdown": "# A file\n\nGröße 漢字 🦊\n"}
	save := func(word, title string, args table.Members, want ...table.Expectation) table.Step {
		return table.Step{Word: word, Title: title, Tool: ToolSave, Args: args, Want: want}
	}
	titled := func(word, title, text string) table.Step {
		return save(word, title, file.With(table.Members{"title": text}), table.Succeeds(saved(text))...)
	}
	stranger := file.With(table.Members{"session_token": "8f0c7f6e-1111-4222-8333-$nonce"})
	refused := table.RPCCode(wire.CodeInvalidParams)
	arguments := []table.Step{}
	for _, name := range []string{"session_token", "title", "content_markdown"} {
		arguments = append(arguments,
			save("no-"+strings.ReplaceAll(name, "_", "-"), "no "+name+" is refused", stranger.Without(name), refused...),
			save("type-"+strings.ReplaceAll(name, "_", "-"), name+" that is no string is refused", stranger.With(table.Members{name: 7}), refused...),
		)
	}
	arguments = append(arguments, save("unknown", "an argument nobody knows is refused", stranger.With(table.Members{"artifact_type": "brd"}), refused...))
	marker := save("marker", "the text is the marker, then |File generated successfully.", file, table.Succeeds(saved("A file of the suite"))...)
	marker.Keep = map[string]string{"first": "text"}
	return []table.Table{
		savingTable("S4-SAVE-01", "a file is saved",
			marker,
			table.Step{Word: "text", Title: "nothing stands before the marker", Want: table.Wants(table.Like("text", `^ARTIFACT_CREATED:\{.*\}\|File generated successfully\.$`))},
			save("again", "saved again it has another id", file, table.Succeeds(saved("A file of the suite"), table.That("another id", func(doc any, kept map[string]any) bool {
				created, ok := markerOf(table.TextAt(doc, "text"))
				before, _ := markerOf(fmt.Sprint(kept["first"]))
				return ok && created["id"] != before["id"]
			}))...),
		),
		assistantTable("S4-SAVE-04", "tokens nobody knows",
			save("text", "the text is the error of S4, and isError is true", stranger, table.Is("isError", true), table.Is("text", noSession)),
			save("empty", "an empty token is refused", stranger.With(table.Members{"session_token": ""}), refused...),
		),
		savingTable("S4-SAVE-05", "titles that could break the marker",
			titled("bar", "a title with | is whole", "one | two || three"),
			titled("quotes", "so is one with quotes and backslashes", `"quoted" \ and {"json": "|"}`),
			titled("newline", "so is one with a newline", "first\nsecond"),
			titled("emoji", "so is one with letters of all kinds", "Größe 漢字 🦊 </script>"),
			titled("marker", "so is one that looks like a marker", "ARTIFACT_CREATED:{}|File generated successfully."),
		),
		savingTable("S4-SAVE-06", "sizes",
			save("most", "5 MiB are saved", file.With(table.Members{"title": "5 MiB", "content_markdown": "$most"}), table.Succeeds(saved("5 MiB"))...),
			save("over", "one byte more is refused", file.With(table.Members{"title": "more", "content_markdown": "$over"}), refused...),
			save("title", "a title of 255 characters is taken", file.With(table.Members{"title": coe.Letters(255)}), table.Succeeds(saved(coe.Letters(255)))...),
			save("long-title", "one of 256 is refused", file.With(table.Members{"title": coe.Letters(256)}), refused...),
			save("no-title", "an empty one is refused", file.With(table.Members{"title": ""}), refused...),
			save("nothing", "an empty file is saved", file.With(table.Members{"title": "nothing", "content_markdown": ""}), table.Succeeds(saved("nothing"))...),
		),
		assistantTable("S4-SAVE-08", "the tool and its arguments", slices.Concat([]table.Step{{
			Word: "schema", Title: "save_artifact takes exactly three strings, all required", Tool: mcp.MethodToolsList, Direct: true,
			Want: table.Wants(table.That("session_token, title and content_markdown", listsSave)),
		}}, arguments)...),
	}
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

// assistantRowTables are about what is kept, which is read over HTTP.
func assistantRowTables() []table.Table {
	const title, content = "A row | of the suite", "# A row\r\n\n\tGröße 漢字 🦊\n"
	row := func(id, name string, steps ...table.Step) table.Table {
		tb := savingTable(id, name, steps...)
		tb.Needs.Transport = conformance.TransportHTTP
		return tb
	}
	save := table.Step{Tool: ToolSave, Args: table.Members{"session_token": "$token", "title": title, "content_markdown": content}, Keep: map[string]string{"marker": "text"}}
	holds := func(path string, want any) table.Expectation {
		return table.That(fmt.Sprintf("%s %q in the row", path, want), func(_ any, kept map[string]any) bool {
			found, there := table.Lookup(kept["row"], "body."+path)
			return there && found == want
		})
	}
	return []table.Table{
		row("S4-SAVE-02", "the row of a file", save,
			table.Step{Before: readRow, Word: "type", Title: "its type is generated_file", Want: table.Wants(holds("artifact_type", "generated_file"))},
			table.Step{Word: "title", Title: "its title is the one given", Want: table.Wants(holds("title", title))},
			table.Step{Requirement: "S4-GEN-04", Word: "content", Title: "GET /api/artifacts/{id} gives the content, byte for byte", Want: table.Wants(holds("content_markdown", content))},
			table.Step{Requirement: "S4-SAVE-03", Word: "committed", Title: "it can be read as soon as the answer is there", Want: table.Wants(table.That("status 200", func(_ any, kept map[string]any) bool {
				return table.NumberAt(kept["row"], "status") == http.StatusOK
			}))},
			table.Step{Word: "thread", Title: "it says its thread, and when it was created", Want: table.Wants(table.That("thread_id and created_at", func(_ any, kept map[string]any) bool {
				return table.TextAt(kept["row"], "body.thread_id") != "" && table.Timestamp("").Holds(docling.Within(kept["row"], "body.created_at"), true, nil)
			}))},
		),
	}
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
