package official

const (
	ToolSampling    = "test_sampling"
	ToolElicitation = "test_elicitation"
	ToolDefaults    = "test_elicitation_sep1034_defaults"
	ToolEnums       = "test_elicitation_sep1330_enums"
)

// ToolDialect is the official fixture that publishes one schema with the
// keywords of JSON Schema 2020-12.
const ToolDialect = "json_schema_2020_12_tool"

// The official fixtures that make a stream worth looking at.
const (
	ToolProgress  = "test_tool_with_progress"
	ToolLogging   = "test_tool_with_logging"
	ToolReconnect = "test_reconnection"
)

// The official prompts that this suite gets, too.
const (
	PromptArguments = "test_prompt_with_arguments"
	PromptEmbedded  = "test_prompt_with_embedded_resource"
	PromptImage     = "test_prompt_with_image"
)
