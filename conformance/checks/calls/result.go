package calls

import (
	"encoding/json"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// mostLinks is how many links to resources a run follows.
const mostLinks = 5

// links reads the resources that a result links to. Links to the web are for others to follow.
func (e *each) links(c call, a wire.Answer) {
	if !e.t.Rev.Capabilities.Has("resources") {
		return
	}
	result, _ := rawjson.Object(a.Result)
	var blocks []wire.ListEntry
	_ = json.Unmarshal(result["content"], &blocks) // another check judges it
	for _, b := range blocks {
		uri := rawjson.Text(b["uri"])
		if rawjson.Text(b["type"]) != "resource_link" || uri == "" || strings.HasPrefix(uri, "http") || e.followed >= mostLinks {
			continue
		}
		e.followed++
		e.t.Step(e.s)
		read, err := e.s.Request(e.t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
		e.t.NoError(err)
		e.see(e.t, "CALL-01/links", !wire.Denies(read, nil), "the contents of the link", "%s: link to %s: %s", c, uri, read.OrError(nil))
	}
}

// unasked judges log messages and news of resources that came during a call of a client that has asked
// for neither.
func (e *each) unasked(c call, had int) {
	came := e.s.Unsolicited[min(had, len(e.s.Unsolicited)):]
	if e.t.Rev.Stateless() { // calls have no log level here
		logs := slices.ContainsFunc(came, func(in wire.Inbound) bool { return in.Method() == mcp.MethodMessage })
		e.see(e.t, "CALL-05/silent", !logs, "no log message for a call without a log level", "%s: a log message", c)
	}
	for _, in := range came {
		if in.Method() == mcp.MethodResourcesUpdated {
			e.see(e.t, "CALL-09/unasked", false, "no news of resources without a subscription", "%s: news of %s", c, rawjson.OrAbsent(wire.Param(in, "uri")))
		}
	}
	if e.t.Rev.Capabilities.Has("resources.subscribe") {
		e.see(e.t, "CALL-09/unasked", true, "", "")
	}
}

// formatFault returns why a text is not of the format that a schema names for it, "" if all are.
// Validation leaves formats out.
func formatFault(schema, value json.RawMessage, nested int) string {
	const deepest = 16
	if nested > deepest {
		return ""
	}
	s, _ := rawjson.Object(schema)
	if format := rawjson.Text(s["format"]); format != "" && rawjson.IsString(value) && !isFormat(format, rawjson.Text(value)) {
		return rawjson.Clip(string(value), 80) + " is no " + format
	}
	properties, _ := rawjson.Object(s["properties"])
	members, _ := rawjson.Object(value)
	for _, name := range rawjson.SortedKeys(members) {
		if fault := formatFault(properties[name], members[name], nested+1); fault != "" {
			return name + ": " + fault
		}
	}
	var list []json.RawMessage
	if rawjson.IsArray(value) && json.Unmarshal(value, &list) == nil {
		for _, each := range list {
			if fault := formatFault(s["items"], each, nested+1); fault != "" {
				return fault
			}
		}
	}
	return ""
}

var uuidForm = lazyregexp.New(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// isFormat reports whether a text is of a format, as far as the format is known.
func isFormat(format, text string) bool {
	var err error
	switch format {
	case "date-time":
		_, err = time.Parse(time.RFC3339, strings.ToUpper(text))
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "email":
		_, err = mail.ParseAddress(text)
	case "uri":
		return observe.IsAbsoluteURI(text)
	case "uuid":
		return uuidForm.MatchString(text)
	}
	return err == nil
}
