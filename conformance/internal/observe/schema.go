package observe

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The schemas of the specification, one file for each revision. They are compressed with
// gzip -9n, so that mcpctl is 0.5 MB smaller.
//
//go:embed schemas/*.json.gz
var schemaFiles embed.FS

// Checks of every message against its schema.
const (
	SeenResultSchema = "RPC-01/schema-result"
	SeenSentSchema   = "RPC-01/schema-sent"
)

// wireSchemas judges the messages of one revision. Safe for concurrent use.
type wireSchemas struct {
	container string                     // where the definitions are
	defs      map[string]json.RawMessage // by name
	byMethod  map[string]string          // the definition of a request or notification

	mu       sync.Mutex
	compiled map[string]*jsonschema.Resolved
}

var schemasOf = sync.OnceValue(func() map[mcp.Version]*wireSchemas {
	all := map[mcp.Version]*wireSchemas{}
	for _, v := range mcp.Versions() {
		data, err := schemaText(v)
		var doc map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(data, &doc)
		}
		if err != nil {
			panic(fmt.Sprintf("conformance: the schema of %s: %v", v, err)) //nolint:forbidigo // embedded: a build without it is broken
		}
		w := &wireSchemas{container: "definitions", byMethod: map[string]string{}, compiled: map[string]*jsonschema.Resolved{}}
		if doc["$defs"] != nil {
			w.container = "$defs"
		}
		w.defs, _ = rawjson.Object(doc[w.container])
		if raw := w.defs["JSONValue"]; raw != nil { // schema.ts, the source of truth, has null and fractions, too
			w.defs["JSONValue"] = bytes.Replace(raw, []byte(`"integer"`), []byte(`"number","null"`), 1)
		}
		for name, raw := range w.defs {
			var d struct {
				Properties struct{ Method struct{ Const string } }
			}
			if json.Unmarshal(raw, &d) == nil && d.Properties.Method.Const != "" {
				w.byMethod[d.Properties.Method.Const] = name
			}
		}
		all[v] = w
	}
	return all
})

func schemaText(v mcp.Version) ([]byte, error) {
	packed, err := schemaFiles.Open("schemas/" + string(v) + ".json.gz")
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// resultFault returns why a result does not match its method, "" if it does or the method
// is unknown.
func resultFault(v mcp.Version, method string, result json.RawMessage) string {
	w := schemasOf()[v]
	if w == nil {
		return ""
	}
	members, _ := rawjson.Object(result)
	name := strings.TrimSuffix(w.byMethod[method], "Request") + "Result"
	switch kind := rawjson.Text(members["resultType"]); {
	case w.byMethod[method] == "":
		return ""
	case v == mcp.Version2025_11_25 && method == mcp.MethodToolsCall && rawjson.IsObject(members["task"]):
		name = "CreateTaskResult"
	case kind == "input_required":
		name = "InputRequiredResult"
	case v.Era() == mcp.EraStateless && members["resultType"] != nil && kind != "complete":
		return "" // of an extension, or judged by another check
	case w.defs[name] == nil:
		name = "EmptyResult"
	}
	return w.fault(name, result)
}

// sentFault returns why a request or notification of the server does not match its method,
// "" if it does.
func sentFault(v mcp.Version, method string, message []byte) string {
	w := schemasOf()[v]
	if w == nil || w.byMethod[method] == "" {
		return "" // of an extension
	}
	return w.fault(w.byMethod[method], message)
}

func (w *wireSchemas) fault(name string, data []byte) string {
	schema, err := w.compile(name)
	if err != nil {
		return ""
	}
	var value any
	if json.Unmarshal(data, &value) != nil {
		return "" // judged elsewhere
	}
	if err := schema.Validate(value); err != nil {
		return rawjson.Clip(faultOf(err.Error()), 200) + " (" + name + ")"
	}
	return ""
}

func (w *wireSchemas) compile(name string) (*jsonschema.Resolved, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.compiled[name]; ok {
		return r, nil
	}
	var s jsonschema.Schema
	whole := rawjson.Encode(map[string]any{w.container: w.reachable(name), "allOf": []any{map[string]any{"$ref": "#/" + w.container + "/" + name}}})
	if err := json.Unmarshal(whole, &s); err != nil {
		return nil, err
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	w.compiled[name] = r
	return r, nil
}

// reachable returns a definition with those that it refers to. Compiling all definitions
// for each takes a hundred times as long.
func (w *wireSchemas) reachable(name string) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	for next := []string{name}; len(next) > 0; next = next[1:] {
		if raw, there := w.defs[next[0]]; there && found[next[0]] == nil {
			found[next[0]] = raw
			for _, part := range strings.Split(string(raw), `"#/`+w.container+"/")[1:] {
				ref, _, _ := strings.Cut(part, `"`)
				next = append(next, ref)
			}
		}
	}
	return found
}

// fits judges a message by the schema of the session's revision.
func (o *Observer) fits(s *wire.Session, in wire.Inbound) {
	if o.Unasked {
		return
	}
	v := s.Stateless
	if v == "" && s.Opened != nil {
		v = s.Opened.Revision
	}
	result, hasResult := in.Members["result"]
	switch {
	case !in.IsResponse():
		if v != "" {
			reason := sentFault(v, in.Method(), in.Data)
			o.See(SeenSentSchema, reason == "", in, "%s: %s", in.Method(), reason)
		}
	case hasResult:
		method := s.Methods[in.ID()]
		if members, ok := rawjson.Object(result); ok && method == mcp.MethodInitialize {
			v = mcp.Version(rawjson.Text(members["protocolVersion"]))
		}
		if method != "" && v.Known() {
			reason := resultFault(v, method, result)
			o.See(SeenResultSchema, reason == "", in, "%s: %s", method, reason)
		}
	}
}
