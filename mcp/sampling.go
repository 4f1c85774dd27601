package mcp

import "encoding/json"

// CreateMessageParams asks the client's model for a message (schema
// CreateMessageRequestParams).
type CreateMessageParams struct {
	Messages         []SamplingMessage
	ModelPreferences *ModelPreferences
	SystemPrompt     string
	// IncludeContext is "none", "thisServer" or "allServers"; empty means none.
	IncludeContext string
	Temperature    *float64
	MaxTokens      int64
	StopSequences  []string
	// Metadata is an object for the model's provider.
	Metadata json.RawMessage
	// Tools and ToolChoice need the sampling.tools capability, since 2025-11-25.
	Tools      []Tool
	ToolChoice *ToolChoice
	// Task is for revision 2025-11-25 only.
	Task  *TaskMetadata
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *CreateMessageParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	list(c, "messages", required, &v.Messages)
	ptr(c, "modelPreferences", &v.ModelPreferences)
	str(c, "systemPrompt", optional, &v.SystemPrompt)
	str(c, "includeContext", optional, &v.IncludeContext)
	c.fraction("temperature", &v.Temperature)
	c.count("maxTokens", required, &v.MaxTokens)
	strs(c, "stopSequences", optional, &v.StopSequences)
	c.raw("metadata", &v.Metadata)
	list(c, "tools", optional, &v.Tools)
	ptr(c, "toolChoice", &v.ToolChoice)
	ptr(c, "task", &v.Task)
	c.raw("_meta", &v.Meta)
}

// SamplingMessage is one message of a conversation (schema SamplingMessage).
type SamplingMessage struct {
	Role Role
	// Content is one block before 2025-11-25, one or more since.
	Content []Content
	Meta    json.RawMessage
	Extra   Members
	zero    presence
}

func (v *SamplingMessage) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "role", written, &v.Role)
	c.oneOrMore("content", &v.Content)
	c.raw("_meta", &v.Meta)
}

// ModelPreferences describe the model that a server prefers (schema
// ModelPreferences). Priorities are from 0 to 1, nil if not given.
type ModelPreferences struct {
	Hints                []ModelHint
	CostPriority         *float64
	SpeedPriority        *float64
	IntelligencePriority *float64
	Extra                Members
	zero                 presence
}

func (v *ModelPreferences) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	list(c, "hints", optional, &v.Hints)
	c.fraction("costPriority", &v.CostPriority)
	c.fraction("speedPriority", &v.SpeedPriority)
	c.fraction("intelligencePriority", &v.IntelligencePriority)
}

// ModelHint is part of a model's name (schema ModelHint).
type ModelHint struct {
	Name  string
	Extra Members
	zero  presence
}

func (v *ModelHint) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "name", optional, &v.Name)
}

// ToolChoice controls whether the model uses tools (schema ToolChoice, since
// 2025-11-25).
type ToolChoice struct {
	// Mode is "auto" (also when empty), "required" or "none".
	Mode  string
	Extra Members
	zero  presence
}

func (v *ToolChoice) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "mode", optional, &v.Mode)
}

// CreateMessageResult is the model's message (schema CreateMessageResult).
type CreateMessageResult struct {
	Role Role
	// Content is one block before 2025-11-25, one or more since.
	Content []Content
	Model   string
	// StopReason is "endTurn", "stopSequence", "maxTokens", "toolUse" or a
	// value of the provider.
	StopReason string
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *CreateMessageResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "role", written, &v.Role)
	c.oneOrMore("content", &v.Content)
	str(c, "model", written, &v.Model)
	str(c, "stopReason", optional, &v.StopReason)
	c.raw("_meta", &v.Meta)
}
