package conformance

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
