package main

import (
	"path"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/mutants"
)

// explanation says why both suites differ.
type explanation struct {
	server string // "" is all
	name   string // scenario:check; * stands for what there is between
	// broken are the checks of ours that do not hold; none where they do, or
	// do not apply.
	broken []string
	why    string
}

// explanations are what was found by looking at the frames. Each sentence in
// quotes is of the specification.
var explanations = []explanation{
	{
		name: "dns-rebinding-protection:localhost-host-rebinding-rejected", broken: []string{"X-SEC-02/foreign"},
		why: "The official suite sends a foreign Host and a foreign Origin at once and takes any 4xx: a server that looks at Host alone passes. Here a foreign Origin comes with the right Host, and is served: \"Servers MUST validate the Origin header on all incoming connections to prevent DNS rebinding attacks\" (basic/transports#security-warning).",
	},
	{
		name: "dns-rebinding-protection:localhost-host-rebinding-rejected", broken: []string{"HTTP-05/foreign"},
		why: "As in the session era: there a foreign Host and Origin at once, here a foreign Origin with the right Host, which is served. \"Servers MUST validate the Origin header on all incoming connections\" (basic/transports/streamable-http#security-warning).",
	},
	{
		name: "json-schema-2020-12:sep-2106-*",
		why:  "These keywords came with the stateless era (SEP-2106). The official suite looks at them in the session era, too, but lets a server pass or skips: it can fail only in the stateless era, where both judge them.",
	},
	{
		server: "go-sdk", name: "*:wire-schema-valid", broken: []string{"RPC-01/schema-sent"},
		why: "Called without a progress token, the fixture test_tool_with_progress sends notifications/progress with progressToken null, which is no ProgressToken of the schema (string or integer). The official suite calls it with a token only.",
	},
	{
		server: "go-sdk", name: "server-stateless:sep-2575-http-server-header-mismatch-400", broken: []string{"HTTP-29/other"},
		why: "The official suite puts the unknown revision in the body, this one in the header. go-sdk answers an unknown revision in the header with 400 and plain text, which is no JSON-RPC error: \"the server MUST reject the request with 400 Bad Request and a HeaderMismatch JSON-RPC error\" (basic/transports/streamable-http#protocol-version-header).",
	},
	{
		server: "go-sdk", name: "server-stateless:sep-2575-server-unsupported-version-error", broken: []string{"DISC-06/code"},
		why: "The official suite asks for v999.0.0, this one for 1999-01-01. go-sdk compares revisions as texts: what sorts before the revisions it has gets 400 and plain text. \"If the server does not implement the requested version (whether the version is unknown to the server, or is a known version the server has chosen not to support), it MUST respond with an UnsupportedProtocolVersionError\" (basic/versioning#protocol-version-negotiation).",
	},
	{
		server: "go-sdk", name: "input-required-result-tampered-state:sep-2322-reject-tampered-state", broken: []string{"MRTR-13/tampered"},
		why: "The official suite changes the state by adding -TAMPERED to it, and the fixture looks for that mark alone (requestStateTamperedSuffix). Here a character in the middle is another one, tampereA_state for tampered_state, and is taken: \"servers MUST protect its integrity (e.g. HMAC or AEAD) and MUST reject state that fails verification\" (basic/patterns/mrtr#server-requirements-basic-workflow).",
	},
	{
		server: example, name: "tools-call-sampling:tools-call-sampling", broken: []string{"SAMP-01/used"},
		why: "The fixture reads the model's answer with the schema of the request and reports \"Sampling not supported or error\". The official suite looks only that the client was asked and that some content comes back.",
	},
	{
		server: example, name: "completion-complete:completion-complete",
		why: "server/discover does not declare completions, so they are not judged here. The official suite calls whatever is declared.",
	},
	{
		server: example, name: "http-custom-header-server-validation:sep-2243-server-no-xmcp-tool",
		why: missing,
	},
	{
		server: example, name: "input-required-result-result-type:sep-2322-result-type-included", broken: []string{"DISC-12/result-type"},
		why: "The official suite looks at one result, of the fixture that asks. Here every result is looked at, and those of tools/call that go through SDK 1.29 have none: \"The result MUST include a resultType field to indicate the type of the result.\" (basic#responses).",
	},
	{
		server: example, name: "server-stateless:sep-2575-server-sends-subscription-ack", broken: []string{"CHG-04/first"},
		why: "The server streams JSON, a message a line, as application/json in a body that never ends. The official suite takes lines as they come, whatever their type; here application/json is one object, and none arrives: \"Content-Type: application/json (a single JSON object)\" (basic/transports/streamable-http).",
	},
	{
		server: example, name: "server-stateless:sep-2575-server-tags-subscription-id",
		why: "As with the acknowledgment: no event comes that could carry the id.",
	},
	{
		server: example, name: "server-stateless:sep-2575-server-honors-notification-filter",
		why: hidden,
	},
	{
		server: example, name: "server-stateless:sep-2575-server-sends-*-list-changed-on-subscription",
		why: hidden,
	},
}

// explain says why both suites differ in a row, "" when nobody has found out.
func (c comparison) explain(r row) string {
	absent := r.official.Status != mutants.OfficialPass && r.outcome() == unjudged && len(r.skipped) > 0
	if absent && !slices.ContainsFunc(r.skipped, func(reason string) bool {
		return reason != string(conformance.SkipNoFixture) && reason != string(conformance.SkipNotDeclared)
	}) {
		return missing
	}
	for i := range explanations {
		if explanations[i].covers(c, r) {
			return explanations[i].why
		}
	}
	return ""
}

// example is the TypeScript server among the examples of the official suite.
const example = "TypeScript-example"

const (
	// missing is why a server without a feature differs.
	missing = "The server does not declare this or has no such fixture. Here that is not applicable; the official suite fails it."
	hidden  = "The server serves the tools that change its lists and does not list them. The official suite calls them all the same; here a tool that is not listed is not there."
)

func (e *explanation) covers(c comparison, r row) bool {
	named, err := path.Match(e.name, r.name)
	return err == nil && named && (e.server == "" || e.server == c.server) && slices.Equal(e.broken, r.broken)
}

// stale are the explanations of servers that ran, of which nothing differs.
func stale(runs []comparison) []string {
	var out []string
	for i := range explanations {
		e := &explanations[i]
		ran, used := false, false
		for _, c := range runs {
			ran = ran || e.server == c.server || e.server == ""
			used = used || slices.ContainsFunc(c.rows, func(r row) bool {
				return (r.outcome() == differs || r.outcome() == unjudged) && e.covers(c, r)
			})
		}
		if ran && !used {
			out = append(out, e.server+" "+e.name)
		}
	}
	return out
}
