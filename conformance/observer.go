package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Error codes of the artifact family (tools.md 1.2).
const (
	codeServer   = -32000
	codeNotFound = -32001
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
	frame  wire.Frame
}

func newObserver() *observer {
	return &observer{observed: map[string]int{}, broken: map[string][]violation{}}
}

// see records that a rule was looked at, and the violation unless ok.
func (o *observer) see(id string, ok bool, in wire.Inbound, format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.observed[id]++
	if ok || len(o.broken[id]) >= 5 {
		return
	}
	frame := wire.Frame{Dir: wire.FromServer, Data: slices.Clone(in.Data[:min(len(in.Data), wire.KeptBytes)]), Size: len(in.Data), HTTP: in.HTTP}
	o.broken[id] = append(o.broken[id], violation{fmt.Sprintf(format, args...), frame})
}

// message judges one message of a session.
func (o *observer) message(s *wire.Session, in wire.Inbound) {
	switch kind := s.Conn.Transport(); {
	case kind == wire.TransportStdio:
		o.see(seenClean, in.Members != nil || rawjson.IsArray(in.Data), in, "a line on standard output is no message: %v", in.Err)
	case kind == wire.TransportSSE:
		if in.HTTP == nil || in.HTTP.Status < 300 { // else the body of a refusal
			o.see(seenSSEMessage, in.Name == "message" && (in.Members != nil || rawjson.IsArray(in.Data)), in, "an event named %s: %v", in.Name, in.Err)
		}
	case in.HTTP != nil && in.HTTP.Status < 300:
		o.see(seenMediaType, wire.IsAnswerType(in.HTTP.ContentType), in, "Content-Type %q", in.HTTP.ContentType)
		if wire.MediaType(http.Header{"Content-Type": {in.HTTP.ContentType}}) == wire.MediaStream {
			o.see(seenEvent, in.Members != nil || rawjson.IsArray(in.Data), in, "the data of an event are no message: %v", in.Err)
		} else {
			o.see(seenOne, in.Members != nil || rawjson.IsArray(in.Data), in, "a body is no message: %v", in.Err)
		}
	}
	// Revision B alone has batches. Who sends one elsewhere may get one back.
	batches := s.Opened != nil && s.Opened.Revision == mcp.Version2025_03_26 || s.Arrays
	o.see(seenBatch, batches || !rawjson.IsArray(in.Data), in, "a JSON array")
	if in.Members == nil {
		return
	}
	if s.Stateless != "" {
		o.stateless(s, in)
	}
	o.see(seenVersion, string(in.Members["jsonrpc"]) == `"2.0"`, in, "jsonrpc is %s", rawjson.OrAbsent(in.Members["jsonrpc"]))
	o.fits(s, in)
	o.meta(in)
	if in.IsResponse() {
		o.response(s, in)
		o.content(s, in)
		return
	}
	if raw, ok := in.Members["id"]; ok {
		o.see(seenRequestID, rawjson.IsID(raw), in, "id is %s", rawjson.Clip(string(raw), 40))
	}
	if raw, ok := in.Members["params"]; ok {
		o.see(seenParams, len(raw) > 0 && raw[0] == '{', in, "params is %s", rawjson.Clip(string(raw), 40))
	}
}

func (o *observer) response(s *wire.Session, in wire.Inbound) {
	_, hasResult := in.Members["result"]
	errRaw, hasError := in.Members["error"]
	o.see(seenExclusive, hasResult != hasError, in, "result %s, error %s", presence(hasResult), presence(hasError))
	if hasError {
		reason := errorShape(errRaw)
		o.see(seenError, reason == "", in, "%s", reason)
	}
	id := in.ID()
	if id == "" || id == "null" {
		_, null := s.Pending["null"] // RPC-02/null is about who serves that
		o.see(seenKnown, hasError || null, in, "a result without an id")
		return
	}
	answered, asked := s.Pending[id]
	if !asked && s.Malformed {
		return // RPC-02 is about what becomes of an id that is none
	}
	o.see(seenKnown, asked, in, "id %s was never sent", rawjson.Clip(id, 60))
	if asked {
		o.see(seenOnce, !answered, in, "id %s is answered a second time", rawjson.Clip(id, 60))
		s.Pending[id] = true
	}
}

// errorShape says what is wrong with an error object, "" when nothing is.
func errorShape(raw json.RawMessage) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return "error is not an object"
	}
	if !rawjson.IsInteger(members["code"]) {
		return "error.code is " + rawjson.OrAbsent(members["code"])
	}
	if !rawjson.IsString(members["message"]) {
		return "error.message is " + rawjson.OrAbsent(members["message"])
	}
	return ""
}

// callResult judges the result of a tools/call, whoever made the call.
func (o *observer) callResult(a wire.Answer, revision mcp.Version) {
	var result map[string]json.RawMessage
	if a.Err != nil || json.Unmarshal(a.Result, &result) != nil || result == nil {
		return
	}
	if rawjson.Text(result["resultType"]) == "input_required" {
		return // no result yet (MRTR-01)
	}
	reason := contentShape(result["content"])
	o.see(seenContent, reason == "", a.In, "%s", reason)
	if raw, ok := result["isError"]; ok {
		o.see(seenIsError, string(raw) == "true" || string(raw) == "false", a.In, "isError is %s", rawjson.Clip(string(raw), 40))
	} else {
		o.see(seenIsError, true, a.In, "")
	}
	if raw, ok := result["structuredContent"]; ok && revision.Era() == mcp.EraSession {
		o.see(seenStructure, len(raw) > 0 && raw[0] == '{', a.In, "structuredContent is %s", rawjson.Clip(string(raw), 40))
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
		if !rawjson.IsString(block["type"]) {
			return fmt.Sprintf("content[%d].type is %s", i, rawjson.OrAbsent(block["type"]))
		}
		var kind string
		_ = json.Unmarshal(block["type"], &kind) // a string, as just seen
		for _, member := range needs[kind] {
			if !rawjson.IsString(block[member]) {
				return fmt.Sprintf("content[%d].%s is %s", i, member, rawjson.OrAbsent(block[member]))
			}
		}
	}
	return ""
}

func presence(there bool) string {
	if there {
		return "present"
	}
	return "absent"
}
