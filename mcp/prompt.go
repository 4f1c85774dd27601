package mcp

import "encoding/json"

// Prompt describes a prompt a server offers (schema Prompt).
type Prompt struct {
	Name string
	// Title is for people, since 2025-06-18.
	Title       string
	Description string
	Arguments   []PromptArgument
	Icons       []Icon
	Meta        json.RawMessage
	Extra       Members
	zero        presence
}

func (v *Prompt) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "name", required, &v.Name)
	str(c, "title", optional, &v.Title)
	str(c, "description", optional, &v.Description)
	list(c, "arguments", optional, &v.Arguments)
	list(c, "icons", optional, &v.Icons)
	c.raw("_meta", &v.Meta)
}

// DisplayName returns the name for people.
func (v *Prompt) DisplayName() string { return firstText(v.Title, v.Name) }

// PromptArgument describes an argument of a prompt (schema PromptArgument).
type PromptArgument struct {
	Name        string
	Title       string
	Description string
	Required    bool
	Extra       Members
	zero        presence
}

func (v *PromptArgument) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "name", required, &v.Name)
	str(c, "title", optional, &v.Title)
	str(c, "description", optional, &v.Description)
	c.boolean("required", &v.Required)
}

// ListPromptsResult is one page of prompts (schema ListPromptsResult).
type ListPromptsResult struct {
	Prompts []Prompt
	// NextCursor is nil at the end of the list.
	NextCursor *string
	ResultType ResultType
	TTLMs      *int64
	CacheScope CacheScope
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *ListPromptsResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	list(c, "prompts", required, &v.Prompts)
	c.cursor("nextCursor", &v.NextCursor)
	str(c, "resultType", optional, &v.ResultType)
	c.lifetime(&v.TTLMs)
	c.scope(&v.CacheScope)
	c.raw("_meta", &v.Meta)
}

// GetPromptParams asks for a prompt (schema GetPromptRequestParams).
type GetPromptParams struct {
	Name      string
	Arguments map[string]string
	// InputResponses and RequestState answer an [InputRequiredResult], since
	// 2026-07-28.
	InputResponses InputResponses
	RequestState   *string
	Meta           json.RawMessage
	Extra          Members
	zero           presence
}

func (v *GetPromptParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "name", required, &v.Name)
	c.texts("arguments", &v.Arguments)
	c.raws("inputResponses", (*map[string]json.RawMessage)(&v.InputResponses))
	c.cursor("requestState", &v.RequestState)
	c.raw("_meta", &v.Meta)
}

// GetPromptResult is a prompt with its arguments filled in (schema
// GetPromptResult).
type GetPromptResult struct {
	Description string
	Messages    []PromptMessage
	ResultType  ResultType
	Meta        json.RawMessage
	Extra       Members
	zero        presence
}

func (v *GetPromptResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "description", optional, &v.Description)
	list(c, "messages", required, &v.Messages)
	str(c, "resultType", optional, &v.ResultType)
	c.raw("_meta", &v.Meta)
}

// PromptMessage is one message of a prompt (schema PromptMessage).
type PromptMessage struct {
	Role    Role
	Content Content
	Extra   Members
	zero    presence
}

func (v *PromptMessage) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "role", written, &v.Role)
	c.content("content", required, contentBlocks, &v.Content)
}

// Role is the sender of a message in a conversation (schema Role).
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)
