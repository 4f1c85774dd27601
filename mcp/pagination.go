package mcp

import "encoding/json"

// PaginatedParams asks for a page of a list (schema PaginatedRequestParams).
type PaginatedParams struct {
	// Cursor is the last page's NextCursor, byte for byte; nil for the first
	// page.
	Cursor *string
	Meta   json.RawMessage
	Extra  Members
	zero   presence
}

// The lists share one shape of parameters.
type (
	// ListToolsParams are the parameters of tools/list.
	ListToolsParams = PaginatedParams
	// ListResourcesParams are the parameters of resources/list.
	ListResourcesParams = PaginatedParams
	// ListResourceTemplatesParams are the parameters of resources/templates/list.
	ListResourceTemplatesParams = PaginatedParams
	// ListPromptsParams are the parameters of prompts/list.
	ListPromptsParams = PaginatedParams
	// ListTasksParams are the parameters of tasks/list (2025-11-25).
	ListTasksParams = PaginatedParams
)

func (v *PaginatedParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.cursor("cursor", &v.Cursor)
	c.raw("_meta", &v.Meta)
}

// RequestParams are the parameters of a request that has none of its own
// (schema RequestParams): ping, server/discover, roots/list.
type RequestParams struct {
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *RequestParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.raw("_meta", &v.Meta)
}

// NotificationParams are the parameters of a notification that has none of its
// own (schema NotificationParams): initialized and the list_changed family.
type NotificationParams struct {
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *NotificationParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.raw("_meta", &v.Meta)
}

// EmptyResult is a result without contents (schema EmptyResult).
type EmptyResult struct {
	// ResultType is sent since 2026-07-28; empty counts as "complete".
	ResultType ResultType
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *EmptyResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "resultType", optional, &v.ResultType)
	c.raw("_meta", &v.Meta)
}

// ResultType is the kind of a result (schema ResultType, since
// 2026-07-28). Extensions add values; any other makes the answer invalid.
type ResultType string

// The result types of the protocol and of the tasks extension.
const (
	ResultComplete      ResultType = "complete"
	ResultInputRequired ResultType = "input_required"
	ResultTask          ResultType = "task"
)

// CacheScope tells who may share a cached result (schema CacheableResult,
// since 2026-07-28). Any value but CachePublic counts as private.
type CacheScope string

// The cache scopes.
const (
	CachePrivate CacheScope = "private"
	CachePublic  CacheScope = "public"
)
