package proxy

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// known reports whether some revision has the method.
func known(method string) bool {
	for _, v := range mcp.Versions() {
		if mcp.MethodIn(method, v) {
			return true
		}
	}
	return false
}

// cacheable reports whether results of a method say how long they may be kept.
func cacheable(method string) bool {
	return strings.HasSuffix(method, "/list") || method == mcp.MethodResourcesRead || method == mcp.MethodDiscover
}

// changes reports whether a notification is one that the stateless era has subscriptions for.
func changes(method string) bool {
	switch method {
	case mcp.MethodToolsListChanged, mcp.MethodPromptsListChanged, mcp.MethodResourcesListChanged, mcp.MethodResourcesUpdated, mcp.MethodTasks:
		return true
	}
	return false
}

// asking are the requests of servers, and the capability that a host declares for each.
var asking = map[string]string{
	mcp.MethodSamplingCreateMessage: "sampling", mcp.MethodElicitationCreate: "elicitation", mcp.MethodRootsList: "roots",
}

// namedBy returns the member of params that Mcp-Name repeats, "" for none.
func namedBy(method string) string {
	switch method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		return "name"
	case mcp.MethodResourcesRead:
		return "uri"
	case mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel:
		return "taskId"
	}
	return ""
}
