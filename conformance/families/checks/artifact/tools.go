package artifact

// Error codes of the artifact family.
const (
	CodeServer   = -32000
	CodeNotFound = -32001
)

// Tools of the artifact family.
const (
	ToolValidate = "validate_artifact"
	ToolStore    = "store_artifact"
	ToolApprove  = "approve_artifact"
	ToolAddTask  = "add_task"
	ToolNextID   = "get_next_available_id"
	ToolReserve  = "reserve_id_range"
)

// Tools are all of them.
var Tools = []string{ToolValidate, ToolStore, ToolApprove, ToolAddTask, ToolNextID, ToolReserve}
