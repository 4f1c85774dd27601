package mutants

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// object is a JSON object. Its numbers are json.Number: what a defect does not
// touch stays as the server wrote it.
type object = map[string]any

// decode reads one JSON object; ok is false for all else.
func decode(data []byte) (o object, ok bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return o, d.Decode(&o) == nil && o != nil && len(bytes.TrimSpace(data[d.InputOffset():])) == 0
}

// encode writes a value of JSON's own types.
func encode(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("mutants: " + err.Error())
	}
	return bytes.TrimSpace(out.Bytes())
}

// exchange is a message of the client and what belongs to it.
type exchange struct {
	// message is nil when what the client sent is no object.
	message object
	method  string
	id      any
	params  object
	tool    string // that a tools/call is for
	// stateless: the message is of the stateless era.
	stateless bool
	session   string
	// http is the request that carried it; nil over stdio.
	http *http.Request
	// ask sends the server a message of the proxy's own, in the same session,
	// and returns its answer; nil when there is none. HTTP only.
	ask func(message object) object
}

// read makes an exchange of the bytes of a message.
func read(data []byte) *exchange {
	x := &exchange{}
	x.message, _ = decode(data)
	if x.message == nil {
		return x
	}
	x.method, _ = x.message["method"].(string)
	x.id = x.message["id"]
	x.params, _ = x.message["params"].(object)
	if x.method == mcp.MethodToolsCall {
		x.tool, _ = x.params["name"].(string)
	}
	_, x.stateless = at(x.params, "_meta")[mcp.MetaProtocolVersion]
	return x
}

// key is the id as text, its type included.
func (x *exchange) key() string { return x.session + "|" + string(encode(x.id)) }

// isRequest reports whether an answer is due.
func (x *exchange) isRequest() bool { return x.method != "" && x.id != nil }

// token is the progress token of the request, nil without one.
func (x *exchange) token() any { return at(x.params, "_meta")["progressToken"] }

// result answers the exchange.
func (x *exchange) result(result any) []object {
	return []object{{"jsonrpc": "2.0", "id": x.id, "result": result}}
}

// failure answers it with an error.
func (x *exchange) failure(code int, message string) []object {
	return []object{{"jsonrpc": "2.0", "id": x.id, "error": object{"code": code, "message": message}}}
}

// complete is the members every result of the exchange's era has.
func (x *exchange) complete(members object) object {
	if x.stateless {
		members["resultType"] = "complete"
	}
	return members
}

// at walks down the members of an object; what is not there is an empty object,
// which is no part of o.
func at(o object, path ...string) object {
	for _, name := range path {
		o, _ = o[name].(object)
	}
	if o == nil {
		return object{}
	}
	return o
}

// list is the objects in an array member.
func list(o object, name string) []object {
	values, _ := o[name].([]any)
	var out []object
	for _, v := range values {
		if member, ok := v.(object); ok {
			out = append(out, member)
		}
	}
	return out
}

// each calls f for v and every object inside it.
func each(v any, f func(o object)) {
	switch v := v.(type) {
	case object:
		f(v)
		for _, member := range v {
			each(member, f)
		}
	case []any:
		for _, member := range v {
			each(member, f)
		}
	}
}

// isError reports whether a response carries an error, and its code.
func isError(r object) (code string, ok bool) {
	e, ok := r["error"].(object)
	if !ok {
		return "", false
	}
	n, _ := e["code"].(json.Number)
	return n.String(), true
}

// note is a notification.
func note(method string, params object) object {
	return object{"jsonrpc": "2.0", "method": method, "params": params}
}
