package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Offer is what a client offers to its servers, and so what it declares. It is immutable once the
// client is connected. The zero Offer offers nothing.
type Offer struct {
	// Declared is declared in every revision, in place of the members that the handlers imply;
	// nil adds nothing.
	Declared *mcp.ClientCapabilities
	// Tasks declares the extension for tasks, in the stateless era. In 2025-11-25 it lets the
	// server run its questions as tasks.
	Tasks bool
	// Roots is the initial list of roots; nil offers none.
	Roots []mcp.Root

	// Sampling calls the application's model; nil offers none.
	Sampling                       func(context.Context, Requester, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)
	SamplingTools, SamplingContext bool
	// Form and URL ask the user; nil offers none.
	Form func(context.Context, Requester, FormRequest) (*mcp.ElicitResult, error)
	URL  func(context.Context, Requester, URLRequest) (mcp.ElicitAction, error)

	// Raw handles requests by method, in place of the handlers above, and Any those that have no
	// other handler. Neither implies a capability.
	Raw map[string]RawHandler
	Any RawHandler

	Limits Limits
}

// RawHandler answers a request with a raw result, which must be an object.
type RawHandler func(ctx context.Context, from Requester, method string, params json.RawMessage) (json.RawMessage, error)

// Requester is the server that asks for input, for handlers to show to the user.
type Requester struct {
	// Server is the client's name for the server.
	Server string
	// Claimed is how the server identifies itself; untrusted.
	Claimed mcp.Implementation
	// Method and Tool are the call that the question belongs to. They are empty for a request of
	// the session era, which does not name its call.
	Method, Tool string
}

// HandleRaw sets the handler of a method; nil removes it.
func (o *Offer) HandleRaw(method string, f RawHandler) {
	if o.Raw == nil {
		o.Raw = map[string]RawHandler{}
	}
	if o.Raw[method] = f; f == nil {
		delete(o.Raw, method)
	}
}

// HasRaw reports whether there is a raw handler, which may wait for requests that no capability
// announces.
func (o *Offer) HasRaw() bool { return len(o.Raw) > 0 || o.Any != nil }

// Asks reports whether requests of the server may reach handlers.
func (o *Offer) Asks() bool {
	return o.Form != nil || o.URL != nil || o.Sampling != nil || o.HasRaw()
}

// rawHandler returns the raw handler of a method and the option that set it, nil for none.
func (o *Offer) rawHandler(method string) (f RawHandler, option string) {
	if f := o.Raw[method]; f != nil {
		return f, "OnRequest"
	}
	if o.isTaken(method) {
		return nil, ""
	}
	return o.Any, "OnAnyRequest"
}

// isTaken reports whether requests with a method do not reach Any.
func (o *Offer) isTaken(method string) bool {
	switch method {
	case mcp.MethodPing:
		return true
	case mcp.MethodSamplingCreateMessage:
		return o.Sampling != nil
	case mcp.MethodElicitationCreate:
		return o.Form != nil || o.URL != nil
	case mcp.MethodRootsList:
		return o.Roots != nil
	case mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel, mcp.MethodTasksList:
		return o.tasks(mcp.Version2025_11_25) != nil
	}
	return false
}

// Declare adds to the capabilities that the client declares.
func (o *Offer) Declare(caps mcp.ClientCapabilities) {
	if o.Declared == nil {
		o.Declared = &mcp.ClientCapabilities{}
	}
	overlay(o.Declared, &caps)
}

// overlay puts the members that are set in from onto those of to. Maps add to each other.
func overlay(to, from *mcp.ClientCapabilities) {
	to.Roots = cmp.Or(from.Roots, to.Roots)
	to.Sampling = cmp.Or(from.Sampling, to.Sampling)
	to.Elicitation = cmp.Or(from.Elicitation, to.Elicitation)
	to.Tasks = cmp.Or(from.Tasks, to.Tasks)
	to.Experimental = joined(to.Experimental, from.Experimental)
	to.Extensions = joined(to.Extensions, from.Extensions)
	extra := slices.DeleteFunc(slices.Clone(to.Extra), func(m mcp.Member) bool {
		_, replaced := from.Extra.Get(m.Name)
		return replaced
	})
	to.Extra = append(extra, from.Extra...)
}

// joined returns the settings of both, which it leaves unchanged.
func joined(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	if len(a) == 0 {
		return maps.Clone(b)
	}
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// Complete checks the offer and replaces zero limits with their defaults.
func (o *Offer) Complete() error {
	var reserved error
	if o.Raw[""] != nil || o.Raw[mcp.MethodPing] != nil {
		reserved = errors.New("OnRequest: a method is required, and ping is answered by the client")
	}
	return errors.Join(o.Limits.complete(), CheckRoots(o.Roots), o.checkExtensions(), reserved)
}

func (o *Offer) checkExtensions() error {
	if o.Declared == nil {
		return nil
	}
	for id, settings := range o.Declared.Extensions {
		if err := mcp.CheckMetaKey(id); err != nil || !strings.Contains(id, "/") {
			return errors.Join(fmt.Errorf("extension %q: the id needs the form of com.example/name", id), err)
		}
		if _, err := jsonrpc.AppendValue(nil, settings); err != nil || doc.First(settings) != '{' {
			return errors.Join(fmt.Errorf("extension %q: the settings must be a JSON object", id), err)
		}
	}
	return nil
}

// Capabilities returns the capabilities that the client declares in a revision. They follow from
// its handlers.
func (o *Offer) Capabilities(v mcp.Version) mcp.ClientCapabilities {
	var caps mcp.ClientCapabilities
	stateless := v.Era() == mcp.EraStateless
	if o.Roots != nil {
		caps.Roots = &mcp.ListChangedCapability{ListChanged: !stateless}
	}
	rich := v.AtLeast(mcp.Version2025_11_25)
	if o.Sampling != nil {
		caps.Sampling = &mcp.SamplingCapability{}
		if rich {
			caps.Sampling.Tools = capability(o.SamplingTools)
			caps.Sampling.Context = capability(o.SamplingContext)
		}
	}
	switch {
	case rich && (o.Form != nil || o.URL != nil):
		caps.Elicitation = &mcp.ElicitationCapability{Form: capability(o.Form != nil), URL: capability(o.URL != nil)}
	case v.AtLeast(mcp.Version2025_06_18) && o.Form != nil:
		caps.Elicitation = &mcp.ElicitationCapability{} // older revisions have only forms
	}
	if stateless && o.Tasks {
		caps.Extensions = map[string]json.RawMessage{mcp.ExtensionTasks: json.RawMessage(`{}`)}
	}
	caps.Tasks = o.tasks(v)
	if o.Declared != nil {
		overlay(&caps, o.Declared)
	}
	return caps
}

// HasExtension reports whether the client declares an extension in a revision.
func (o *Offer) HasExtension(v mcp.Version, id string) bool {
	_, ok := o.Capabilities(v).Extensions[id]
	return ok
}

func capability(offered bool) *mcp.EmptyCapability {
	if offered {
		return &mcp.EmptyCapability{}
	}
	return nil
}
