package conformance

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Error codes of JSON-RPC 2.0 and of the artifact family (tools.md 1.2).
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeServer         = -32000
	codeNotFound       = -32001
	// codeHeader refuses a request whose headers do not say what its body says,
	// before anybody looks at the body (HTTP-32).
	codeHeader = -32020
)

// Checks that are about every message of a run, whatever the scenario.
const (
	seenVersion   = "RPC-01/version"
	seenExclusive = "RPC-07/exclusive"
	seenKnown     = "RPC-06/known"
	seenOnce      = "RPC-06/once"
	seenError     = "RPC-08/error"
	seenBatch     = "RPC-17/no-batch"
	seenRequestID = "RPC-02/request-id"
	seenParams    = "RPC-12/params"
	seenClean     = "STDIO-01/clean"
	seenMediaType = "HTTP-03/media-type"
	seenOne       = "HTTP-03/one"
	seenEvent     = "SSE-01/message"
	// seenSSEMessage is about the HTTP+SSE transport.
	seenSSEMessage = "OLD-01/message"
	seenContent    = "TOOL-13/content"
	seenIsError    = "TOOL-12/is-error"
	seenStructure  = "TOOL-07/structured"
	seenProfile    = "X-PROF-01/profile"
)

// observer looks at every message from the subject. Safe for concurrent use.
type observer struct {
	// unasked: nobody wants to know whether messages fit their schemas, which is
	// most of the work of looking at them.
	unasked bool

	mu       sync.Mutex
	observed map[string]int
	broken   map[string][]violation
}

type violation struct {
	detail string
	frame  Frame
}

func newObserver() *observer {
	return &observer{observed: map[string]int{}, broken: map[string][]violation{}}
}

// see records that a rule was looked at, and the violation unless ok.
func (o *observer) see(id string, ok bool, in inbound, format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.observed[id]++
	if ok || len(o.broken[id]) >= 5 {
		return
	}
	frame := Frame{Dir: FromServer, Data: slices.Clone(in.data[:min(len(in.data), keptBytes)]), Size: len(in.data), HTTP: in.http}
	o.broken[id] = append(o.broken[id], violation{fmt.Sprintf(format, args...), frame})
}

// message judges one message of a session.
func (o *observer) message(s *session, in inbound) {
	switch kind := s.wire.transport(); {
	case kind == TransportStdio:
		o.see(seenClean, in.members != nil || isArray(in.data), in, "a line on standard output is no message: %v", in.err)
	case kind == TransportSSE:
		if in.http == nil || in.http.Status < 300 { // else the body of a refusal
			o.see(seenSSEMessage, in.name == "message" && (in.members != nil || isArray(in.data)), in, "an event named %s: %v", in.name, in.err)
		}
	case in.http != nil && in.http.Status < 300:
		o.see(seenMediaType, isAnswerType(in.http.ContentType), in, "Content-Type %q", in.http.ContentType)
		if mediaType(http.Header{"Content-Type": {in.http.ContentType}}) == mediaStream {
			o.see(seenEvent, in.members != nil || isArray(in.data), in, "the data of an event are no message: %v", in.err)
		} else {
			o.see(seenOne, in.members != nil || isArray(in.data), in, "a body is no message: %v", in.err)
		}
	}
	// Revision B alone has batches. Who sends one elsewhere may get one back.
	batches := s.opened != nil && s.opened.revision == mcp.Version2025_03_26 || s.arrays
	o.see(seenBatch, batches || !isArray(in.data), in, "a JSON array")
	if in.members == nil {
		return
	}
	if s.stateless != "" {
		o.stateless(s, in)
	}
	o.see(seenVersion, string(in.members["jsonrpc"]) == `"2.0"`, in, "jsonrpc is %s", orAbsent(in.members["jsonrpc"]))
	o.fits(s, in)
	o.meta(in)
	if in.isResponse() {
		o.response(s, in)
		o.content(s, in)
		return
	}
	if raw, ok := in.members["id"]; ok {
		o.see(seenRequestID, isID(raw), in, "id is %s", clip(string(raw), 40))
	}
	if raw, ok := in.members["params"]; ok {
		o.see(seenParams, len(raw) > 0 && raw[0] == '{', in, "params is %s", clip(string(raw), 40))
	}
}

func (o *observer) response(s *session, in inbound) {
	_, hasResult := in.members["result"]
	errRaw, hasError := in.members["error"]
	o.see(seenExclusive, hasResult != hasError, in, "result %s, error %s", presence(hasResult), presence(hasError))
	if hasError {
		reason := errorShape(errRaw)
		o.see(seenError, reason == "", in, "%s", reason)
	}
	id := in.id()
	if id == "" || id == "null" {
		_, null := s.pending["null"] // RPC-02/null is about who serves that
		o.see(seenKnown, hasError || null, in, "a result without an id")
		return
	}
	answered, asked := s.pending[id]
	if !asked && s.malformed {
		return // RPC-02 is about what becomes of an id that is none
	}
	o.see(seenKnown, asked, in, "id %s was never sent", clip(id, 60))
	if asked {
		o.see(seenOnce, !answered, in, "id %s is answered a second time", clip(id, 60))
		s.pending[id] = true
	}
}

// errorShape says what is wrong with an error object, "" when nothing is.
func errorShape(raw json.RawMessage) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return "error is not an object"
	}
	if !isInteger(members["code"]) {
		return "error.code is " + orAbsent(members["code"])
	}
	if !isString(members["message"]) {
		return "error.message is " + orAbsent(members["message"])
	}
	return ""
}

// callResult judges the result of a tools/call, whoever made the call.
func (o *observer) callResult(a answer, revision mcp.Version) {
	var result map[string]json.RawMessage
	if a.err != nil || json.Unmarshal(a.result, &result) != nil || result == nil {
		return
	}
	if text(result["resultType"]) == "input_required" {
		return // no result yet (MRTR-01)
	}
	reason := contentShape(result["content"])
	o.see(seenContent, reason == "", a.in, "%s", reason)
	if raw, ok := result["isError"]; ok {
		o.see(seenIsError, string(raw) == "true" || string(raw) == "false", a.in, "isError is %s", clip(string(raw), 40))
	} else {
		o.see(seenIsError, true, a.in, "")
	}
	if raw, ok := result["structuredContent"]; ok && revision.Era() == mcp.EraSession {
		o.see(seenStructure, len(raw) > 0 && raw[0] == '{', a.in, "structuredContent is %s", clip(string(raw), 40))
	}
}

// contentShape says what is wrong with a content list, "" when nothing is.
// Kinds of content the suite does not know are not its business.
func contentShape(raw json.RawMessage) string {
	var blocks []map[string]json.RawMessage
	if len(raw) == 0 {
		return "content is absent"
	}
	if err := json.Unmarshal(raw, &blocks); err != nil || blocks == nil {
		return "content is not an array of objects"
	}
	needs := map[string][]string{
		"text": {"text"}, "image": {"data", "mimeType"}, "audio": {"data", "mimeType"}, "resource_link": {"uri", "name"},
	}
	for i, block := range blocks {
		if !isString(block["type"]) {
			return fmt.Sprintf("content[%d].type is %s", i, orAbsent(block["type"]))
		}
		var kind string
		_ = json.Unmarshal(block["type"], &kind) // a string, as just seen
		for _, member := range needs[kind] {
			if !isString(block[member]) {
				return fmt.Sprintf("content[%d].%s is %s", i, member, orAbsent(block[member]))
			}
		}
	}
	return ""
}

func isArray(data []byte) bool { return len(data) > 0 && data[0] == '[' }

func isString(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// isInteger takes every spelling of an integer: 1, 1.0 and 1e2 are the same
// number to JSON.
func isInteger(raw json.RawMessage) bool {
	if len(raw) == 0 || len(raw) > 40 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return false
	}
	r, ok := new(big.Rat).SetString(string(raw))
	return ok && r.IsInt()
}

func isID(raw json.RawMessage) bool { return isString(raw) || isInteger(raw) }

func orAbsent(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "absent"
	}
	return clip(string(raw), 60)
}

func presence(there bool) string {
	if there {
		return "present"
	}
	return "absent"
}
