package outcome

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// mapped returns the error of an answer that is an error, and whether circuits count it.
func (s *Sent) mapped(answer transport.Answer) (e *mcperrors.Error, counts bool) {
	e, counts = errormap.ReadRPC(answer.Error, s.options(answer.Error, s.refusalHolds(answer)))
	code := answer.Error.Code
	if s.ownCode(answer.Error) {
		code = 0 // the code has no meaning
	}
	if h := answer.HTTP; h != nil && resilience.StatusBeats(code, h.Status) {
		// A 401 with a code of the server's own is still about credentials.
		byStatus := errormap.FromHTTP(*h, answer.RetryAfter)
		byStatus.Message, byStatus.RPC, byStatus.OriginalMCPCode = e.Message, e.RPC, e.OriginalMCPCode
		byStatus.Delivery = e.Delivery // the server has read the request if it answers with the id
		e, counts = byStatus, false
	}
	e.HTTP = answer.HTTP
	return e, counts
}

// Map returns the error of a JSON-RPC error. refused is set if the server rejects the request for
// the reason that -32020, -32021 or -32022 states.
func (s *Sent) Map(rpc *jsonrpc.Error, refused bool) *mcperrors.Error {
	return errormap.FromRPC(rpc, s.options(rpc, refused))
}

func (s *Sent) options(rpc *jsonrpc.Error, refused bool) errormap.Options {
	return errormap.Options{
		Method: s.Method, Tool: s.Tool, Resource: s.Resource, Profile: s.Profile,
		Refused: refused, NoElicitationCode: s.ownCode(rpc),
	}
}

// ownCode reports whether -32042 is the server's own code: only one revision defines it.
func (s *Sent) ownCode(rpc *jsonrpc.Error) bool {
	return rpc.Code == mcp.CodeURLElicitationRequired && s.Version != mcp.Version2025_11_25
}

// refusalHolds reports whether -32020, -32021 or -32022 can be true for the request. The code
// alone is no proof: servers pass on errors of their tools, which may come from other servers.
func (s *Sent) refusalHolds(answer transport.Answer) bool {
	if s.Era != mcp.EraStateless {
		return false // codes of the server's own
	}
	if s.Exchanges && !refusedByStatus(answer) {
		return false
	}
	switch answer.Error.Code {
	case mcp.CodeHeaderMismatch:
		return s.Exchanges
	case mcp.CodeMissingRequiredClientCapability:
		return s.lacksCapability(answer.Error)
	case mcp.CodeUnsupportedProtocolVersion:
		return refusesVersion(s.Version, answer.Error)
	}
	return false
}

// refusedByStatus reports whether an answer has the HTTP status of rejected requests and is not
// an event stream, which may have had messages of a tool before the error.
func refusedByStatus(answer transport.Answer) bool {
	h := answer.HTTP
	return h != nil && h.Status == http.StatusBadRequest && !strings.Contains(strings.ToLower(h.ContentType), "text/event-stream")
}

// lacksCapability reports whether -32021 lists a capability that the request did not declare.
func (s *Sent) lacksCapability(rpc *jsonrpc.Error) (lacks bool) {
	declared := s.Declared(s.Version)
	if e := declared.Elicitation; e != nil && e.Form == nil && e.URL == nil { // an empty capability means forms
		declared.Elicitation = &mcp.ElicitationCapability{Form: &mcp.EmptyCapability{}}
	}
	EachCapability(rpc.Data, func(path string) bool {
		lacks = !declared.Has(path)
		return !lacks
	})
	return lacks
}

// refusesVersion reports whether -32022 rejects the revision that was sent: it lists only others,
// and does not name another requested one.
func refusesVersion(sent mcp.Version, rpc *jsonrpc.Error) bool {
	var data mcp.UnsupportedVersionData
	if mcp.Unmarshal(slices.Clone(rpc.Data), &data) != nil || len(data.Supported) == 0 {
		return false
	}
	return !slices.Contains(data.Supported, string(sent)) && (data.Requested == "" || data.Requested == string(sent))
}

// EachCapability visits the paths of the capabilities in the data of -32021, two levels deep:
// deeper ones have no names. It stops when visit returns false.
func EachCapability(data []byte, visit func(path string) bool) {
	more := true
	needed := func(value []byte) bool { return string(value) != "null" && string(value) != "false" }
	member := func(name, value []byte) {
		deeper := false
		_ = jsonrpc.Members(value, func(inner, value []byte) bool {
			if needed(value) {
				deeper = true
				more = more && visit(string(name)+"."+string(inner))
			}
			return more
		})
		if !deeper {
			more = more && visit(string(name))
		}
	}
	_ = jsonrpc.Members(data, func(name, value []byte) bool {
		if string(name) == "requiredCapabilities" {
			_ = jsonrpc.Members(value, func(name, value []byte) bool {
				if needed(value) {
					member(name, value)
				}
				return more
			})
		}
		return more
	})
}
