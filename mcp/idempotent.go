package mcp

// Idempotent reports whether the specification lets a request of the method run
// twice without harm: lists, reads, the handshake, and requests that set a state.
// It returns false for tools/call, which may be, and for unknown methods.
func Idempotent(method string) bool {
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
