package mcperrors

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// MarshalJSON implements [json.Marshaler]. The object has the members code,
// kind, message, userMessage, suggestedAction, retryable, retryAfterMs,
// delivery, originalMCPCode, server, method, tool, requestId, attempts, rpc,
// http, process and cause. All are always present: an unknown value is null, ""
// or 0. The server's JSON-RPC error is unchanged. Secrets are removed from
// addresses, commands and output as [Redact] does.
func (e *Error) MarshalJSON() ([]byte, error) {
	message := e.Message
	if e.RPC == nil {
		message = Redact(message)
	}
	return jsonrpc.Marshal(struct {
		Code            Code         `json:"code"`
		Kind            Kind         `json:"kind"`
		Message         string       `json:"message"`
		UserMessage     string       `json:"userMessage"`
		SuggestedAction string       `json:"suggestedAction"`
		Retryable       bool         `json:"retryable"`
		RetryAfterMS    int64        `json:"retryAfterMs"`
		Delivery        string       `json:"delivery"`
		OriginalMCPCode *int64       `json:"originalMCPCode"`
		Server          string       `json:"server"`
		Method          string       `json:"method"`
		Tool            string       `json:"tool"`
		RequestID       string       `json:"requestId"`
		Attempts        int          `json:"attempts"`
		RPC             *rpcJSON     `json:"rpc"`
		HTTP            *httpJSON    `json:"http"`
		Process         *processJSON `json:"process"`
		Cause           string       `json:"cause"`
	}{
		e.Code, e.Kind, message, e.UserMessage, e.SuggestedAction, e.Retryable, e.RetryAfter.Milliseconds(),
		e.Delivery.String(), e.OriginalMCPCode, e.Server, e.Method, e.Tool, e.RequestID, e.Attempts,
		rpcForm(e.RPC), httpForm(e.HTTP), processForm(e.Process), causeForm(e.Cause),
	})
}

type rpcJSON struct {
	Code    int64           `json:"code"`
	Name    string          `json:"name"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func rpcForm(rpc *jsonrpc.Error) *rpcJSON {
	if rpc == nil {
		return nil
	}
	return &rpcJSON{rpc.Code, codeName(rpc.Code), rpc.Message, rpc.Data}
}

// codeName returns the specification's name of a code, "" if it has none.
func codeName(code int64) string {
	switch code {
	case jsonrpc.CodeParseError:
		return "ParseError"
	case jsonrpc.CodeInvalidRequest:
		return "InvalidRequest"
	case jsonrpc.CodeMethodNotFound:
		return "MethodNotFound"
	case jsonrpc.CodeInvalidParams:
		return "InvalidParams"
	case jsonrpc.CodeInternalError:
		return "InternalError"
	case -32020:
		return "HeaderMismatch"
	case -32021:
		return "MissingRequiredClientCapability"
	case -32022:
		return "UnsupportedProtocolVersion"
	case -32042:
		return "URLElicitationRequired"
	default:
		return ""
	}
}

type httpJSON struct {
	HTTPEvidence
}

func httpForm(h *HTTPEvidence) *httpJSON {
	if h == nil {
		return nil
	}
	safe := *h
	safe.URL = Redact(safe.URL)
	safe.Body = Redact(safe.Body)
	safe.Header = safe.Header.Clone()
	for _, values := range safe.Header {
		for i, v := range values {
			values[i] = Redact(v)
		}
	}
	return &httpJSON{safe}
}

type processJSON struct {
	ProcessEvidence
	AgeMS int64 `json:"ageMs"`
}

func processForm(p *ProcessEvidence) *processJSON {
	if p == nil {
		return nil
	}
	safe := *p
	safe.Command = RedactCommand(p.Command)
	safe.Stderr = redactAll(p.Stderr)
	safe.Noise = Redact(p.Noise)
	return &processJSON{safe, p.Age.Milliseconds()}
}

func redactAll(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = Redact(line)
	}
	return out
}

func causeForm(err error) string {
	if err == nil {
		return ""
	}
	return show(err.Error(), maxMessageText)
}
