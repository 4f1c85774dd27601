package observe

import (
	"cmp"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Checks of every message of a stateless server.
const (
	SeenNoRequests = "RPC-14/no-requests"
	SeenResultType = "DISC-12/result-type"
	SeenIdentity   = "META-07/results"
	SeenAskers     = "MRTR-01/only"
	SeenReserved   = "ERR-05/reserved"
	SeenRetired    = "ERR-05/retired"
)

// stateless judges one message of a revision run without sessions.
func (o *Observer) stateless(s *wire.Session, in wire.Inbound) {
	isRequest := !in.IsResponse() && in.ID() != ""
	o.See(SeenNoRequests, !isRequest, in, "the request %s", in.Method())
	if !in.IsResponse() {
		return
	}
	a := wire.ToAnswer(in)
	if a.Err != nil {
		defined := []int64{wire.CodeHeader, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion}
		reserved := a.Err.Code <= -32020 && a.Err.Code >= -32099
		o.See(SeenReserved, !reserved || slices.Contains(defined, a.Err.Code) || a.Err.Code == mcp.CodeURLElicitationRequired, in, "code %d", a.Err.Code)
		o.See(SeenRetired, a.Err.Code != mcp.CodeResourceNotFound && a.Err.Code != mcp.CodeURLElicitationRequired, in, "code %d", a.Err.Code)
		return
	}
	result, ok := rawjson.Object(a.Result)
	method, known := s.Methods[in.ID()]
	// Other methods are not judged: a server of both eras answers initialize like one of
	// the session era, and may have its own methods.
	if !ok || known && !mcp.MethodIn(method, s.Stateless) {
		return
	}
	kind := wire.ResultType(a)
	// Only a call of a client that declares the extension may be answered by a task.
	isTask := kind == mcp.ResultTask && method == mcp.MethodToolsCall && s.Declares["extensions"] != nil
	o.See(SeenResultType, isTask || kind == mcp.ResultComplete || kind == mcp.ResultInputRequired, in, "the answer to %s: resultType is %s", cmp.Or(method, "a request"), rawjson.OrAbsent(result["resultType"]))
	meta, _ := rawjson.Object(result["_meta"])
	o.See(SeenIdentity, rawjson.IsObject(meta[mcp.MetaServerInfo]), in, "%s is %s", mcp.MetaServerInfo, rawjson.OrAbsent(meta[mcp.MetaServerInfo]))
	if kind == mcp.ResultInputRequired {
		o.askedBy(s, in, result["inputRequests"])
	}
	askers := []string{mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead}
	if known {
		o.See(SeenAskers, kind != mcp.ResultInputRequired || slices.Contains(askers, method), in, "%s is answered with input_required", method)
	}
}
