package mcp

import "encoding/json"

// CompleteParams asks for values that complete an argument (schema
// CompleteRequestParams).
type CompleteParams struct {
	Ref      CompletionReference
	Argument CompletionArgument
	// Context exists since 2025-06-18; do not send it earlier.
	Context *CompletionContext
	Meta    json.RawMessage
	Extra   Members
	zero    presence
}

func (v *CompleteParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	val(c, "ref", required, &v.Ref)
	val(c, "argument", required, &v.Argument)
	ptr(c, "context", &v.Context)
	c.raw("_meta", &v.Meta)
}

// The types of [CompletionReference].
const (
	RefPrompt   = "ref/prompt"
	RefResource = "ref/resource"
)

// CompletionReference names the prompt or resource of the argument (schemas
// PromptReference, ResourceTemplateReference and, in the first two revisions,
// ResourceReference).
type CompletionReference struct {
	// Type is [RefPrompt] or [RefResource].
	Type string
	// Name and Title are for a prompt.
	Name  string
	Title string
	// URI, or URI template, is for a resource.
	URI   string
	Extra Members
	zero  presence
}

func (v *CompletionReference) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "type", required, &v.Type)
	str(c, "name", optional, &v.Name)
	str(c, "title", optional, &v.Title)
	str(c, "uri", optional, &v.URI)
}

// CompletionArgument is the argument to complete.
type CompletionArgument struct {
	Name string
	// Value is the text typed so far.
	Value string
	Extra Members
	zero  presence
}

func (v *CompletionArgument) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "name", required, &v.Name)
	str(c, "value", written, &v.Value)
}

// CompletionContext holds the arguments already chosen.
type CompletionContext struct {
	Arguments map[string]string
	Extra     Members
	zero      presence
}

func (v *CompletionContext) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.texts("arguments", &v.Arguments)
}

// CompleteResult answers completion/complete (schema CompleteResult).
type CompleteResult struct {
	Completion Completion
	ResultType ResultType
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *CompleteResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	val(c, "completion", required, &v.Completion)
	str(c, "resultType", optional, &v.ResultType)
	c.raw("_meta", &v.Meta)
}

// Completion holds proposed values. A server should send at most 100, but more are
// accepted.
type Completion struct {
	Values []string
	// Total is the number of all values, nil if not given.
	Total   *int64
	HasMore bool
	Extra   Members
	zero    presence
}

func (v *Completion) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	strs(c, "values", required, &v.Values)
	c.integer("total", optional, &v.Total)
	c.boolean("hasMore", &v.HasMore)
}
