package mcp

import "encoding/json"

// The modes of [ElicitParams].
const (
	ElicitForm = "form"
	ElicitURL  = "url"
)

// ElicitParams asks the user for input (schemas ElicitRequestFormParams and
// ElicitRequestURLParams; ElicitRequest in 2025-06-18).
type ElicitParams struct {
	// Mode is [ElicitForm], also when empty, or [ElicitURL].
	Mode    string
	Message string
	// RequestedSchema is the form's JSON Schema, in form mode.
	RequestedSchema json.RawMessage
	// URL is the page to visit, in url mode. It is untrusted: do not fetch it,
	// and open it only if the user agrees.
	URL string
	// ElicitationID is for url mode in 2025-11-25 only.
	ElicitationID string
	// Task is for revision 2025-11-25 only.
	Task  *TaskMetadata
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *ElicitParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "mode", optional, &v.Mode)
	str(c, "message", written, &v.Message)
	c.raw("requestedSchema", &v.RequestedSchema)
	str(c, "url", optional, &v.URL)
	str(c, "elicitationId", optional, &v.ElicitationID)
	ptr(c, "task", &v.Task)
	c.raw("_meta", &v.Meta)
}

// FormField is one field of a form, as its RequestedSchema describes it.
type FormField struct {
	Name, Title, Description string
	// Type is "string", "number", "integer", "boolean", or "array" for any
	// number of choices.
	Type string
	// Format is "email", "uri", "date", "date-time" or empty, for strings.
	Format   string
	Required bool
	// Default is the initial value, as JSON; nil for none.
	Default json.RawMessage
	// Choices are the permitted values; empty if any value that matches Schema
	// is permitted.
	Choices []FormChoice
	// Schema is the field's JSON Schema, with limits on lengths and numbers.
	Schema json.RawMessage
}

// FormChoice is a permitted value with its label.
type FormChoice struct{ Value, Title string }

// ElicitAction is the user's decision (schema ElicitResult).
type ElicitAction string

// The actions.
const (
	ElicitAccept  ElicitAction = "accept"
	ElicitDecline ElicitAction = "decline"
	ElicitCancel  ElicitAction = "cancel"
)

// ElicitResult is the user's answer (schema ElicitResult).
type ElicitResult struct {
	Action ElicitAction
	// Content is the form's object, only with accept in form mode.
	Content json.RawMessage
	Meta    json.RawMessage
	Extra   Members
	zero    presence
}

func (v *ElicitResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "action", required, &v.Action)
	c.raw("content", &v.Content)
	c.raw("_meta", &v.Meta)
}

// ElicitationCompleteParams reports that a url elicitation has ended (schema
// ElicitationCompleteNotification, 2025-11-25 only).
type ElicitationCompleteParams struct {
	ElicitationID string
	Meta          json.RawMessage
	Extra         Members
	zero          presence
}

func (v *ElicitationCompleteParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "elicitationId", required, &v.ElicitationID)
	c.raw("_meta", &v.Meta)
}
