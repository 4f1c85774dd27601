package official

import "slices"

// The fixtures of the official suite that this one calls, too.
const (
	ToolSimpleText     = "test_simple_text"
	ToolMissing        = "test_missing_capability"
	ToolLogsOnce       = "test_logging_tool"
	ToolChangeTools    = "test_trigger_tool_change"
	ToolChangePrompts  = "test_trigger_prompt_change"
	ToolChangeList     = "test_trigger_resource_list_change" // of ours, beside the official ones
	ToolChangeResource = "test_trigger_resource_update"
	InputRequired      = "test_input_required_result_"
)

// Its resources.
const (
	ResourceStatic  = "test://static-text"
	ResourceBinary  = "test://static-binary"
	ResourceWatched = "test://watched-resource"
	resourceFilled  = "test://template/123/data"
)

// officialTools are the tools of the official suite and what the servers of this
// project add to them: made to be called by suites, they need no permission
// (decisions 31). A name that only begins like them may be anything.
var officialTools = []string{
	"test_audio_content", "test_elicitation", "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
	"test_embedded_resource", "test_error_handling", "test_image_content",
	InputRequired + "capabilities", InputRequired + "elicitation", InputRequired + "list_roots", InputRequired + "multi_round",
	InputRequired + "multiple_inputs", InputRequired + "request_state", InputRequired + "sampling", InputRequired + "tampered_state",
	ToolLogsOnce, ToolMissing, "test_multiple_content_types", "test_reconnection", "test_sampling", ToolSimpleText,
	"test_streaming_elicitation", "test_tool_with_logging", "test_tool_with_progress", "test_transient_tool",
	ToolChangePrompts, ToolChangeList, ToolChangeResource, ToolChangeTools, "test_x_mcp_header",
}

// IsTool reports whether a tool is a fixture of the official suite.
func IsTool(tool string) bool { return slices.Contains(officialTools, tool) }
