package mcp

import (
	"encoding/json"
	"strings"
)

// Tool describes one tool (schema Tool).
type Tool struct {
	// Name is the name of the tool in tools/call. Any text is possible.
	Name string
	// Title is for people, since 2025-06-18. See [Tool.DisplayName].
	Title       string
	Description string
	// InputSchema and OutputSchema are JSON Schemas exactly as received; nil
	// when absent.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	// Annotations are hints of the server. Trust them as far as you trust the server.
	Annotations *ToolAnnotations
	Icons       []Icon
	// Execution is for revision 2025-11-25 only.
	Execution *ToolExecution
	Meta      json.RawMessage
	Extra     Members
	zero      presence
}

// ToolDefinition is another name for [Tool].
type ToolDefinition = Tool

func (v *Tool) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "name", required, &v.Name)
	str(c, "title", optional, &v.Title)
	str(c, "description", optional, &v.Description)
	c.raw("inputSchema", &v.InputSchema)
	c.raw("outputSchema", &v.OutputSchema)
	c.toolAnnotations("annotations", &v.Annotations)
	list(c, "icons", optional, &v.Icons)
	ptr(c, "execution", &v.Execution)
	c.raw("_meta", &v.Meta)
}

// DisplayName returns the name for people: Title, else the annotations' title,
// else Name.
func (v *Tool) DisplayName() string {
	switch {
	case v.Title != "":
		return v.Title
	case v.Annotations != nil && v.Annotations.Title != "":
		return v.Annotations.Title
	default:
		return v.Name
	}
}

// ToolExecution describes how a tool may be run (schema ToolExecution, 2025-11-25).
type ToolExecution struct {
	// TaskSupport is "forbidden" (also when empty), "optional" or "required".
	TaskSupport string
	Extra       Members
	zero        presence
}

func (v *ToolExecution) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "taskSupport", optional, &v.TaskSupport)
}

// ListToolsResult is one page of tools (schema ListToolsResult).
type ListToolsResult struct {
	Tools []Tool
	// NextCursor is nil at the end of the list; an empty string is a cursor.
	NextCursor *string
	ResultType ResultType
	TTLMs      *int64
	CacheScope CacheScope
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *ListToolsResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.expectTools()
	list(c, "tools", required, &v.Tools)
	c.cursor("nextCursor", &v.NextCursor)
	str(c, "resultType", optional, &v.ResultType)
	c.lifetime(&v.TTLMs)
	c.scope(&v.CacheScope)
	c.raw("_meta", &v.Meta)
}

// CallToolParams are the parameters of tools/call (schema
// CallToolRequestParams).
type CallToolParams struct {
	Name string
	// Arguments is an object, or nil to omit the member.
	Arguments json.RawMessage
	// InputResponses and RequestState answer an [InputRequiredResult], since
	// 2026-07-28.
	InputResponses InputResponses
	RequestState   *string
	// Task asks the server to run the call as a task, in 2025-11-25 only.
	Task  *TaskMetadata
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

// ToolCallParams is another name for [CallToolParams].
type ToolCallParams = CallToolParams

func (v *CallToolParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "name", required, &v.Name)
	c.raw("arguments", &v.Arguments)
	c.raws("inputResponses", (*map[string]json.RawMessage)(&v.InputResponses))
	c.cursor("requestState", &v.RequestState)
	ptr(c, "task", &v.Task)
	c.raw("_meta", &v.Meta)
}

// CallToolResult is the result of a tool (schema CallToolResult). If the tool
// failed, IsError is set.
type CallToolResult struct {
	// Content is for a model to read.
	Content []Content
	// StructuredContent is unchanged: nil if absent, the four bytes null if the
	// tool returned null.
	StructuredContent json.RawMessage
	IsError           bool
	// ResultType is sent since 2026-07-28; empty counts as "complete".
	ResultType ResultType
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

// ToolCallResult is another name for [CallToolResult].
type ToolCallResult = CallToolResult

func (v *CallToolResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.contents("content", written, contentBlocks, &v.Content)
	c.value("structuredContent", &v.StructuredContent)
	c.boolean("isError", &v.IsError)
	str(c, "resultType", optional, &v.ResultType)
	c.raw("_meta", &v.Meta)
	if c.mode == checking && v.Content == nil && v.StructuredContent == nil {
		c.fail("content", "missing, and no structuredContent either")
	}
}

// Text returns the text blocks, joined by line breaks.
func (v *CallToolResult) Text() string {
	if len(v.Content) == 1 {
		if t, ok := v.Content[0].(*TextContent); ok {
			return t.Text
		}
	}
	var b strings.Builder
	first := true
	for _, block := range v.Content {
		t, ok := block.(*TextContent)
		if !ok {
			continue
		}
		if !first {
			b.WriteByte('\n')
		}
		first = false
		b.WriteString(t.Text)
	}
	return b.String()
}
