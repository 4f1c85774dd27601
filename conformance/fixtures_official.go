package conformance

import "slices"

// The fixtures of the official suite that this one calls, too.
const (
	toolSimpleText     = "test_simple_text"
	toolMissing        = "test_missing_capability"
	toolLogsOnce       = "test_logging_tool"
	toolChangeTools    = "test_trigger_tool_change"
	toolChangePrompts  = "test_trigger_prompt_change"
	toolChangeList     = "test_trigger_resource_list_change" // of ours, beside the official ones
	toolChangeResource = "test_trigger_resource_update"
	inputRequired      = "test_input_required_result_"
)

// Its resources.
const (
	resourceStatic  = "test://static-text"
	resourceBinary  = "test://static-binary"
	resourceWatched = "test://watched-resource"
	resourceFilled  = "test://template/123/data"
)

// officialTools are the tools of the official suite and what the servers of this
// project add to them: made to be called by suites, they need no permission
// (decisions 31). A name that only begins like them may be anything.
var officialTools = []string{
	"test_audio_content", "test_elicitation", "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
	"test_embedded_resource", "test_error_handling", "test_image_content",
	inputRequired + "capabilities", inputRequired + "elicitation", inputRequired + "list_roots", inputRequired + "multi_round",
	inputRequired + "multiple_inputs", inputRequired + "request_state", inputRequired + "sampling", inputRequired + "tampered_state",
	toolLogsOnce, toolMissing, "test_multiple_content_types", "test_reconnection", "test_sampling", toolSimpleText,
	"test_streaming_elicitation", "test_tool_with_logging", "test_tool_with_progress", "test_transient_tool",
	toolChangePrompts, toolChangeList, toolChangeResource, toolChangeTools, "test_x_mcp_header",
}

// isOfficial reports whether a tool is a fixture of the official suite.
func isOfficial(tool string) bool { return slices.Contains(officialTools, tool) }
