package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Guessable describes why session ids are easy to guess, "" if they are not.
func Guessable(ids []string) string {
	common := ids[0]
	seen := map[string]bool{}
	for _, id := range ids {
		switch {
		case seen[id]:
			return "the same id twice"
		case len(id) < 16:
			return fmt.Sprintf("an id of %d bytes", len(id))
		}
		seen[id] = true
		for !strings.HasPrefix(id, common) {
			common = common[:len(common)-1]
		}
	}
	if n := len(ids[0]); len(common) > n/2 && n-len(common) < 16 { // a long name and a time may stand before what is random
		return fmt.Sprintf("ids that all begin with the same %d of %d bytes", len(common), len(ids[0]))
	}
	return ""
}

// ProgressToken returns the token of a progress notification as JSON, "" for
// anything else.
func ProgressToken(in Inbound) string {
	if in.Method() != mcp.MethodProgress {
		return ""
	}
	params, _ := rawjson.Object(in.Members["params"])
	return string(params["progressToken"])
}

// SameID compares ids as JSON values: type and value, not spelling.
func SameID(got json.RawMessage, want string) bool {
	if rawjson.IsString(got) || want[0] == '"' {
		return rawjson.IsString(got) && want[0] == '"' && rawjson.Text(got) == rawjson.Text(json.RawMessage(want))
	}
	return string(got) == want
}

// Denies reports whether an error means that the item does not exist or the request is not
// allowed, and not another failure.
func Denies(a Answer, err error) bool {
	return err != nil || a.HasCode(nil, CodeMethodNotFound, CodeInvalidParams, mcp.CodeResourceNotFound)
}

// EditedMessage returns a request in the form of the revision, with other members; nil
// removes one.
func EditedMessage(s *Session, id, method string, members map[string]json.RawMessage) []byte {
	all := Received(s.Message(id, method, nil), nil).Members
	for name, value := range members {
		if value == nil {
			delete(all, name)
		} else {
			all[name] = value
		}
	}
	return rawjson.Encode(all)
}

// IsEmptyResult reports whether an answer is a result without members but _meta.
func IsEmptyResult(a Answer) bool {
	result, ok := rawjson.Object(a.Result)
	for name := range result {
		ok = ok && (name == "_meta" || name == "resultType")
	}
	return ok
}

// Param returns a member of the params of a message.
func Param(in Inbound, name string) json.RawMessage {
	params, _ := rawjson.Object(in.Members["params"])
	return params[name]
}

// Cancellation cancels the request with an id.
func Cancellation(id string) []byte {
	return Message("", mcp.MethodCancelled, map[string]any{"requestId": json.RawMessage(id), "reason": "the test wants it"})
}
