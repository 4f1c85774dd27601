package mcp

import "strings"

// The names of requests. [LookupMethod] tells which revisions have them.
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

// The names of notifications.
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

// Sender says who may send a method.
type Sender uint8

// The senders.
const (
	FromClient Sender = 1 << iota
	FromServer
	FromEither = FromClient | FromServer
)

// MethodInfo describes a method in one revision.
type MethodInfo struct {
	Name string
	// Notification is true for a method that is never answered.
	Notification bool
	Sender       Sender
	// Capability is the path of the capability that the server must declare
	// before a client may send the method, for [ServerCapabilities.Has]. It is
	// empty if none is needed.
	Capability string
	// InputRequired is true when the answer may be an [InputRequiredResult].
	InputRequired bool
	// Cacheable is true when the answer carries ttlMs and cacheScope.
	Cacheable bool
}

// LookupMethod describes the method in revision v. ok is false if the revision
// does not have it as a message. In the stateless era, a server's questions
// are part of results and are not methods.
func LookupMethod(name string, v Version) (info MethodInfo, ok bool) {
	place := v.place()
	if place < 0 {
		return MethodInfo{}, false
	}
	for i := range methods {
		m := &methods[i]
		if m.name != name || place < m.since.place() || place > m.until.place() {
			continue
		}
		stateless := v.Era() == EraStateless
		return MethodInfo{
			Name:          m.name,
			Notification:  strings.HasPrefix(m.name, "notifications/"),
			Sender:        m.sender,
			Capability:    m.capability,
			InputRequired: stateless && m.traits&mayAsk != 0,
			Cacheable:     stateless && m.traits&mayCache != 0,
		}, true
	}
	return MethodInfo{}, false
}

// MethodIn reports whether revision v has the method.
func MethodIn(name string, v Version) bool {
	_, ok := LookupMethod(name, v)
	return ok
}

type traits uint8

const (
	mayAsk traits = 1 << iota
	mayCache
)

const (
	revA = Version2024_11_05
	revB = Version2025_03_26
	revC = Version2025_06_18
	revD = Version2025_11_25
	revE = Version2026_07_28
)

// methods has a row for each method and range of revisions in which it has the same
// properties.
var methods = [...]struct {
	name         string
	since, until Version
	sender       Sender
	capability   string
	traits       traits
}{
	{MethodInitialize, revA, revD, FromClient, "", 0},
	{MethodInitialized, revA, revD, FromClient, "", 0},
	{MethodPing, revA, revD, FromEither, "", 0},
	{MethodDiscover, revE, revE, FromClient, "", mayCache},
	{MethodToolsList, revA, revE, FromClient, "tools", mayCache},
	{MethodToolsCall, revA, revE, FromClient, "tools", mayAsk},
	{MethodPromptsList, revA, revE, FromClient, "prompts", mayCache},
	{MethodPromptsGet, revA, revE, FromClient, "prompts", mayAsk},
	{MethodResourcesList, revA, revE, FromClient, "resources", mayCache},
	{MethodResourceTemplatesList, revA, revE, FromClient, "resources", mayCache},
	{MethodResourcesRead, revA, revE, FromClient, "resources", mayAsk | mayCache},
	{MethodResourcesSubscribe, revA, revD, FromClient, "resources.subscribe", 0},
	{MethodResourcesUnsubscribe, revA, revD, FromClient, "resources.subscribe", 0},
	// The first revision has completion but no capability for it.
	{MethodCompletionComplete, revA, revA, FromClient, "", 0},
	{MethodCompletionComplete, revB, revE, FromClient, "completions", 0},
	{MethodLoggingSetLevel, revA, revD, FromClient, "logging", 0},
	{MethodSubscriptionsListen, revE, revE, FromClient, "", 0},
	{MethodRootsList, revA, revD, FromServer, "", 0},
	{MethodSamplingCreateMessage, revA, revD, FromServer, "", 0},
	{MethodElicitationCreate, revC, revD, FromServer, "", 0},
	{MethodTasksGet, revD, revD, FromEither, "tasks", 0},
	{MethodTasksResult, revD, revD, FromEither, "tasks", 0},
	{MethodTasksList, revD, revD, FromEither, "tasks.list", 0},
	{MethodTasksCancel, revD, revD, FromEither, "tasks.cancel", 0},
	{MethodTasksGet, revE, revE, FromClient, "extensions." + ExtensionTasks, 0},
	{MethodTasksUpdate, revE, revE, FromClient, "extensions." + ExtensionTasks, 0},
	{MethodTasksCancel, revE, revE, FromClient, "extensions." + ExtensionTasks, 0},
	{MethodCancelled, revA, revE, FromEither, "", 0},
	{MethodProgress, revA, revD, FromEither, "", 0},
	{MethodProgress, revE, revE, FromServer, "", 0},
	{MethodMessage, revA, revE, FromServer, "", 0},
	{MethodToolsListChanged, revA, revE, FromServer, "", 0},
	{MethodResourcesListChanged, revA, revE, FromServer, "", 0},
	{MethodResourcesUpdated, revA, revE, FromServer, "", 0},
	{MethodPromptsListChanged, revA, revE, FromServer, "", 0},
	{MethodRootsListChanged, revA, revD, FromClient, "", 0},
	{MethodElicitationComplete, revD, revD, FromServer, "", 0},
	{MethodTasksStatus, revD, revD, FromEither, "", 0},
	{MethodTasks, revE, revE, FromServer, "", 0},
	{MethodSubscriptionsAcknowledged, revE, revE, FromServer, "", 0},
}
