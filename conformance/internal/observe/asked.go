package observe

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Checks of what a server asks: by requests of its own, and by results.
const (
	SeenAsked      = "CALL-11/declared"
	SeenInputAsked = "MRTR-13/asked"
)

// needed are the capabilities of a client that requests of a server need.
var needed = map[string]string{
	mcp.MethodElicitationCreate:     "elicitation",
	mcp.MethodSamplingCreateMessage: "sampling",
	mcp.MethodRootsList:             "roots",
}

// asked judges a request of the server.
func (o *Observer) asked(s *wire.Session, in wire.Inbound) {
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
