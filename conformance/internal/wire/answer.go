package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Error codes that the suite sends or expects: those of JSON-RPC 2.0, and one of MCP.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	// CodeHeader refuses a request whose headers do not match its body.
	CodeHeader = -32020
)

// Answer is the response to a request: In is the message unchanged, with either Result
// or Err.
type Answer struct {
	In     Inbound
	Result json.RawMessage
	Err    *RPCError
}

// RPCError is the error member of a response.
type RPCError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// OrError describes the answer, or the error if there is none.
func (a Answer) OrError(err error) string {
	if err != nil {
		return err.Error()
	}
	return a.Describe()
}

// ErrorData returns error.data, nil for a result.
func (a Answer) ErrorData() []byte {
	if a.Err == nil {
		return nil
	}
	return a.Err.Data
}

// Contents returns the contents of an answer to resources/read, nil if it has no list of them.
func (a Answer) Contents() []ListEntry {
	result, _ := rawjson.Object(a.Result)
	var contents []ListEntry
	_ = json.Unmarshal(result["contents"], &contents) // a check of its own judges it
	return contents
}

// HasCode reports whether the answer is an error with one of the codes.
func (a Answer) HasCode(err error, codes ...int64) bool {
	if err != nil || a.Err == nil {
		return false
	}
	for _, c := range codes {
		if a.Err.Code == c {
			return true
		}
	}
	return false
}

// ToAnswer reads a response.
func ToAnswer(in Inbound) Answer {
	a := Answer{In: in, Result: in.Members["result"]}
	if raw, ok := in.Members["error"]; ok && string(raw) != "null" {
		a.Err = &RPCError{}
		if err := json.Unmarshal(raw, a.Err); err != nil {
			a.Err.Message = "unreadable error object: " + err.Error()
		}
	}
	return a
}

// Describe describes the answer in one line.
func (a Answer) Describe() string {
	switch {
	case a.Err != nil:
		text := fmt.Sprintf("error %d %q", a.Err.Code, rawjson.Clip(a.Err.Message, 120))
		if len(a.Err.Data) > 0 {
			text += " data " + rawjson.Clip(string(a.Err.Data), 120)
		}
		return text
	case a.Result != nil:
		return "result " + rawjson.Clip(string(a.Result), 160)
	default:
		return "a response with neither result nor error"
	}
}

// Status is the HTTP status of the answer, 0 on other transports.
func (a Answer) Status() int {
	if a.In.HTTP == nil {
		return 0
	}
	return a.In.HTTP.Status
}

// IsInputRequired reports whether a result asks for input.
func (a Answer) IsInputRequired() bool {
	return ResultType(a) == mcp.ResultInputRequired
}

// ResultType returns the resultType of a result, "" if there is none.
func ResultType(a Answer) mcp.ResultType {
	result, _ := rawjson.Object(a.Result)
	return mcp.ResultType(rawjson.Text(result["resultType"]))
}

// Payload reads the result of a call as the JSON object in its text block.
func (a Answer) Payload() (map[string]json.RawMessage, error) {
	if a.Err != nil {
		return nil, errors.New(a.Describe())
	}
	var result struct {
		Content []struct{ Type, Text string } `json:"content"`
		IsError bool                          `json:"isError"`
	}
	if err := json.Unmarshal(a.Result, &result); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	if result.IsError {
		return nil, errors.New("a result with isError: " + rawjson.Clip(string(a.Result), 160))
	}
	if len(result.Content) == 0 || result.Content[0].Type != "text" {
		return nil, errors.New("no text block: " + rawjson.Clip(string(a.Result), 160))
	}
	members, ok := rawjson.Object(json.RawMessage(result.Content[0].Text))
	if !ok {
		return nil, errors.New("the text is no JSON object: " + rawjson.Clip(result.Content[0].Text, 160))
	}
	return members, nil
}
