package mcp

// Requests, by the name that goes over the wire. Which revision has which is
// told by [MethodIn].
const (
	MethodInitialize            = "initialize"
	MethodPing                  = "ping"
	MethodDiscover              = "server/discover"
	MethodToolsList             = "tools/list"
	MethodToolsCall             = "tools/call"
	MethodResourcesList         = "resources/list"
	MethodResourceTemplatesList = "resources/templates/list"
	MethodResourcesRead         = "resources/read"
	MethodResourcesSubscribe    = "resources/subscribe"
	MethodResourcesUnsubscribe  = "resources/unsubscribe"
	MethodPromptsList           = "prompts/list"
	MethodPromptsGet            = "prompts/get"
	MethodCompletionComplete    = "completion/complete"
	MethodLoggingSetLevel       = "logging/setLevel"
	MethodSubscriptionsListen   = "subscriptions/listen"
	MethodRootsList             = "roots/list"
	MethodSamplingCreateMessage = "sampling/createMessage"
	MethodElicitationCreate     = "elicitation/create"
	MethodTasksGet              = "tasks/get"
	MethodTasksResult           = "tasks/result"
	MethodTasksList             = "tasks/list"
	MethodTasksCancel           = "tasks/cancel"
	MethodTasksUpdate           = "tasks/update"
)

// Notifications, by the name that goes over the wire.
const (
	MethodInitialized               = "notifications/initialized"
	MethodCancelled                 = "notifications/cancelled"
	MethodProgress                  = "notifications/progress"
	MethodMessage                   = "notifications/message"
	MethodToolsListChanged          = "notifications/tools/list_changed"
	MethodResourcesListChanged      = "notifications/resources/list_changed"
	MethodResourcesUpdated          = "notifications/resources/updated"
	MethodPromptsListChanged        = "notifications/prompts/list_changed"
	MethodRootsListChanged          = "notifications/roots/list_changed"
	MethodElicitationComplete       = "notifications/elicitation/complete"
	MethodTasksStatus               = "notifications/tasks/status"
	MethodTasks                     = "notifications/tasks"
	MethodSubscriptionsAcknowledged = "notifications/subscriptions/acknowledged"
)
