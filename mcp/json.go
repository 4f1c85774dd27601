package mcp

// Every type has MarshalJSON and UnmarshalJSON, so that encoding/json,
// [jsonrpc.Marshal] and [Marshal] all code it by the rules of this package. Callers
// of UnmarshalJSON keep their bytes, so UnmarshalJSON copies them. [Unmarshal] does
// not.

// MarshalJSON implements [encoding/json.Marshaler].
func (v Annotations) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Annotations) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v AudioContent) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *AudioContent) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CallToolParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CallToolParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CallToolResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CallToolResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CancelledParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CancelledParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ClientCapabilities) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ClientCapabilities) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CompleteParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CompleteParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CompleteResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CompleteResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v Completion) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Completion) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CompletionArgument) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CompletionArgument) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CompletionContext) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CompletionContext) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CompletionReference) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CompletionReference) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CreateMessageParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CreateMessageParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CreateMessageResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CreateMessageResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v CreateTaskResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *CreateTaskResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v DetailedTask) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *DetailedTask) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v DiscoverResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *DiscoverResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ElicitParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ElicitParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ElicitResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ElicitResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ElicitationCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ElicitationCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ElicitationCompleteParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ElicitationCompleteParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v EmbeddedResource) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *EmbeddedResource) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v EmptyCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *EmptyCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v EmptyResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *EmptyResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v GetPromptParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *GetPromptParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v GetPromptResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *GetPromptResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v Icon) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Icon) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ImageContent) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ImageContent) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v Implementation) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Implementation) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v InitializeParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *InitializeParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v InitializeResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *InitializeResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v InputRequest) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *InputRequest) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v InputRequiredResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *InputRequiredResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ListChangedCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ListChangedCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ListPromptsResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ListPromptsResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ListResourceTemplatesResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ListResourceTemplatesResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ListResourcesResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ListResourcesResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ListRootsResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ListRootsResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ListTasksResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ListTasksResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ListToolsResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ListToolsResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v LoggingMessageParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *LoggingMessageParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v MissingCapabilityData) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *MissingCapabilityData) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ModelHint) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ModelHint) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ModelPreferences) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ModelPreferences) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v NotificationParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *NotificationParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v PaginatedParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *PaginatedParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ProgressParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ProgressParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v Prompt) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Prompt) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v PromptArgument) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *PromptArgument) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v PromptMessage) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *PromptMessage) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ReadResourceParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ReadResourceParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ReadResourceResult) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ReadResourceResult) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v RelatedTask) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *RelatedTask) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v RequestParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *RequestParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v Resource) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Resource) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ResourceContents) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ResourceContents) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ResourceLink) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ResourceLink) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ResourceNotFoundData) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ResourceNotFoundData) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ResourceTemplate) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ResourceTemplate) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ResourceUpdatedParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ResourceUpdatedParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ResourcesCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ResourcesCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v Root) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Root) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v SamplingCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *SamplingCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v SamplingMessage) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *SamplingMessage) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ServerCapabilities) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ServerCapabilities) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v SetLevelParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *SetLevelParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v SubscribeParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *SubscribeParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v SubscriptionFilter) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *SubscriptionFilter) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v SubscriptionsAcknowledgedParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *SubscriptionsAcknowledgedParams) UnmarshalJSON(data []byte) error {
	return decodeCopy(data, v)
}

// MarshalJSON implements [encoding/json.Marshaler].
func (v SubscriptionsListenParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *SubscriptionsListenParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v Task) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Task) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v TaskElicitationCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *TaskElicitationCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v TaskMetadata) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *TaskMetadata) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v TaskParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *TaskParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v TaskRequestsCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *TaskRequestsCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v TaskSamplingCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *TaskSamplingCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v TaskToolsCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *TaskToolsCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v TasksCapability) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *TasksCapability) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v TextContent) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *TextContent) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v Tool) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *Tool) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ToolAnnotations) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ToolAnnotations) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ToolChoice) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ToolChoice) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ToolExecution) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ToolExecution) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ToolResultContent) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ToolResultContent) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v ToolUseContent) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *ToolUseContent) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v URLElicitationRequiredData) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *URLElicitationRequiredData) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v UnsupportedVersionData) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *UnsupportedVersionData) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// MarshalJSON implements [encoding/json.Marshaler].
func (v UpdateTaskParams) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (v *UpdateTaskParams) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }
