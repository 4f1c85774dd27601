package observe

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Checks of every message of a run.
const (
	SeenVersion   = "RPC-01/version"
	SeenExclusive = "RPC-07/exclusive"
	SeenKnown     = "RPC-06/known"
	SeenOnce      = "RPC-06/once"
	SeenError     = "RPC-08/error"
	SeenBatch     = "RPC-17/no-batch"
	SeenRequestID = "RPC-02/request-id"
	SeenParams    = "RPC-12/params"
	SeenLogging   = "LOG-01/declared"
	SeenClean     = "STDIO-01/clean"
	SeenMediaType = "HTTP-03/media-type"
	SeenOne       = "HTTP-03/one"
	SeenEvent     = "SSE-01/message"
	SeenEventID   = "SSE-01/unique"
	// SeenSSEMessage is about the HTTP+SSE transport.
	SeenSSEMessage = "OLD-01/message"
	SeenContent    = "TOOL-13/content"
	SeenIsError    = "TOOL-12/is-error"
	SeenStructure  = "TOOL-07/structured"
	SeenProfile    = "X-PROF-01/profile"
)

// Observer judges every message from the subject. Safe for concurrent use.
type Observer struct {
	// Unasked: the run does not judge messages by their schemas, which is most of the work.
	Unasked bool

	mu       sync.Mutex
	observed map[string]int
	broken   map[string][]Violation
}

// Violation is a message that breaks a rule.
type Violation struct {
	// Fault is what is wrong with it.
	Fault string
	// Frames are the request that it answers, if the suite had sent one, and the message with the
	// fault as its note.
	Frames []conformance.Frame
}

// New returns an observer without messages.
func New() *Observer {
	return &Observer{observed: map[string]int{}, broken: map[string][]Violation{}}
}

// See counts a message about a rule, and records the violation unless ok.
func (o *Observer) See(id string, ok bool, in wire.Inbound, format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.observed[id]++
	if ok || len(o.broken[id]) >= 5 {
		return
	}
	fault := fmt.Sprintf(format, args...)
	v := Violation{Fault: fault}
	if in.Occasion != nil {
		v.Frames = append(v.Frames, *in.Occasion)
	}
	frame := in.Frame()
	frame.Note = fault
	v.Frames = append(v.Frames, frame)
	o.broken[id] = append(o.broken[id], v)
}

// Outcome returns how many messages a rule was about, and the first that broke it.
func (o *Observer) Outcome(id string) (looked int, broken []Violation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.observed[id], slices.Clone(o.broken[id])
}

// Message judges one message of a session.
func (o *Observer) Message(s *wire.Session, in wire.Inbound) {
	if in.ToNotification() && in.Method() == "" {
		return // another check judges that there is a body at all
	}
	batch := rawjson.IsArray(in.Data) && json.Valid(in.Data) // a line of a log may begin with "[", too
	switch kind := s.Conn.Transport(); {
	case kind == conformance.TransportStdio:
		if s.Closed {
			break // a program may print its farewell: the suite has begun to end it
		}
		o.See(SeenClean, in.Members != nil || batch, in, "a line on standard output is no message%s: %v", s.During(), in.Err)
	case kind == conformance.TransportSSE:
		if in.HTTP == nil || in.HTTP.Status < 300 { // else the body of a refusal
			o.See(SeenSSEMessage, in.Name == "message" && (in.Members != nil || batch), in, "an event named %s: %v", in.Name, in.Err)
		}
	case in.HTTP != nil && in.HTTP.Status < 300:
		o.See(SeenMediaType, wire.IsAnswerType(in.HTTP.ContentType), in, "Content-Type %q", in.HTTP.ContentType)
		if wire.MediaType(http.Header{"Content-Type": {in.HTTP.ContentType}}) == wire.MediaStream {
			o.See(SeenEvent, in.Members != nil || batch, in, "the data of an event are no message: %v", in.Err)
			o.eventID(s, in)
		} else {
			o.See(SeenOne, in.Members != nil || batch, in, "a body is no message: %v", in.Err)
		}
	}
	// Only 2025-03-26 has batches. A batch in another revision may be answered by one.
	batches := s.Opened != nil && s.Opened.Revision == mcp.Version2025_03_26 || s.SentArray
	o.See(SeenBatch, batches || !batch, in, "a JSON array")
	if in.Members == nil {
		return
	}
	if s.Stateless != "" {
		o.stateless(s, in)
	}
	o.See(SeenVersion, string(in.Members["jsonrpc"]) == `"2.0"`, in, "jsonrpc is %s", rawjson.OrAbsent(in.Members["jsonrpc"]))
	o.fits(s, in)
	o.meta(in)
	if in.IsResponse() {
		o.response(s, in)
		o.content(s, in)
		return
	}
	if raw, ok := in.Members["id"]; ok {
		o.See(SeenRequestID, rawjson.IsID(raw), in, "id is %s", rawjson.Clip(string(raw), 40))
		o.asked(s, in)
	}
	if in.Method() == mcp.MethodMessage && s.Opened != nil {
		declared, _ := rawjson.Object(s.Opened.Capabilities)
		o.See(SeenLogging, declared["logging"] != nil, in, "capabilities.logging absent")
	}
	o.news(s, in)
	if raw, ok := in.Members["params"]; ok {
		o.See(SeenParams, len(raw) > 0 && raw[0] == '{', in, "params is %s", rawjson.Clip(string(raw), 40))
	}
}

// eventID judges the id of an event. An event that is sent again, to a client that comes back, has the
// same one.
func (o *Observer) eventID(s *wire.Session, in wire.Inbound) {
	conn, ok := s.Conn.(*wire.HTTPConn)
	if !ok || in.Event == "" || s.Stateless != "" || conn.SessionID() == "" {
		return
	}
	before, known := s.Event(in.Event, string(in.Data))
	o.See(SeenEventID, !known || before == string(in.Data), in, "the event %s had the id %s, too", rawjson.Clip(before, 120), in.Event)
}

// waiting returns a request that has no answer yet, and what to say of it: that of another may be its
// own.
func waiting(s *wire.Session) (request *conformance.Frame, about string) {
	for _, id := range slices.Sorted(maps.Keys(s.Pending)) {
		if !s.Pending[id] {
			return s.Sent(id), fmt.Sprintf(", and %s, a %s that was sent as well, not yet: this may be its answer", rawjson.Clip(id, 60), rawjson.Clip(s.Methods[id], 60))
		}
	}
	return nil, ""
}

func (o *Observer) response(s *wire.Session, in wire.Inbound) {
	_, hasResult := in.Members["result"]
	errRaw, hasError := in.Members["error"]
	o.See(SeenExclusive, hasResult != hasError, in, "result %s, error %s", presence(hasResult), presence(hasError))
	if hasError {
		reason := ErrorShape(errRaw)
		o.See(SeenError, reason == "", in, "%s", reason)
	}
	id := in.ID()
	if id == "" || id == "null" {
		_, null := s.Pending["null"] // another check judges null ids
		o.See(SeenKnown, hasError || null, in, "a result without an id")
		return
	}
	answered, asked := s.Pending[id]
	if !asked && s.SentBadID {
		return // another check judges invalid ids
	}
	o.See(SeenKnown, asked, in, "id %s was never sent", rawjson.Clip(id, 60))
	if asked {
		s.Pending[id] = true
		about := ""
		if answered {
			var request *conformance.Frame
			if request, about = waiting(s); request != nil {
				in.Occasion = request
			}
		}
		o.See(SeenOnce, !answered, in, "id %s is answered a second time%s", rawjson.Clip(id, 60), about)
	}
}

// ErrorShape describes a fault in an error object, "" if there is none.
func ErrorShape(raw json.RawMessage) string {
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

// CallResult judges the result of a tools/call.
func (o *Observer) CallResult(a wire.Answer, revision mcp.Version) {
	var result map[string]json.RawMessage
	if a.Err != nil || json.Unmarshal(a.Result, &result) != nil || result == nil {
		return
	}
	if rawjson.Text(result["resultType"]) == "input_required" {
		return // no result yet
	}
	reason := ContentShape(result["content"])
	o.See(SeenContent, reason == "", a.In, "%s", reason)
	if raw, ok := result["isError"]; ok {
		o.See(SeenIsError, string(raw) == "true" || string(raw) == "false", a.In, "isError is %s", rawjson.Clip(string(raw), 40))
	} else {
		o.See(SeenIsError, true, a.In, "")
	}
	if raw, ok := result["structuredContent"]; ok && revision.Era() == mcp.EraSession && revision.AtLeast(mcp.Version2025_06_18) {
		o.See(SeenStructure, len(raw) > 0 && raw[0] == '{', a.In, "structuredContent is %s", rawjson.Clip(string(raw), 40))
	}
}

// ContentShape describes a fault in a content list, "" if there is none. It ignores unknown
// kinds of content.
func ContentShape(raw json.RawMessage) string {
	var blocks []map[string]json.RawMessage
	if len(raw) == 0 {
		return "content is absent"
	}
	if err := json.Unmarshal(raw, &blocks); err != nil || blocks == nil {
		return "content is " + rawjson.Clip(string(raw), 40) + ", not an array of objects"
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
