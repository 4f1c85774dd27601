package suitetest

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/assistant"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// doclingRewrites break the checks of the docling family.
func doclingRewrites() map[string]rewritten {
	all := tableRewrites(docling.Area, onlyFamily(profile.Docling))
	for id, r := range all {
		switch {
		case strings.HasPrefix(id, "S2-CONV-05/"):
			r.options = openToLoopback
		case strings.HasPrefix(id, "S2-CONV-11/"), id == "S2-CONV-13/file":
			r.program = true // only those have a folder that the suite fills
		}
		all[id] = r
	}
	n := 0 // of five in a run, which a busy machine repeats, one is changed
	all["S2-CONV-15"] = changedCall(docling.ToolPDF, func(_ fakeMessage, result reply) {
		if n++; n%5 == 4 {
			result["content"] = []any{reply{"type": "text", "text": "{}"}}
		}
	})
	return all
}

// openToLoopback has a server fetch pages from this machine.
func openToLoopback(o *reference.Options) {
	onlyFamily(profile.Docling)(o)
	o.Docling.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// plantedToken is the session token the tests give server and suite.
const plantedToken = "3f1d6a52-0000-4000-8000-5eede5eede50"

// withToken has a server of the assistant family that knows it.
func withToken(o *reference.Options) {
	onlyFamily(profile.Assistant)(o)
	o.Assistant.SessionToken = plantedToken
}

// assistantRewrites break the checks of the assistant family.
func assistantRewrites() map[string]rewritten {
	all := tableRewrites(assistant.Area, withToken)
	for id, r := range all {
		r.opts = func(o *conformance.Options) {
			o.Answer, o.Fixtures = engine.DefaultAnswer, around(surroundings.Fixtures{SessionToken: plantedToken})
		}
		all[id] = r
	}
	// The suite lists the tools before, too.
	schema := changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
		tools, _ := result["tools"].([]any)
		for _, tool := range tools {
			if members, ok := tool.(reply); ok && members["name"] == assistant.ToolSave {
				members["inputSchema"] = reply{"type": "object", "required": []any{"title"}}
			}
		}
	})
	schema.options, schema.opts = withToken, all["S4-SAVE-08/schema"].opts
	all["S4-SAVE-08/schema"] = schema
	// What is kept is broken where it is read.
	row := func(id, member string, value any) {
		all[id] = rewritten{options: withToken, opts: all[id].opts, http: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if !strings.HasPrefix(req.URL.Path, "/api/artifacts/") {
					next.ServeHTTP(w, req)
					return
				}
				body := reply{"id": "1", "thread_id": "t", "artifact_type": "generated_file", "title": "t", "content_markdown": "c", "created_at": "2026-01-01T00:00:00Z"}
				body[member] = value
				if id == "S4-SAVE-03/committed" {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = w.Write(rawjson.Encode(body)) // a client that has gone reads nothing
			})
		}}
	}
	row("S4-SAVE-02/type", "artifact_type", "brd")
	row("S4-SAVE-02/title", "title", "another")
	row("S4-SAVE-02/thread", "thread_id", "")
	row("S4-GEN-04/content", "content_markdown", "cut")
	row("S4-SAVE-03/committed", "id", nil)
	return all
}
