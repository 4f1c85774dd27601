package suitetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// reply is a response before it is written.
type reply = map[string]any

// defect is what is wrong with a fake server. The zero value is a healthy one.
type defect struct {
	// raw takes a message before it is read; handled true ends its way.
	raw func(c *fakeConn, line []byte) (out []any, handled bool)
	// first takes a request or notification before the server does.
	first func(c *fakeConn, m fakeMessage) (out []any, handled bool)
	// after changes the answer to a request; nil drops it.
	after func(c *fakeConn, m fakeMessage, r reply) []any
	// verdict and stored change the payload of the two tools.
	verdict func(arguments map[string]any, payload map[string]any)
	stored  func(arguments map[string]any, payload map[string]any)
	// log changes a log line; nil drops it.
	log func(line map[string]any) map[string]any
	// schema is removed from the schemas arguments are judged by.
	schema []string
	// files is a fault in how artifacts are stored or checklists are read, by
	// name.
	files string
	// chunks reads the input as it arrives instead of by lines.
	chunks bool
	// stays does not end with the input; only in the middle of a handshake
	// when it is "handshake".
	stays string
	// status is the exit status of the program.
	status int
	// features are differences that are no defects: "no-resources", "no-tools", "asks".
	features []string
	// http changes the HTTP side.
	http fakeHTTPDefect
}

func (d *defect) has(feature string) bool { return slices.Contains(d.features, feature) }

// fakeMessage is a request or notification.
type fakeMessage struct {
	id     json.RawMessage
	method string
	params map[string]any
	raw    []byte
	// call is the tool of a tools/call, arguments are its own.
	call      string
	arguments map[string]any
}

// fake is a server that keeps every rule of the suite but the one its defect
// breaks.
type fake struct {
	defect
	base, checklists string

	mu     sync.Mutex
	cache  map[string][]byte
	stderr io.Writer
	count  int
}

func newFake(d defect, base, checklists string, stderr io.Writer) *fake {
	return &fake{defect: d, base: base, checklists: checklists, stderr: stderr, cache: map[string][]byte{}}
}

// fakeConn is one session of a fake.
type fakeConn struct {
	*fake
	version   mcp.Version
	opened    bool // initialize was answered
	ready     bool // initialized was received
	dead      bool // answers nothing any more
	held      []any
	callCount int
}

// serve is a [Serve].
func (f *fake) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	c := &fakeConn{fake: f}
	write := func(messages []any) error {
		for _, m := range messages {
			line, isRaw := m.([]byte)
			if !isRaw {
				line = rawjson.Encode(m)
			}
			if _, err := out.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	}
	if f.has("banner") {
		if err := write([]any{[]byte("hello, I am a banner")}); err != nil {
			return err
		}
	}
	var next func() ([]byte, error)
	if f.chunks {
		buf := make([]byte, 1<<16)
		next = func() ([]byte, error) {
			n, err := in.Read(buf)
			line, _, _ := bytes.Cut(buf[:n], []byte("\n"))
			return line, err
		}
	} else {
		r := bufio.NewReaderSize(in, 1<<16)
		next = func() ([]byte, error) {
			line, err := r.ReadBytes('\n')
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
	for {
		line, err := next()
		if err != nil {
			break
		}
		if c.dead {
			continue
		}
		if len(bytes.TrimSpace(line)) == 0 {
			if f.has("blank-ends") {
				return nil
			}
			continue
		}
		messages := c.handle(line)
		if err := write(messages); err != nil {
			return err
		}
		if f.has("ends") {
			return nil
		}
	}
	if f.stays == "always" || f.stays == "handshake" && !c.ready {
		<-ctx.Done()
	}
	return nil
}

// handle returns what the server says to a message.
func (c *fakeConn) handle(line []byte) []any {
	if c.raw != nil {
		if out, handled := c.raw(c, line); handled {
			return out
		}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return []any{failure(nil, wire.CodeParse, "Parse error", nil)}
	}
	if _, isResponse := members["method"]; !isResponse {
		return nil
	}
	m := fakeMessage{id: members["id"], raw: line}
	if rawjson.Text(members["jsonrpc"]) != "2.0" || json.Unmarshal(members["method"], &m.method) != nil {
		return []any{failure(m.id, wire.CodeInvalidRequest, "Invalid Request", nil)}
	}
	if params, there := members["params"]; there && json.Unmarshal(params, &m.params) != nil {
		if m.id == nil {
			return nil
		}
		r := failure(m.id, wire.CodeInvalidParams, "params must be an object", nil)
		if c.after != nil {
			return c.after(c, m, r)
		}
		return []any{r}
	}
	if m.method == mcp.MethodToolsCall {
		m.call, _ = m.params["name"].(string)
		m.arguments, _ = m.params["arguments"].(map[string]any)
	}
	if c.first != nil {
		if out, handled := c.first(c, m); handled {
			return out
		}
	}
	if m.id == nil {
		return c.notification(m)
	}
	r := c.request(m)
	if c.after != nil {
		return c.after(c, m, r)
	}
	return []any{r}
}

func (c *fakeConn) notification(m fakeMessage) []any {
	if m.method != mcp.MethodInitialized {
		return nil
	}
	c.ready = true
	if c.has("asks") {
		return []any{reply{"jsonrpc": "2.0", "id": "s-1", "method": "ping", "params": reply{}}}
	}
	return nil
}

func success(id json.RawMessage, result any) reply {
	return reply{"jsonrpc": "2.0", "id": id, "result": result}
}

func failure(id json.RawMessage, code int64, message string, data any) reply {
	e := reply{"code": code, "message": message}
	if data != nil {
		e["data"] = data
	}
	return reply{"jsonrpc": "2.0", "id": id, "error": e}
}

func (c *fakeConn) request(m fakeMessage) reply {
	if !c.ready && m.method != mcp.MethodPing && m.method != mcp.MethodInitialize {
		return failure(m.id, wire.CodeInvalidRequest, "Invalid Request: server not initialized", reply{"reason": "not_initialized"})
	}
	if c.has("no-tools") && strings.HasPrefix(m.method, "tools/") || c.has("no-resources") && strings.HasPrefix(m.method, "resources/") {
		return failure(m.id, wire.CodeMethodNotFound, "Method not found", nil)
	}
	switch m.method {
	case mcp.MethodInitialize:
		if c.opened {
			return failure(m.id, wire.CodeInvalidRequest, "initialized already", nil)
		}
		c.opened = true
		return success(m.id, c.initialize(m))
	case mcp.MethodPing:
		return success(m.id, reply{})
	case mcp.MethodToolsList:
		return c.list(m)
	case mcp.MethodToolsCall:
		return c.callTool(m)
	case mcp.MethodResourcesRead:
		return c.readResource(m)
	case mcp.MethodResourcesList:
		return success(m.id, reply{"resources": []any{}})
	}
	return failure(m.id, wire.CodeMethodNotFound, "Method not found", nil)
}

func (c *fakeConn) initialize(m fakeMessage) reply {
	offered, _ := m.params["protocolVersion"].(string)
	c.version = mcp.LatestSession
	if v := mcp.Version(offered); v.Era() == mcp.EraSession {
		c.version = v
	}
	capabilities := reply{
		"tools": reply{}, "resources": reply{},
		"experimental": reply{
			"errorProfiles": reply{artifact.ToolValidate: profile.Artifact, artifact.ToolStore: profile.Artifact},
			"conformance":   reply{"sideEffects": "all"},
		},
	}
	for _, name := range []string{"resources", "tools"} {
		if c.has("no-" + name) {
			delete(capabilities, name)
		}
	}
	return reply{
		"protocolVersion": c.version, "capabilities": capabilities,
		"serverInfo": reply{"name": "fake", "version": "1"}, "instructions": "none",
	}
}

// fakeTools are the tools, a page each.
func fakeTools() []reply {
	str := func(more reply) reply {
		out := reply{"type": "string"}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	task := str(reply{"minLength": 1, "maxLength": 128})
	schema := func(properties reply, required ...string) reply {
		return reply{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	}
	return []reply{
		{
			"name": artifact.ToolValidate, "description": "Judges an artifact", "annotations": reply{"readOnlyHint": true},
			"inputSchema": schema(reply{"artifact_content": str(nil), "artifact_id": str(nil), "task_id": task}, "artifact_content", "artifact_id", "task_id"),
		},
		{
			"name": artifact.ToolStore, "description": "Stores an artifact",
			"inputSchema": schema(reply{"artifact_content": str(reply{"minLength": 100}), "task_id": task}, "artifact_content", "task_id"),
		},
		{
			"name": "limits", "description": "Has every kind of limit",
			"inputSchema": schema(reply{
				"mode":  str(reply{"enum": []string{"a", "b"}}),
				"count": reply{"type": "integer", "minimum": 1, "maximum": 10},
				"ref":   str(reply{"pattern": `^[A-Z]+-\d{3,}$`}),
				"word":  str(reply{"minLength": 2, "maxLength": 5}),
			}, "mode", "count"),
			"outputSchema": reply{"type": "object"},
		},
	}
}

func (c *fakeConn) list(m fakeMessage) reply {
	tools := fakeTools()
	page := 0
	if cursor, there := m.params["cursor"]; there {
		page = slices.Index([]string{"", "1", "2"}, cursor.(string))
		if page < 1 {
			return failure(m.id, wire.CodeInvalidParams, "Invalid cursor", nil)
		}
	}
	result := reply{"tools": []any{tools[page]}}
	if page < len(tools)-1 {
		result["nextCursor"] = []string{"1", "2"}[page]
	}
	return success(m.id, result)
}

func (c *fakeConn) callTool(m fakeMessage) reply {
	name, ok := m.params["name"].(string)
	if !ok {
		return failure(m.id, wire.CodeInvalidParams, "name must be a string", nil)
	}
	at := slices.IndexFunc(fakeTools(), func(t reply) bool { return t["name"] == name })
	if at < 0 {
		return failure(m.id, wire.CodeInvalidParams, "Unknown tool: "+name, reply{"tool": name})
	}
	profile := reply{"profile": profile.Artifact}
	var arguments any = map[string]any{}
	if given, there := m.params["arguments"]; there {
		arguments = given
	}
	if err := c.judge(fakeTools()[at]["inputSchema"], arguments); err != nil {
		c.warnTraversal(name, m.arguments)
		return failure(m.id, wire.CodeInvalidParams, "Invalid params: "+err.Error(), profile)
	}
	c.callCount++
	var payload map[string]any
	switch name {
	case artifact.ToolValidate:
		payload, err := c.validateTool(m.arguments)
		return c.toolReply(m, payload, err)
	case artifact.ToolStore:
		payload, err := c.storeTool(m.arguments)
		return c.toolReply(m, payload, err)
	}
	return c.toolReply(m, payload, nil)
}

// judge holds arguments against a schema, without the keywords the defect
// removes.
func (c *fakeConn) judge(definition, arguments any) error {
	var plain any
	if err := json.Unmarshal(rawjson.Encode(definition), &plain); err != nil {
		return err
	}
	without(plain, c.schema)
	var s jsonschema.Schema
	if err := json.Unmarshal(rawjson.Encode(plain), &s); err != nil {
		return err
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(arguments)
}

func without(v any, keywords []string) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, k := range keywords {
		delete(m, k)
	}
	for _, child := range m {
		without(child, keywords)
	}
}

// toolReply makes the answer to a call.
func (c *fakeConn) toolReply(m fakeMessage, payload map[string]any, err error) reply {
	var fault *fakeError
	if e, ok := err.(*fakeError); ok {
		fault = e
	}
	if fault != nil {
		data := reply{"profile": profile.Artifact}
		for k, v := range fault.data {
			data[k] = v
		}
		return failure(m.id, fault.code, fault.message, data)
	}
	if payload == nil {
		payload = reply{"ok": true}
	}
	result := reply{"content": []any{reply{"type": "text", "text": string(rawjson.Encode(payload))}}, "isError": false}
	if c.version.AtLeast(mcp.Version2025_06_18) {
		result["structuredContent"] = payload
	}
	return success(m.id, result)
}

// logLine writes one log line.
func (f *fake) logLine(event, tool string, line map[string]any) {
	line["timestamp"] = time.Now().UTC().Format(time.RFC3339Nano)
	line["event"], line["tool_name"] = event, tool
	if f.log != nil {
		line = f.log(line)
	}
	if line == nil || f.stderr == nil {
		return
	}
	_, _ = f.stderr.Write(append(rawjson.Encode(line), '\n'))
}

func (f *fake) warnTraversal(tool string, arguments map[string]any) {
	id, _ := arguments["artifact_id"].(string)
	if strings.Contains(id, "..") {
		f.logLine("Path traversal attempt detected", tool, map[string]any{"artifact_id": id})
	}
}
