package watch

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// AllLists is a filter for every list.
var AllLists = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}

// Declared returns the part of a filter that the server declared, with each URI once.
func Declared(agreed *link.Agreement, filter mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	filter.ResourceSubscriptions = distinct(filter.ResourceSubscriptions)
	filter.TaskIDs = distinct(filter.TaskIDs)
	if agreed.Era == mcp.EraSession {
		filter.TaskIDs = nil // sessions report tasks without a subscription
	}
	if !agreed.Declared {
		return filter
	}
	caps := agreed.Capabilities
	filter.ToolsListChanged = filter.ToolsListChanged && caps.Tools != nil && caps.Tools.ListChanged
	filter.PromptsListChanged = filter.PromptsListChanged && caps.Prompts != nil && caps.Prompts.ListChanged
	filter.ResourcesListChanged = filter.ResourcesListChanged && caps.Resources != nil && caps.Resources.ListChanged
	if caps.Resources == nil || !caps.Resources.Subscribe {
		filter.ResourceSubscriptions = nil
	}
	if _, ok := caps.Extensions[mcp.ExtensionTasks]; !ok {
		filter.TaskIDs = nil
	}
	return filter
}

// Empty reports whether a filter selects nothing.
func Empty(f mcp.SubscriptionFilter) bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged &&
		len(f.ResourceSubscriptions) == 0 && len(f.TaskIDs) == 0
}

// subscribable returns the part of a filter that the server supports.
func (w *Watcher) subscribable(filter mcp.SubscriptionFilter) (mcp.SubscriptionFilter, error) {
	if slices.Contains(filter.ResourceSubscriptions, "") || slices.Contains(filter.TaskIDs, "") {
		return filter, w.refuse(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, "a URI or task to subscribe to must not be empty")
	}
	if Empty(filter) {
		return filter, w.refuse(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, "the filter is empty")
	}
	offered := Declared(w.agreed(), filter)
	if Empty(offered) {
		return filter, w.refuse(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, "the server supports none of the requested notifications")
	}
	return offered, nil
}

// covers reports whether a filter selects a change.
func covers(f mcp.SubscriptionFilter, ch Change) bool {
	switch ch.Method {
	case mcp.MethodToolsListChanged:
		return f.ToolsListChanged
	case mcp.MethodPromptsListChanged:
		return f.PromptsListChanged
	case mcp.MethodResourcesListChanged:
		return f.ResourcesListChanged
	case mcp.MethodResourcesUpdated:
		return slices.ContainsFunc(f.ResourceSubscriptions, func(uri string) bool { return within(ch.URI, uri) })
	}
	return false
}

// within reports whether a URI is a resource or below it.
func within(uri, resource string) bool {
	rest, ok := strings.CutPrefix(uri, resource)
	return ok && (rest == "" || strings.HasSuffix(resource, "/") || strings.ContainsAny(rest[:1], "/?#"))
}

func distinct(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

func without(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return slices.Contains(others, t) })
}
