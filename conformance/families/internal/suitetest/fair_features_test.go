package suitetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks/lifecycle"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestFair_Refusals: an error that the specification lets a server answer, and the
// loss of a server, say nothing of what was not seen.
func TestFair_Refusals(t *testing.T) {
	t.Parallel()
	lists := asksFor(mcp.MethodToolsList)
	completes := func(m fakeMessage) bool {
		ref, _ := m.params["ref"].(map[string]any)
		return m.method == mcp.MethodCompletionComplete && ref["name"] == fixture.PromptArguments
	}
	mute := func(when func(m fakeMessage) bool) rewritten {
		return rewritten{first: func(m fakeMessage) ([]any, bool) { return nil, when(m) }}
	}
	unknownName := func(method string) rewritten {
		return rewritten{first: func(m fakeMessage) ([]any, bool) {
			name, _ := m.params["name"].(string)
			return []any{failure(m.id, wire.CodeMethodNotFound, "Unknown: "+name, nil)}, m.method == method && strings.HasPrefix(name, lifecycle.NothingSuch)
		}}
	}
	session := func(r rewritten) rewritten { r.revision = mcp.LatestSession; return r }
	// The SDK for TypeScript holds the arguments against an object, and there are none.
	optional := changed(mcp.MethodPromptsList, func(_ fakeMessage, result reply) {
		for _, p := range result["prompts"].([]any) {
			if p.(reply)["name"] != fixture.PromptArguments {
				continue
			}
			for _, a := range p.(reply)["arguments"].([]any) {
				delete(a.(reply), "required")
			}
		}
	})
	optional.first = func(m fakeMessage) ([]any, bool) {
		if m.method != mcp.MethodPromptsGet || m.params["name"] != fixture.PromptArguments {
			return nil, false
		}
		if m.params["arguments"] == nil {
			return []any{failure(m.id, wire.CodeInvalidParams, "expected object, received undefined", nil)}, true
		}
		message := reply{"role": "user", "content": reply{"type": "text", "text": "Tell me of git."}}
		return []any{success(m.id, reply{"resultType": "complete", "messages": []any{message}})}, true
	}
	cases := map[string]struct {
		check string
		rewritten
		want   conformance.Status
		reason conformance.SkipReason
	}{
		"a completion that lacks an argument":          {"CMP-01/values", refusedWith(wire.CodeInvalidParams, completes), conformance.Skip, conformance.SkipNoFixture},
		"its values are not counted":                   {"CMP-02/hundred", refusedWith(wire.CodeInvalidParams, completes), conformance.Skip, conformance.SkipNoFixture},
		"silence is no completion":                     {"CMP-01/values", mute(completes), conformance.Inconclusive, ""},
		"silence has no values to count":               {"CMP-02/hundred", mute(completes), conformance.Inconclusive, ""},
		"silence is no unknown method":                 {"LC-14/completions", session(mute(asksFor(mcp.MethodCompletionComplete))), conformance.Inconclusive, ""},
		"the tools are in a place that is away":        {"LC-14/tools", refusedWith(wire.CodeInternal, lists), conformance.Pass, ""},
		"the tool is unknown, and not the method":      {"LC-14/call", unknownName(mcp.MethodToolsCall), conformance.Pass, ""},
		"the prompt is unknown, and not the method":    {"LC-14/get", unknownName(mcp.MethodPromptsGet), conformance.Pass, ""},
		"a list that is an error has no shape":         {"TOOL-01/list", refusedWith(wire.CodeInternal, lists), conformance.Inconclusive, ""},
		"a list of resources that is an error, too":    {"TALK-RESOURCES/list", refusedWith(wire.CodeInternal, asksFor(mcp.MethodResourcesList)), conformance.Inconclusive, ""},
		"a list of prompts that is an error, too":      {"TALK-PROMPTS/list", refusedWith(wire.CodeInternal, asksFor(mcp.MethodPromptsList)), conformance.Inconclusive, ""},
		"its entries are not known":                    {"RES-02/entries", refusedWith(wire.CodeInternal, asksFor(mcp.MethodResourcesList)), conformance.Inconclusive, ""},
		"what no server has is asked for all the same": {"RES-03/code", refusedWith(wire.CodeInternal, asksFor(mcp.MethodResourcesList)), conformance.Pass, ""},
		"a list is no invalid request":                 {"LC-14/prompts", refusedWith(wire.CodeInvalidRequest, asksFor(mcp.MethodPromptsList)), conformance.Fail, ""},
		"a resource is on a network that is away":      {"RES-02/read", refusedInstead(ofFixed(false)), conformance.Inconclusive, ""},
		"a fixed text needs no network":                {"RES-02/read", refusedInstead(ofFixed(true)), conformance.Warn, ""},
		"nothing was read":                             {"RES-02/uri", refusedInstead(asksFor(mcp.MethodResourcesRead)), conformance.Skip, conformance.SkipNoFixture},
		"a prompt is made on a network that is away":   {"PRM-01/get", refusedInstead(asksFor(mcp.MethodPromptsGet)), conformance.Inconclusive, ""},
		"arguments have to be an object":               {"PRM-01/get", optional, conformance.Pass, ""},
		"the list is that of the request":              {"DISC-11/declared", rewritten{after: listByCapability()}, conformance.Pass, ""},
	}
	for name, c := range cases {
		for _, http := range []bool{false, true} {
			if http && strings.HasPrefix(name, "silence") {
				continue // a stream that ends without its response is no silence
			}
			t.Run(name+map[bool]string{false: " over stdio", true: " over http"}[http], func(t *testing.T) {
				t.Parallel()
				r := c.rewritten
				r.overHTTP = http
				got := r.judge(t, c.check)
				require.Equal(t, c.want, got.Status, "%s %s", got.Actual, got.Detail)
				require.Equal(t, c.reason, got.Reason)
			})
		}
	}
}

// ofFixed tells whether one of the fixtures with fixed contents is read, or anything else.
func ofFixed(fixed bool) func(m fakeMessage) bool {
	return func(m fakeMessage) bool {
		uri := m.params["uri"]
		return m.method == mcp.MethodResourcesRead && (uri == fixture.ResourceStatic || uri == fixture.ResourceBinary) == fixed
	}
}

// TestFair_Blame: what a server does wrong is held against it once, under the rule
// that it breaks.
func TestFair_Blame(t *testing.T) {
	t.Parallel()
	// mcp-go 1.2.1 ends a subscription to nothing, and acknowledges it after that.
	late := rewritten{first: func(m fakeMessage) ([]any, bool) {
		meta := reply{mcp.MetaSubscriptionID: json.RawMessage("70001")}
		return []any{
			success(m.id, reply{"resultType": "complete", "_meta": meta}),
			reply{"jsonrpc": "2.0", "method": mcp.MethodSubscriptionsAcknowledged, "params": reply{"notifications": reply{}, "_meta": meta}},
		}, string(m.id) == "70001"
	}}
	// go-sdk 1.8.0 answers an array with one, where no client may send it.
	batch := rewritten{revision: mcp.LatestSession, also: []string{"RPC-17"}, line: func(line []byte) ([]any, bool) {
		return []any{[]any{success(json.RawMessage(`"batched-1"`), reply{})}}, rawjson.IsArray(line)
	}}
	other := refusedWith(wire.CodeMethodNotFound, func(m fakeMessage) bool { return metaOf(m)[mcp.MetaProtocolVersion] == "1999-01-01" })
	cases := map[string]struct {
		rewritten
		want conformance.Status
	}{
		"CHG-04/integer": {late, conformance.Pass}, "CHG-04/empty": {late, conformance.Fail},
		"RPC-17/no-batch": {batch, conformance.Pass}, "RPC-17/refused": {batch, conformance.Fail},
		"DISC-06/code": {other, conformance.Fail}, "DISC-06/supported": {other, conformance.Skip}, "DISC-06/requested": {other, conformance.Skip}, "DISC-06/agrees": {other, conformance.Skip},
	}
	for id, c := range cases {
		for _, http := range []bool{false, true} {
			if http && c.line != nil {
				continue // lines are those of stdio
			}
			t.Run(id+map[bool]string{false: " over stdio", true: " over http"}[http], func(t *testing.T) {
				t.Parallel()
				r := c.rewritten
				r.overHTTP = http
				got := r.judge(t, id)
				require.Equal(t, c.want, got.Status, "%s %s", got.Actual, got.Detail)
			})
		}
	}
}

// TestFair_Ends: what one message has ended is judged by the others all the same.
func TestFair_Ends(t *testing.T) {
	t.Parallel()
	ends := func(sign func(line []byte) bool) rewritten {
		srv, err := reference.New(reference.Options{Families: []string{"fixtures"}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, srv.Close()) })
		return rewritten{server: endsAt(srv.ServeStdio, sign)}
	}
	// go-sdk 1.8.0 ends at either.
	blank := ends(func(line []byte) bool { return bytes.HasSuffix(line, []byte(" \n")) })
	junk := ends(func(line []byte) bool { return bytes.HasPrefix(line, []byte("this is not")) })
	for id, c := range map[string]struct {
		rewritten
		want conformance.Status
	}{
		"RPC-01/whitespace": {blank, conformance.Fail}, "RPC-01/order": {blank, conformance.Pass}, "RPC-19/meta": {blank, conformance.Pass},
		"STDIO-02/mixed": {junk, conformance.Fail}, "STDIO-02/nul": {junk, conformance.Pass}, "STDIO-02/many": {junk, conformance.Pass}, "STDIO-01/newlines": {junk, conformance.Pass}, "STDIO-02/last": {junk, conformance.Pass},
	} {
		for _, revision := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
			t.Run(id+" "+string(revision), func(t *testing.T) {
				t.Parallel()
				r := c.rewritten
				r.revision, r.also = revision, []string{scenarioOf(t, id).ID}
				got := r.judge(t, id)
				require.Equal(t, c.want, got.Status, "%s %s", got.Actual, got.Detail)
			})
		}
	}
}

// endsAt is a server that ends at a line.
func endsAt(serve wire.Serve, sign func(line []byte) bool) wire.Serve {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		cut, write := io.Pipe()
		go func() {
			lines := bufio.NewReader(in)
			for {
				line, err := lines.ReadBytes('\n')
				if sign(line) {
					break
				}
				_, _ = write.Write(line) // a server that has ended reads nothing
				if err != nil {
					break
				}
			}
			_ = write.Close() // never fails
		}()
		err := serve(ctx, cut, out)
		_ = cut.Close() // never fails
		return err
	}
}

// TestFair_HTTP: what HTTP lets a server refuse.
func TestFair_HTTP(t *testing.T) {
	t.Parallel()
	method := func(name string) rewritten {
		return answered(http.StatusNotImplemented, func(r *http.Request, _ []byte) bool { return r.Method == name })
	}
	chunked := func() rewritten {
		return answered(http.StatusLengthRequired, func(r *http.Request, _ []byte) bool { return r.ContentLength < 0 })
	}
	for id, r := range map[string]rewritten{
		"HTTP-01/chunked": chunked(), "HTTP-01/slow": chunked(), "HTTP-19/head": method(http.MethodHead),
		"HTTP-19/options": method(http.MethodOptions), "HTTP-19/put": method(http.MethodPut), "HTTP-19/patch": method(http.MethodPatch),
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got := r.judge(t, id)
			require.Equal(t, conformance.Pass, got.Status, "%s %s", got.Actual, got.Detail)
		})
	}
}

// TestFair_Earlier: what a server of this revision alone should refuse, one of two
// eras may serve.
func TestFair_Earlier(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"HTTP-28/get", "HTTP-28/delete", "HTTP-28/session", "HTTP-35/last-event"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			r := rewrites()[id]
			r.first, r.after = nil, nil
			got := r.judge(t, id)
			require.Equal(t, conformance.Skip, got.Status, "%s %s", got.Actual, got.Detail)
			require.Equal(t, conformance.SkipNotInRevision, got.Reason)
		})
	}
}

// TestFair_Advice: what no sentence forbids warns, and does not fail a run.
func TestFair_Advice(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		rewritten
		level conformance.Level
	}{
		"X-WIRE-07/unique":           {doubled(wire.ToolList), conformance.Should},
		"RES-02/unique":              {doubled(wire.ResourceList), conformance.Advice},
		"PRM-01/unique":              {doubled(wire.PromptList), conformance.Advice},
		"UTIL-14/disjoint":           {twoPages(wire.ToolList), conformance.Advice},
		"UTIL-14/prompts-disjoint":   {twoPages(wire.PromptList), conformance.Advice},
		"UTIL-14/resources-disjoint": {twoPages(wire.ResourceList), conformance.Advice},
		"UTIL-14/templates-disjoint": {twoPages(wire.TemplateList), conformance.Advice},
		"RES-02/read":                {refusedWith(wire.CodeInvalidParams, asksFor(mcp.MethodResourcesRead)), conformance.Advice},
		"PRM-01/get":                 {refusedWith(wire.CodeInvalidParams, asksFor(mcp.MethodPromptsGet)), conformance.Advice},
	}
	for id, c := range cases {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got := c.judge(t, id)
			require.Equal(t, conformance.Warn, got.Status, "%s %s", got.Actual, got.Detail)
			require.Equal(t, c.level, got.Level)
			for _, strict := range []bool{false, true} {
				report := &conformance.Report{Policy: conformance.Policy{Strict: strict}}
				require.Equal(t, strict && c.level == conformance.Should, report.Fails(&got))
			}
		})
	}
}

// TestFair_Evidence: a session that has died shows what it died of.
func TestFair_Evidence(t *testing.T) {
	t.Parallel()
	const id = "X-WIRE-05/alive"
	broken := defects()[id]
	got := broken.judge(t, id, id)
	require.Equal(t, conformance.Fail, got.Status, "%s %s", got.Actual, got.Detail)
	for _, sent := range []string{"notifications/com.example/unknown", `"never-sent"`, `"method":"ping"`} {
		require.True(t, slices.ContainsFunc(got.Evidence, func(f conformance.Frame) bool {
			return f.Dir == conformance.ToServer && bytes.Contains(f.Data, []byte(sent))
		}), "%s is not in %d frames", sent, len(got.Evidence))
	}
}
