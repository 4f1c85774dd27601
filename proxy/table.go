package proxy

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// A rule answers a method of hosts.
type rule func(up *upstream, ctx context.Context, r *request) (json.RawMessage, error)

// rules are the methods that are more than a request to the server and its result. Every
// other method crosses unchanged, known or not, as long as the revision of the host has it.
//
//	method                    to a session server               to a stateless server
//	server/discover           answered here, from the agreement with the server
//	tools/list and the other  request. Before the server is there, the first page comes from
//	lists                     the cache
//	logging/setLevel          request, again in each session    _meta of later requests
//	resources/subscribe       request, again in each session    subscriptions/listen
//	resources/unsubscribe     request                           end of the stream
//	subscriptions/listen      resources/subscribe for each URI  subscriptions/listen
//	tools/call, prompts/get,  as they are. What the server asks meanwhile is a request to a
//	resources/read            session host, and input_required for a stateless one
//
// Requests of a stateless host may have a log level: see levels.
var rules = map[string]rule{
	mcp.MethodDiscover:              (*upstream).discover,
	mcp.MethodToolsList:             (*upstream).list,
	mcp.MethodPromptsList:           (*upstream).list,
	mcp.MethodResourcesList:         (*upstream).list,
	mcp.MethodResourceTemplatesList: (*upstream).list,
	mcp.MethodLoggingSetLevel:       (*upstream).setLevel,
	mcp.MethodResourcesSubscribe:    (*upstream).subscribe,
	mcp.MethodResourcesUnsubscribe:  (*upstream).unsubscribe,
	mcp.MethodSubscriptionsListen:   (*upstream).listen,
	mcp.MethodToolsCall:             (*upstream).askable,
	mcp.MethodPromptsGet:            (*upstream).askable,
	mcp.MethodResourcesRead:         (*upstream).askable,
}
