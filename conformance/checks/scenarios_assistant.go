package checks

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// toolSave is the tool of the assistant family.
const toolSave = "save_artifact"

const areaAssistant = "assistant"

// noSession is what an unknown session token gets (S4-SAVE-04).
const noSession = "Error: session context not found"

// maxSaved is the most bytes a saved file may have (tools.md §6.1).
const maxSaved = 5 << 20

func assistantScenarios() []conformance.Scenario {
	needs := assistantNeeds()
	left := func(id, title, control, check string) conformance.Scenario {
		return notObserved(needs, areaAssistant, id, title, control, check)
	}
	return slices.Concat(
		tables(assistantTables()...), tables(assistantRowTables()...),
		[]conformance.Scenario{
			left("S4-SAVE-07", "a database that fails", "a database that fails", "there is neither a marker nor a row"),
			left("S4-REG-01", "the life of a token", "tokens that are registered and taken back", "a token works only while it is registered"),
			left("S4-REG-02", "the end of a request", "a look at the registry", "the token is gone after success, error and cancel"),
			left("S4-REG-03", "a token nobody takes back", "a clock", "it is gone after ten minutes"),
			left("S4-GEN-03", "a whole chat", "a chat whose agent calls this server", "the agent saves a file over HTTP, and its row exists"),
			left("S4-GEN-05", "the events of a chat", "a chat whose agent calls this server", "artifact_created comes before message_complete"),
		},
	)
}

func assistantNeeds() conformance.Needs {
	return conformance.Needs{Capability: "tools", Family: familyAssistant, SideEffects: conformance.SideEffectsAll, Tools: []string{toolSave}}
}

// assistantTable is a table of the family.
func assistantTable(id, title string, steps ...step) table {
	return table{id: id, area: areaAssistant, title: title, needs: assistantNeeds(), steps: steps, make: makeAssistant}
}

// savingTable is a table whose calls save, which takes a token.
func savingTable(id, title string, steps ...step) table {
	tb := assistantTable(id, title, steps...)
	tb.suits = knownToken
	return tb
}

func makeAssistant(r *tableRun, name string) (any, error) {
	switch name {
	case "token":
		return r.Rev.Fixtures.SessionToken, nil
	case "most":
		return strings.Repeat("0123456789abcdef", maxSaved/16), nil
	case "over":
		return strings.Repeat("0123456789abcdef", maxSaved/16) + "x", nil
	}
	return nil, fmt.Errorf("%w: no answer before had %s", errPrerequisite, name)
}

// knownToken keeps a table to servers that take the token of the suite.
func knownToken(r *tableRun) (string, error) {
	const reason = "needs a session token that the server knows"
	if r.Rev.Fixtures.SessionToken == "" {
		return reason, nil
	}
	doc, err := r.prepare(toolSave, members{"session_token": "$token", "title": "whether the token is known", "content_markdown": "# A token"})
	if err == nil && textAt(doc, "text") == noSession {
		return reason, nil
	}
	return "", err
}

// saved expects the marker of a file with a title, in a text that S4's own
// reader takes, which looks for the first "|".
func saved(title string) expectation {
	return that("a marker with an id, generated_file and the title, ended by the first |", func(doc any, kept map[string]any) bool {
		created, ok := markerOf(textAt(doc, "text"))
		want := strings.ReplaceAll(title, "$nonce", fmt.Sprint(kept["nonce"]))
		return ok && created["artifact_type"] == "generated_file" && created["title"] == want && uuidText.MatchString(fmt.Sprint(created["id"]))
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

func assistantTables() []table {
	file := members{"session_token": "$token", "title": "A file of the suite", "content_markdown": "# A file\n\nGröße 漢字 🦊\n"}
	save := func(word, title string, args members, want ...expectation) step {
		return step{word: word, title: title, tool: toolSave, args: args, want: want}
	}
	titled := func(word, title, text string) step {
		return save(word, title, file.with(members{"title": text}), succeeds(saved(text))...)
	}
	stranger := file.with(members{"session_token": "8f0c7f6e-1111-4222-8333-$nonce"})
	refused := rpcCode(wire.CodeInvalidParams)
	arguments := []step{}
	for _, name := range []string{"session_token", "title", "content_markdown"} {
		arguments = append(arguments,
			save("no-"+strings.ReplaceAll(name, "_", "-"), "no "+name+" is refused", stranger.without(name), refused...),
			save("type-"+strings.ReplaceAll(name, "_", "-"), name+" that is no string is refused", stranger.with(members{name: 7}), refused...),
		)
	}
	arguments = append(arguments, save("unknown", "an argument nobody knows is refused", stranger.with(members{"artifact_type": "brd"}), refused...))
	marker := save("marker", "the text is the marker, then |File generated successfully.", file, succeeds(saved("A file of the suite"))...)
	marker.keep = map[string]string{"first": "text"}
	return []table{
		savingTable("S4-SAVE-01", "a file is saved",
			marker,
			step{word: "text", title: "nothing stands before the marker", want: wants(like("text", `^ARTIFACT_CREATED:\{.*\}\|File generated successfully\.$`))},
			save("again", "saved again it has another id", file, succeeds(saved("A file of the suite"), that("another id", func(doc any, kept map[string]any) bool {
				created, ok := markerOf(textAt(doc, "text"))
				before, _ := markerOf(fmt.Sprint(kept["first"]))
				return ok && created["id"] != before["id"]
			}))...),
		),
		assistantTable("S4-SAVE-04", "tokens nobody knows",
			save("text", "the text is the error of S4, and isError is true", stranger, is("isError", true), is("text", noSession)),
			save("empty", "an empty token is refused", stranger.with(members{"session_token": ""}), refused...),
		),
		savingTable("S4-SAVE-05", "titles that could break the marker",
			titled("bar", "a title with | is whole", "one | two || three"),
			titled("quotes", "so is one with quotes and backslashes", `"quoted" \ and {"json": "|"}`),
			titled("newline", "so is one with a newline", "first\nsecond"),
			titled("emoji", "so is one with letters of all kinds", "Größe 漢字 🦊 </script>"),
			titled("marker", "so is one that looks like a marker", "ARTIFACT_CREATED:{}|File generated successfully."),
		),
		savingTable("S4-SAVE-06", "sizes",
			save("most", "5 MiB are saved", file.with(members{"title": "5 MiB", "content_markdown": "$most"}), succeeds(saved("5 MiB"))...),
			save("over", "one byte more is refused", file.with(members{"title": "more", "content_markdown": "$over"}), refused...),
			save("title", "a title of 255 characters is taken", file.with(members{"title": letters(255)}), succeeds(saved(letters(255)))...),
			save("long-title", "one of 256 is refused", file.with(members{"title": letters(256)}), refused...),
			save("no-title", "an empty one is refused", file.with(members{"title": ""}), refused...),
			save("nothing", "an empty file is saved", file.with(members{"title": "nothing", "content_markdown": ""}), succeeds(saved("nothing"))...),
		),
		assistantTable("S4-SAVE-08", "the tool and its arguments", slices.Concat([]step{{
			word: "schema", title: "save_artifact takes exactly three strings, all required", tool: mcp.MethodToolsList, direct: true,
			want: wants(that("session_token, title and content_markdown", listsSave)),
		}}, arguments)...),
	}
}

// listsSave reports whether tools/list has save_artifact as S4 has it.
func listsSave(doc any, _ map[string]any) bool {
	for _, tool := range arrayAt(doc, "payload.tools") {
		if textAt(tool, "name") != toolSave {
			continue
		}
		required := arrayAt(tool, "inputSchema.required")
		properties, _ := within(tool, "inputSchema.properties").(map[string]any)
		for _, name := range []string{"session_token", "title", "content_markdown"} {
			if !slices.Contains(required, any(name)) || textAt(tool, "inputSchema.properties."+name+".type") != "string" {
				return false
			}
		}
		return len(required) == 3 && len(properties) == 3
	}
	return false
}

// assistantRowTables are about what is kept, which is read over HTTP.
func assistantRowTables() []table {
	const title, content = "A row | of the suite", "# A row\r\n\n\tGröße 漢字 🦊\n"
	row := func(id, name string, steps ...step) table {
		tb := savingTable(id, name, steps...)
		tb.needs.Transport = wire.TransportHTTP
		return tb
	}
	save := step{tool: toolSave, args: members{"session_token": "$token", "title": title, "content_markdown": content}, keep: map[string]string{"marker": "text"}}
	holds := func(path string, want any) expectation {
		return that(fmt.Sprintf("%s %q in the row", path, want), func(_ any, kept map[string]any) bool {
			found, there := lookup(kept["row"], "body."+path)
			return there && found == want
		})
	}
	return []table{
		row("S4-SAVE-02", "the row of a file", save,
			step{before: readRow, word: "type", title: "its type is generated_file", want: wants(holds("artifact_type", "generated_file"))},
			step{word: "title", title: "its title is the one given", want: wants(holds("title", title))},
			step{req: "S4-GEN-04", word: "content", title: "GET /api/artifacts/{id} gives the content, byte for byte", want: wants(holds("content_markdown", content))},
			step{req: "S4-SAVE-03", word: "committed", title: "it can be read as soon as the answer is there", want: wants(that("status 200", func(_ any, kept map[string]any) bool {
				return numberAt(kept["row"], "status") == http.StatusOK
			}))},
			step{word: "thread", title: "it says its thread, and when it was created", want: wants(that("thread_id and created_at", func(_ any, kept map[string]any) bool {
				return textAt(kept["row"], "body.thread_id") != "" && timestamp("").holds(within(kept["row"], "body.created_at"), true, nil)
			}))},
		),
	}
}

// readRow reads the artifact of the marker kept and keeps the answer as row.
func readRow(r *tableRun) error {
	created, ok := markerOf(fmt.Sprint(r.kept["marker"]))
	subject, isURL := r.Rev.Subject.(*conformance.URLSubject)
	if !ok || !isURL {
		return fmt.Errorf("%w: a marker in %s", errPrerequisite, rawjson.Clip(fmt.Sprint(r.kept["marker"]), 100))
	}
	u, err := url.Parse(subject.URL)
	if err != nil {
		return err
	}
	u.Path, u.RawQuery = "/api/artifacts/"+fmt.Sprint(created["id"]), ""
	req, err := http.NewRequestWithContext(r.Ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return conformance.Ours(err)
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
	r.kept["row"] = map[string]any{"status": float64(resp.StatusCode), "body": decoded(body)}
	return nil
}
