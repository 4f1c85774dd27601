package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// origin is where a message comes from.
type origin struct {
	connection int         // 0 over HTTP
	header     http.Header // nil without HTTP
}

// reply is the answer to a request.
type reply struct {
	jsonrpc.Response
	raw Raw // in place of the response
}

// frame returns the message.
func (r *reply) frame() []byte {
	if r.raw != "" {
		return []byte(r.raw)
	}
	return r.AppendJSON(nil)
}

// answer returns the answer to a request. push sends messages before it. An error is one for
// which unanswered is true: the client gets no JSON-RPC answer.
func (s *Server) answer(ctx context.Context, req jsonrpc.Request, from origin, push func(jsonrpc.Message)) (reply, error) {
	s.came(req.Method, req.Params, false, from)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	s.mu.Lock()
	s.running[req.ID] = cancel
	var err error
	if len(s.faults) > 0 && req.Method != mcp.MethodInitialize && req.Method != mcp.MethodDiscover {
		err, s.faults = s.faults[0], s.faults[1:]
	}
	f := s.methods[req.Method]
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.running, req.ID)
		s.mu.Unlock()
	}()
	call := s.newCall(ctx, req, push)
	call.Header = from.header
	resp := reply{Response: jsonrpc.Response{ID: req.ID}}
	var result any
	switch {
	case err != nil:
	case f != nil:
		result, err = s.run(call, f)
	default:
		result, err = s.builtin(call, req)
	}
	switch {
	case unanswered(err):
		if errors.Is(err, ErrSilent) {
			<-ctx.Done()
		}
		return resp, err
	case errors.Is(err, errAsked):
		result = s.inputRequired(call)
	case err != nil:
		resp.Error = rpcError(err)
		return resp, nil
	}
	switch result := result.(type) {
	case Raw:
		resp.raw = result
	case json.RawMessage:
		resp.Result = s.encode(result) // on one line
	default:
		resp.Result = s.complete(call, s.encode(result))
	}
	return resp, nil
}

// unanswered reports whether err breaks the connection or sets the HTTP status, instead of
// answering in JSON-RPC.
func unanswered(err error) bool {
	var web *HTTPError
	return errors.Is(err, ErrSilent) || errors.Is(err, ErrCut) || errors.As(err, &web)
}

func rpcError(err error) *jsonrpc.Error {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return rpc
	}
	return jsonrpc.NewError(jsonrpc.CodeInternalError, err.Error(), nil)
}

// newCall reads the parts of a request that handlers use.
func (s *Server) newCall(ctx context.Context, req jsonrpc.Request, push func(jsonrpc.Message)) *Call {
	call := &Call{Method: req.Method, Params: req.Params, s: s, ctx: ctx, push: push, answers: map[string]json.RawMessage{}}
	var params struct {
		Name           string                     `json:"name"`
		URI            string                     `json:"uri"`
		Arguments      json.RawMessage            `json:"arguments"`
		InputResponses map[string]json.RawMessage `json:"inputResponses"`
		RequestState   string                     `json:"requestState"`
		Meta           json.RawMessage            `json:"_meta"`
	}
	if jsonrpc.Unmarshal(req.Params, &params) != nil {
		return call
	}
	call.Name, call.Arguments = params.Name+params.URI, params.Arguments
	if call.Arguments == nil {
		call.Arguments = json.RawMessage(`{}`)
	}
	call.token, _ = mcp.MetaValue(params.Meta, mcp.MetaProgressToken)
	if version, ok := mcp.MetaValue(params.Meta, mcp.MetaProtocolVersion); ok {
		_ = jsonrpc.Unmarshal(version, &call.version) // a value that is not a string is no version
	}
	// Answers of earlier rounds come back in the state.
	if jsonrpc.Unmarshal([]byte(params.RequestState), &call.answers) != nil || call.answers == nil {
		call.answers = map[string]json.RawMessage{}
	}
	for key, answer := range params.InputResponses {
		call.answers[key] = answer
	}
	return call
}

// inputRequired returns the result that asks the client a handler's questions.
func (s *Server) inputRequired(call *Call) any {
	state := string(s.encode(call.answers))
	return &mcp.InputRequiredResult{ResultType: mcp.ResultInputRequired, InputRequests: call.questions, RequestState: &state}
}

// complete adds the members to a result that the stateless era requires.
func (s *Server) complete(call *Call, result json.RawMessage) json.RawMessage {
	if result == nil {
		result = json.RawMessage(`{}`)
	}
	if call.version == "" || len(result) < 2 || result[0] != '{' {
		return result
	}
	has := map[string]bool{}
	if jsonrpc.Members(result, func(name, _ []byte) bool {
		has[string(name)] = true
		return true
	}) != nil {
		return result
	}
	add := func(name, value string) {
		if has[name] {
			return
		}
		result = slices.Clone(result[:len(result)-1])
		if len(result) > 1 {
			result = append(result, ',')
		}
		result = append(jsonrpc.AppendString(result, name), ':')
		result = append(append(result, value...), '}')
	}
	add("resultType", `"complete"`)
	if info, _ := mcp.LookupMethod(call.Method, call.version); info.Cacheable {
		add("ttlMs", "0")
		add("cacheScope", `"private"`)
	}
	return result
}

// builtin answers requests for which the test has no handler.
func (s *Server) builtin(call *Call, req jsonrpc.Request) (any, error) {
	if v := call.version; v != "" && v.Era() != mcp.EraStateless {
		return nil, jsonrpc.NewError(mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version",
			&mcp.UnsupportedVersionData{Supported: []string{string(mcp.Version2026_07_28)}, Requested: string(v)})
	}
	s.mu.Lock()
	caps := s.caps
	tools, resources, prompts := slices.Clone(s.tools), slices.Clone(s.resources), slices.Clone(s.prompts)
	f, text := s.calls[call.Name], s.texts[call.Name]
	get := s.gets[call.Name]
	_, there := s.texts[call.Name]
	s.mu.Unlock()
	info := mcp.Implementation{Name: "clienttest", Version: "1"}
	switch call.Method {
	case mcp.MethodInitialize:
		var params mcp.InitializeParams
		if err := mcp.Unmarshal(slices.Clone(req.Params), &params); err != nil {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, err.Error(), nil)
		}
		if params.ProtocolVersion.Era() != mcp.EraSession {
			params.ProtocolVersion = mcp.LatestSession
		}
		return &mcp.InitializeResult{ProtocolVersion: params.ProtocolVersion, Capabilities: caps, ServerInfo: info}, nil
	case mcp.MethodDiscover:
		if call.version == "" {
			break
		}
		meta := append(jsonrpc.AppendString([]byte(`{`), mcp.MetaServerInfo), ':')
		meta = append(append(meta, s.encode(&info)...), '}')
		return &mcp.DiscoverResult{SupportedVersions: []string{string(mcp.Version2026_07_28)}, Capabilities: caps, Meta: meta}, nil
	case mcp.MethodPing, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe, mcp.MethodLoggingSetLevel:
		return &mcp.EmptyResult{}, nil
	case mcp.MethodToolsList:
		return &mcp.ListToolsResult{Tools: tools}, nil
	case mcp.MethodResourcesList:
		return &mcp.ListResourcesResult{Resources: resources}, nil
	case mcp.MethodResourceTemplatesList:
		return &mcp.ListResourceTemplatesResult{}, nil
	case mcp.MethodPromptsList:
		return &mcp.ListPromptsResult{Prompts: prompts}, nil
	case mcp.MethodToolsCall:
		return s.runTool(call, f)
	case mcp.MethodResourcesRead:
		if !there {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Resource not found", map[string]string{"uri": call.Name})
		}
		i := slices.IndexFunc(resources, func(r mcp.Resource) bool { return r.URI == call.Name })
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: call.Name, MIMEType: resources[i].MIMEType, Text: &text}}}, nil
	case mcp.MethodPromptsGet:
		if get == nil {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Unknown prompt: "+call.Name, nil)
		}
		return s.run(call, get)
	case mcp.MethodSubscriptionsListen:
		return s.listen(call, req)
	}
	return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+call.Method, nil)
}

// run runs a handler on a goroutine of its own: one that ends the test, as
// t.Fatal and require do, ends that goroutine, and the client still gets an
// answer.
func (s *Server) run(call *Call, f Handler) (any, error) {
	what := call.Method
	if call.Name != "" {
		what += " " + strconv.Quote(call.Name)
	}
	var result any
	var err error
	returned := false
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				s.t.Errorf("clienttest: the handler of %s panicked: %v\n%s", what, p, debug.Stack())
			} else if !returned {
				s.t.Errorf("clienttest: the handler of %s ended its goroutine; did the test fail in it?", what)
			}
		}()
		result, err = f(call)
		returned = true
	}()
	<-ended
	if !returned {
		return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "the handler of the test did not return", nil)
	}
	return result, err
}

func (s *Server) runTool(call *Call, f Handler) (any, error) {
	if f == nil {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Unknown tool: "+call.Name, nil)
	}
	result, err := s.run(call, f)
	var rpc *jsonrpc.Error
	if err != nil && !errors.As(err, &rpc) && !errors.Is(err, errAsked) && !unanswered(err) {
		failed := Text(err.Error())
		failed.IsError = true
		return failed, nil
	}
	if _, exact := result.(json.RawMessage); err == nil && !exact {
		raw := s.encode(result)
		if len(raw) == 0 || raw[0] != '{' {
			s.t.Errorf("clienttest: the handler of tool %q returned %T, which is not a JSON object; see clienttest.Text", call.Name, result)
		}
		return raw, nil
	}
	return result, err
}
