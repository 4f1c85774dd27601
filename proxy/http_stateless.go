package proxy

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// stateless serves a request of the stateless era. The end of the connection cancels it.
func (h *Handler) stateless(w http.ResponseWriter, r *http.Request, req *request) {
	fault := checkHeaders(r.Header, req)
	if fault == nil {
		fault = req.check()
	}
	if fault != nil {
		refuse(w, http.StatusBadRequest, req.ID, fault)
		return
	}
	t := newStream("", 1)
	t.forwarded = forwarded(h.forward, r.Header)
	req.line, req.header = t, r.Header
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(errHostCancelled)
	if refusal := h.alone(ctx, r, req, t.answer); refusal != nil {
		t.answer(refusal)
	}
	t.respond(w, r, mcp.Latest)
}

// alone is [host.alone] within the part of the host's address: one cannot keep out all others.
func (h *Handler) alone(ctx context.Context, from *http.Request, r *request, done func(*jsonrpc.Response)) (refusal *jsonrpc.Response) {
	address := addressOf(from)
	if !h.load.enter(address) {
		return h.single.refuseRead(ctx, r, overloaded(strconv.Itoa(maxOpen/4)+" requests of this address are not answered yet; wait for one"))
	}
	release := keepBody(ctx)
	end := func() {
		release()
		h.load.exit(address)
	}
	refusal = h.single.alone(ctx, r, func(resp *jsonrpc.Response) {
		end()
		done(resp)
	})
	if refusal != nil {
		end()
	}
	return refusal
}

// alone is [host.request] for a request whose id says nothing: each host has its own.
func (h *host) alone(ctx context.Context, r *request, done func(*jsonrpc.Response)) (refusal *jsonrpc.Response) {
	h.mu.Lock()
	stopped, full := h.stopped, h.single == maxOpen
	if !stopped && !full {
		h.single++
		h.work.Add(1)
	}
	h.mu.Unlock()
	switch {
	case stopped:
		return h.refuseRead(ctx, r, errEnding())
	case full:
		return h.refuseRead(ctx, r, overloaded(strconv.Itoa(maxOpen)+" requests are not answered yet; wait for one"))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })
	o := h.observe(ctx, r.Request)
	go func() {
		defer h.work.Done()
		defer o.report()
		resp := &jsonrpc.Response{ID: r.ID}
		resp.Result, resp.Error = h.serve(ctx, r)
		stop()
		o.answered(r, resp, ctx.Err() != nil && h.ctx.Err() == nil)
		cancel(nil)
		h.mu.Lock()
		h.single--
		h.mu.Unlock()
		done(resp)
	}()
	return nil
}

// checkHeaders compares the headers of a request with the message that they repeat.
func checkHeaders(header http.Header, r *request) *jsonrpc.Error {
	version := mcp.Version(header.Get(headerVersion))
	switch {
	case r.version == "":
		return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: _meta has no "+mcp.MetaProtocolVersion, nil)
	case len(header.Values(headerVersion)) != 1:
		return mismatch("MCP-Protocol-Version is missing, or is there twice")
	case version != r.version:
		return mismatch("MCP-Protocol-Version is not the revision in _meta")
	case len(header.Values(headerMethod)) != 1 || header.Get(headerMethod) != r.Method:
		return mismatch("Mcp-Method is not the method of the message")
	}
	member := namedBy(r.Method)
	if member == "" {
		return nil
	}
	var params map[string]json.RawMessage
	var name string
	err := jsonrpc.Unmarshal(r.Params, &params)
	if err == nil {
		err = jsonrpc.Unmarshal(params[member], &name)
	}
	if value, ok := headerText(header, headerName); (err == nil || value != "") && (!ok || value != name) { // the server judges what is no text
		return mismatch("Mcp-Name is not " + member + " of the message")
	}
	return nil
}

// headerText returns the value of a header, which may be in base64. It returns false if the
// header is missing, is there twice or cannot be decoded.
func headerText(header http.Header, name string) (string, bool) {
	values := header.Values(name)
	if len(values) != 1 {
		return "", false
	}
	encoded, open := strings.CutPrefix(values[0], "=?base64?")
	encoded, closed := strings.CutSuffix(encoded, "?=")
	if !open || !closed {
		return values[0], true
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	return string(text), err == nil
}

// checkTool compares the headers that repeat arguments of a tool with the arguments. Without the
// definition of the tool it checks nothing: the server has the last word.
func (up *upstream) checkTool(ctx context.Context, r *request) *jsonrpc.Error {
	if r.header == nil || r.Method != mcp.MethodToolsCall || r.name == "" {
		return nil
	}
	tools, _ := up.client.AllTools(ctx) // without copies
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == r.name })
	if i < 0 || !bytes.Contains(tools[i].InputSchema, []byte("x-mcp-header")) {
		return nil
	}
	var params struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = jsonrpc.Unmarshal(r.Params, &params)
	return checkMirrored(r.header, tools[i].InputSchema, params.Arguments)
}

// checkMirrored compares the headers that repeat arguments of a tool with the arguments. They
// are those properties of the input schema that have x-mcp-header.
func checkMirrored(header http.Header, schema, arguments json.RawMessage) *jsonrpc.Error {
	var fault *jsonrpc.Error
	var walk func(schema, value json.RawMessage)
	walk = func(schema, value json.RawMessage) {
		var object struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		var values map[string]json.RawMessage
		_ = jsonrpc.Unmarshal(schema, &object)
		_ = jsonrpc.Unmarshal(value, &values)
		for name, property := range object.Properties {
			var p struct {
				Header string `json:"x-mcp-header"`
			}
			if jsonrpc.Unmarshal(property, &p) == nil && p.Header != "" && !repeats(header, prefixParam+p.Header, values[name]) {
				fault = mismatch(fmt.Sprintf("%s%s is not the argument %s", prefixParam, p.Header, name))
			}
			walk(property, values[name])
		}
	}
	walk(schema, arguments)
	return fault
}

// repeats reports whether a header has the value of an argument. It has to be missing where the
// argument is, or is null.
func repeats(header http.Header, name string, value json.RawMessage) bool {
	if value == nil || string(value) == "null" {
		return len(header.Values(name)) == 0
	}
	got, ok := headerText(header, name)
	if !ok {
		return false
	}
	var text string
	if jsonrpc.Unmarshal(value, &text) == nil {
		return got == text
	}
	want, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return got == string(value) // true or false
	}
	number, err := strconv.ParseFloat(got, 64)
	return err == nil && json.Valid([]byte(got)) && number == want // no hexadecimal, no plus
}
