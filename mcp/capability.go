package mcp

import (
	"encoding/json"
	"strings"
)

// ClientCapabilities are the capabilities that a client declares (schema
// ClientCapabilities). The zero value declares none and encodes as {}.
type ClientCapabilities struct {
	// Experimental maps names to settings objects.
	Experimental map[string]json.RawMessage
	Roots        *ListChangedCapability
	Sampling     *SamplingCapability
	Elicitation  *ElicitationCapability
	// Tasks is for revision 2025-11-25 only.
	Tasks *TasksCapability
	// Extensions maps extension ids to settings objects, since 2026-07-28.
	Extensions map[string]json.RawMessage
	Extra      Members
	zero       presence
}

func (v *ClientCapabilities) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.raws("experimental", &v.Experimental)
	ptr(c, "roots", &v.Roots)
	ptr(c, "sampling", &v.Sampling)
	ptr(c, "elicitation", &v.Elicitation)
	ptr(c, "tasks", &v.Tasks)
	c.raws("extensions", &v.Extensions)
}

// ServerCapabilities are the features that a server offers (schema ServerCapabilities). A
// nil pointer is a capability that was not declared; an empty object is
// declared.
type ServerCapabilities struct {
	// Experimental maps names to settings objects.
	Experimental map[string]json.RawMessage
	Logging      *EmptyCapability
	// Completions is declared since 2025-03-26; before, it is implied.
	Completions *EmptyCapability
	Prompts     *ListChangedCapability
	Resources   *ResourcesCapability
	Tools       *ListChangedCapability
	// Tasks is for revision 2025-11-25 only.
	Tasks *TasksCapability
	// Extensions maps extension ids to settings objects, since 2026-07-28.
	Extensions map[string]json.RawMessage
	Extra      Members
	zero       presence
}

func (v *ServerCapabilities) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.raws("experimental", &v.Experimental)
	ptr(c, "logging", &v.Logging)
	ptr(c, "completions", &v.Completions)
	ptr(c, "prompts", &v.Prompts)
	ptr(c, "resources", &v.Resources)
	ptr(c, "tools", &v.Tools)
	ptr(c, "tasks", &v.Tasks)
	c.raws("extensions", &v.Extensions)
}

// Has reports whether the capability at path was declared: "tools",
// "tools.listChanged", "resources.subscribe", "experimental.x",
// "extensions.io.modelcontextprotocol/tasks". An empty object is declared;
// false and null are not.
func (v ServerCapabilities) Has(path string) bool {
	switch path { // every call asks for one of these, so they must be fast
	case "tools":
		return v.Tools != nil
	case "resources":
		return v.Resources != nil
	case "prompts":
		return v.Prompts != nil
	case "logging":
		return v.Logging != nil
	case "completions":
		return v.Completions != nil
	}
	return v.declares(path)
}

// declares is Has by the encoded form. It is a function of its own because encoding
// moves the value to the heap.
func (v ServerCapabilities) declares(path string) bool {
	raw, err := encode(&v)
	return err == nil && declares(raw, path)
}

// Has is [ServerCapabilities.Has] for what a client offers.
func (v ClientCapabilities) Has(path string) bool {
	raw, err := encode(&v)
	return err == nil && declares(raw, path)
}

// EmptyCapability is a capability without settings: present or absent.
type EmptyCapability struct {
	Extra Members
	zero  presence
}

func (v *EmptyCapability) fields(c *codec) { c.open(&v.Extra, &v.zero) }

// ListChangedCapability is the shape of the tools, prompts and roots
// capabilities.
type ListChangedCapability struct {
	// ListChanged promises a notification when the list changes.
	ListChanged bool
	Extra       Members
	zero        presence
}

func (v *ListChangedCapability) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.boolean("listChanged", &v.ListChanged)
}

// ResourcesCapability is the resources capability of a server.
type ResourcesCapability struct {
	// Subscribe promises notifications for single resources.
	Subscribe bool
	// ListChanged promises a notification when the list changes.
	ListChanged bool
	Extra       Members
	zero        presence
}

func (v *ResourcesCapability) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.boolean("subscribe", &v.Subscribe)
	c.boolean("listChanged", &v.ListChanged)
}

// SamplingCapability is the sampling capability of a client.
type SamplingCapability struct {
	// Context allows includeContext other than "none", since 2025-11-25.
	Context *EmptyCapability
	// Tools allows tools in sampling requests, since 2025-11-25.
	Tools *EmptyCapability
	Extra Members
	zero  presence
}

func (v *SamplingCapability) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	ptr(c, "context", &v.Context)
	ptr(c, "tools", &v.Tools)
}

// ElicitationCapability is the elicitation capability of a client. An empty
// one means form mode only.
type ElicitationCapability struct {
	Form *EmptyCapability
	// URL is known since 2025-11-25.
	URL   *EmptyCapability
	Extra Members
	zero  presence
}

func (v *ElicitationCapability) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	ptr(c, "form", &v.Form)
	ptr(c, "url", &v.URL)
}

// TasksCapability is the tasks capability of either side in 2025-11-25.
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type TasksCapability struct {
	List     *EmptyCapability
	Cancel   *EmptyCapability
	Requests *TaskRequestsCapability
	Extra    Members
	zero     presence
}

func (v *TasksCapability) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	ptr(c, "list", &v.List)
	ptr(c, "cancel", &v.Cancel)
	ptr(c, "requests", &v.Requests)
}

// TaskRequestsCapability names the requests that may become tasks: a server sets
// Tools, a client Sampling and Elicitation.
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type TaskRequestsCapability struct {
	Tools       *TaskToolsCapability
	Sampling    *TaskSamplingCapability
	Elicitation *TaskElicitationCapability
	Extra       Members
	zero        presence
}

func (v *TaskRequestsCapability) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	ptr(c, "tools", &v.Tools)
	ptr(c, "sampling", &v.Sampling)
	ptr(c, "elicitation", &v.Elicitation)
}

// TaskToolsCapability names the tool requests that may become tasks.
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type TaskToolsCapability struct {
	Call  *EmptyCapability
	Extra Members
	zero  presence
}

func (v *TaskToolsCapability) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	ptr(c, "call", &v.Call)
}

// TaskSamplingCapability names the sampling requests that may become tasks.
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type TaskSamplingCapability struct {
	CreateMessage *EmptyCapability
	Extra         Members
	zero          presence
}

func (v *TaskSamplingCapability) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	ptr(c, "createMessage", &v.CreateMessage)
}

// TaskElicitationCapability names the elicitation requests that may become
// tasks.
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type TaskElicitationCapability struct {
	Create *EmptyCapability
	Extra  Members
	zero   presence
}

func (v *TaskElicitationCapability) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	ptr(c, "create", &v.Create)
}

// declares reports whether the object raw declares the capability at path.
// Names may hold dots themselves, so each way to split the path is tried.
func declares(raw json.RawMessage, path string) bool {
	found := false
	err := withCodec(raw, func(c *codec) {
		c.readMembers(func(name string) {
			value := c.next()
			if found || c.err != nil {
				return
			}
			if name == path {
				found = string(value) != "false" && string(value) != "null"
				return
			}
			rest, ok := strings.CutPrefix(path, name)
			if ok && strings.HasPrefix(rest, ".") && value[0] == '{' {
				found = declares(value, rest[1:])
			}
		})
	})
	return err == nil && found
}
