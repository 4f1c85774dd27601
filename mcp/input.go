package mcp

import (
	"encoding/json"
	"maps"
	"slices"
)

// InputRequiredResult asks the client for input before the server answers a
// call (schema InputRequiredResult, since 2026-07-28). Send the call again
// with the answers and the state.
type InputRequiredResult struct {
	// ResultType is [ResultInputRequired].
	ResultType ResultType
	// InputRequests are the server's questions, by the server's keys; nil if
	// absent.
	InputRequests InputRequests
	// RequestState must be sent back unchanged; nil if absent.
	RequestState *string
	Meta         json.RawMessage
	Extra        Members
	zero         presence
}

func (v *InputRequiredResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "resultType", written, &v.ResultType)
	c.inputRequests("inputRequests", &v.InputRequests)
	c.cursor("requestState", &v.RequestState)
	c.raw("_meta", &v.Meta)
}

// InputRequests maps keys of the server's choice to requests (schema
// InputRequests).
type InputRequests map[string]InputRequest

// InputRequest is one question of a server (schema InputRequest): a request
// without an id, whose method is [MethodElicitationCreate],
// [MethodSamplingCreateMessage] or [MethodRootsList].
type InputRequest struct {
	Method string
	// Params is nil when absent. Decode it into [ElicitParams],
	// [CreateMessageParams] or [RequestParams], as Method says.
	Params json.RawMessage
	Extra  Members
	zero   presence
}

func (v *InputRequest) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "method", required, &v.Method)
	c.raw("params", &v.Params)
}

// InputResponses maps the keys of [InputRequests] to bare results: an encoded
// [ElicitResult], [CreateMessageResult] or [ListRootsResult] each (schema
// InputResponses).
type InputResponses map[string]json.RawMessage

// inputRequests is a map of requests. An empty one is written unless it is nil.
func (c *codec) inputRequests(name string, p *InputRequests) {
	if !c.enterValue(name, optional) {
		return
	}
	if c.mode == reading {
		*p = InputRequests{}
		c.readMembers(func(key string) {
			var r InputRequest
			c.readObject(&r)
			(*p)[key] = r
		})
		return
	}
	if *p == nil {
		return
	}
	c.key(name)
	c.writeMap(slices.Sorted(maps.Keys(*p)), func(key string) {
		r := (*p)[key]
		c.writeObject(&r)
	})
}
