package mcp

import (
	"encoding/json"
	"strconv"
)

// PaginatedParams asks for a page of a list (schema PaginatedRequestParams):
// the parameters of tools/list, resources/list, resources/templates/list,
// prompts/list and, in 2025-11-25, tasks/list.
type PaginatedParams struct {
	// Cursor is the last page's NextCursor, byte for byte; nil for the first
	// page.
	Cursor *string
	Meta   json.RawMessage
	Extra  Members
	zero   presence
}

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

// lifetime is ttlMs of a result that may be cached. It is only a hint, so an invalid
// value does not fail the result. A number is rounded down and limited; any other
// value is 0, which forbids caching.
func (c *codec) lifetime(p **int64) {
	if c.mode != reading {
		c.integer("ttlMs", optional, p)
		return
	}
	if !c.enterValue("ttlMs", optional) {
		return
	}
	raw := string(c.next())
	ms, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		f, _ := strconv.ParseFloat(raw, 64) // 0 for a value that is not a number
		ms = int64(min(max(f, 0), 1<<53))
	}
	*p = &ms
}

// scope is cacheScope of a result that may be cached. A value that is not a string
// counts as absent, and therefore as private.
func (c *codec) scope(p *CacheScope) {
	if c.mode != reading || c.name != "cacheScope" || c.in.PeekKind() == '"' {
		str(c, "cacheScope", optional, p)
		return
	}
	if c.enterValue("cacheScope", optional) {
		c.next()
		*p = ""
	}
}
