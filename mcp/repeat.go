package mcp

// RunsTwice reports whether a request of the method does no harm when it runs
// twice: lists, reads, the handshake and what sets a state. Calls of tools do not
// belong to them, nor do methods that the specification does not have.
func RunsTwice(method string) bool {
	switch method {
	case MethodInitialize, MethodPing, MethodDiscover,
		MethodToolsList, MethodResourcesList, MethodResourceTemplatesList, MethodPromptsList, MethodTasksList,
		MethodResourcesRead, MethodPromptsGet, MethodCompletionComplete,
		MethodTasksGet, MethodTasksResult, MethodTasksCancel,
		MethodSubscriptionsListen, MethodResourcesSubscribe, MethodResourcesUnsubscribe, MethodLoggingSetLevel:
		return true
	}
	return false
}
