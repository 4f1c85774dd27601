package mcp

import "encoding/json"

// SubscriptionFilter selects notifications: those that a client requests, or those
// that the server accepted (schema SubscriptionFilter, since 2026-07-28). TaskIDs
// belongs to the tasks extension.
type SubscriptionFilter struct {
	ToolsListChanged      bool
	PromptsListChanged    bool
	ResourcesListChanged  bool
	ResourceSubscriptions []string
	TaskIDs               []string
	Extra                 Members
	zero                  presence
}

func (v *SubscriptionFilter) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.boolean("toolsListChanged", &v.ToolsListChanged)
	c.boolean("promptsListChanged", &v.PromptsListChanged)
	c.boolean("resourcesListChanged", &v.ResourcesListChanged)
	strs(c, "resourceSubscriptions", optional, &v.ResourceSubscriptions)
	strs(c, "taskIds", optional, &v.TaskIDs)
}

// SubscriptionsListenParams opens a subscription (schema
// SubscriptionsListenRequestParams).
type SubscriptionsListenParams struct {
	Notifications SubscriptionFilter
	Meta          json.RawMessage
	Extra         Members
	zero          presence
}

func (v *SubscriptionsListenParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	val(c, "notifications", required, &v.Notifications)
	c.raw("_meta", &v.Meta)
}

// SubscriptionsAcknowledgedParams lists which of the requested notifications the
// server will send (schema SubscriptionsAcknowledgedNotificationParams). Its _meta
// holds [MetaSubscriptionID].
type SubscriptionsAcknowledgedParams struct {
	Notifications SubscriptionFilter
	Meta          json.RawMessage
	Extra         Members
	zero          presence
}

func (v *SubscriptionsAcknowledgedParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	val(c, "notifications", written, &v.Notifications)
	c.raw("_meta", &v.Meta)
}
