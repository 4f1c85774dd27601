package observe

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Checks of what a server asks, by requests of its own and by results, and of the news that it sends.
const (
	SeenAsked      = "CALL-11/declared"
	SeenInputAsked = "MRTR-13/asked"
	SeenNews       = "LC-11/news"
)

// needed are the capabilities of a client that requests of a server need.
var needed = map[string]string{
	mcp.MethodElicitationCreate:     "elicitation",
	mcp.MethodSamplingCreateMessage: "sampling",
	mcp.MethodRootsList:             "roots",
}

// asked judges a request of the server.
func (o *Observer) asked(s *wire.Session, in wire.Inbound) {
	if in.Method() == mcp.MethodRootsList && s.SentRoots { // the suite has said that there are some
		return
	}
	if capability, there := needed[in.Method()]; there && s.Stateless == "" {
		o.See(SeenAsked, s.Declares[capability] != nil, in, "%s of a client that does not declare %s", in.Method(), capability)
	}
}

// askedBy judges what a result asks for.
func (o *Observer) askedBy(s *wire.Session, in wire.Inbound, requests json.RawMessage) {
	all, _ := rawjson.Object(requests)
	for _, key := range rawjson.SortedKeys(all) {
		request, _ := rawjson.Object(all[key])
		method := rawjson.Text(request["method"])
		if capability, there := needed[method]; there {
			o.See(SeenInputAsked, s.Declares[capability] != nil, in, "%s of a client that does not declare %s", method, capability)
		}
	}
}

// declaredNews are the capabilities, and their members, of a server that sends news.
var declaredNews = map[string][2]string{
	mcp.MethodToolsListChanged:     {"tools", "listChanged"},
	mcp.MethodPromptsListChanged:   {"prompts", "listChanged"},
	mcp.MethodResourcesListChanged: {"resources", "listChanged"},
	mcp.MethodResourcesUpdated:     {"resources", "subscribe"},
}

// news judges a notification of something that has changed.
func (o *Observer) news(s *wire.Session, in wire.Inbound) {
	path, there := declaredNews[in.Method()]
	if !there || s.Opened == nil {
		return
	}
	declared, _ := rawjson.Object(s.Opened.Capabilities)
	capability, _ := rawjson.Object(declared[path[0]])
	o.See(SeenNews, string(capability[path[1]]) == "true", in, "capabilities.%s.%s is %s", path[0], path[1], rawjson.OrAbsent(capability[path[1]]))
}
