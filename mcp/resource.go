package mcp

import (
	"encoding/base64"
	"encoding/json"
)

// Resource describes a resource that a server offers (schema Resource).
type Resource struct {
	URI string
	// Name is for programs; Title, since 2025-06-18, is for people.
	Name        string
	Title       string
	Description string
	MIMEType    string
	// Size is in bytes before encoding, nil when unknown.
	Size        *int64
	Annotations *Annotations
	Icons       []Icon
	Meta        json.RawMessage
	Extra       Members
	zero        presence
}

func (v *Resource) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "uri", required, &v.URI)
	str(c, "name", written, &v.Name)
	str(c, "title", optional, &v.Title)
	str(c, "description", optional, &v.Description)
	str(c, "mimeType", optional, &v.MIMEType)
	c.integer("size", optional, &v.Size)
	ptr(c, "annotations", &v.Annotations)
	list(c, "icons", optional, &v.Icons)
	c.raw("_meta", &v.Meta)
}

// DisplayName returns the name for people.
func (v *Resource) DisplayName() string { return firstText(v.Title, v.Name, v.URI) }

// ResourceTemplate describes a family of resources (schema ResourceTemplate).
type ResourceTemplate struct {
	// URITemplate is an RFC 6570 template.
	URITemplate string
	Name        string
	Title       string
	Description string
	MIMEType    string
	Annotations *Annotations
	Icons       []Icon
	Meta        json.RawMessage
	Extra       Members
	zero        presence
}

func (v *ResourceTemplate) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "uriTemplate", required, &v.URITemplate)
	str(c, "name", written, &v.Name)
	str(c, "title", optional, &v.Title)
	str(c, "description", optional, &v.Description)
	str(c, "mimeType", optional, &v.MIMEType)
	ptr(c, "annotations", &v.Annotations)
	list(c, "icons", optional, &v.Icons)
	c.raw("_meta", &v.Meta)
}

// DisplayName returns the name for people.
func (v *ResourceTemplate) DisplayName() string { return firstText(v.Title, v.Name, v.URITemplate) }

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// ListResourcesResult is one page of resources (schema ListResourcesResult).
type ListResourcesResult struct {
	Resources []Resource
	// NextCursor is nil at the end of the list.
	NextCursor *string
	ResultType ResultType
	TTLMs      *int64
	CacheScope CacheScope
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *ListResourcesResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	list(c, "resources", required, &v.Resources)
	c.cursor("nextCursor", &v.NextCursor)
	str(c, "resultType", optional, &v.ResultType)
	c.lifetime(&v.TTLMs)
	c.scope(&v.CacheScope)
	c.raw("_meta", &v.Meta)
}

// ListResourceTemplatesResult is one page of templates (schema
// ListResourceTemplatesResult).
type ListResourceTemplatesResult struct {
	ResourceTemplates []ResourceTemplate
	// NextCursor is nil at the end of the list.
	NextCursor *string
	ResultType ResultType
	TTLMs      *int64
	CacheScope CacheScope
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *ListResourceTemplatesResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	list(c, "resourceTemplates", required, &v.ResourceTemplates)
	c.cursor("nextCursor", &v.NextCursor)
	str(c, "resultType", optional, &v.ResultType)
	c.lifetime(&v.TTLMs)
	c.scope(&v.CacheScope)
	c.raw("_meta", &v.Meta)
}

// ReadResourceParams asks for a resource (schema ReadResourceRequestParams).
type ReadResourceParams struct {
	URI string
	// InputResponses and RequestState answer an [InputRequiredResult], since
	// 2026-07-28.
	InputResponses InputResponses
	RequestState   *string
	Meta           json.RawMessage
	Extra          Members
	zero           presence
}

func (v *ReadResourceParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "uri", required, &v.URI)
	c.raws("inputResponses", (*map[string]json.RawMessage)(&v.InputResponses))
	c.cursor("requestState", &v.RequestState)
	c.raw("_meta", &v.Meta)
}

// ReadResourceResult holds the contents of a resource (schema
// ReadResourceResult).
type ReadResourceResult struct {
	Contents   []ResourceContents
	ResultType ResultType
	TTLMs      *int64
	CacheScope CacheScope
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *ReadResourceResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	list(c, "contents", required, &v.Contents)
	str(c, "resultType", optional, &v.ResultType)
	c.lifetime(&v.TTLMs)
	c.scope(&v.CacheScope)
	c.raw("_meta", &v.Meta)
}

// ResourceContents is one part of a resource, text or binary (schemas
// TextResourceContents and BlobResourceContents).
type ResourceContents struct {
	URI      string
	MIMEType string
	// Text is set for text, nil for binary contents.
	Text *string
	// Blob is the base64 text of binary contents, as received; see
	// [ResourceContents.Bytes].
	Blob  *string
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *ResourceContents) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "uri", required, &v.URI)
	str(c, "mimeType", optional, &v.MIMEType)
	c.cursor("text", &v.Text)
	c.cursor("blob", &v.Blob)
	c.raw("_meta", &v.Meta)
}

// Bytes returns the contents: the bytes of the text, or the decoded blob.
func (v *ResourceContents) Bytes() ([]byte, error) {
	switch {
	case v.Text != nil:
		return []byte(*v.Text), nil
	case v.Blob != nil:
		return base64.StdEncoding.DecodeString(*v.Blob)
	default:
		return nil, nil
	}
}

// SubscribeParams starts or ends notifications about a resource: the parameters
// of resources/subscribe and resources/unsubscribe (schemas
// SubscribeRequestParams and UnsubscribeRequestParams; up to 2025-11-25).
type SubscribeParams struct {
	URI   string
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *SubscribeParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "uri", required, &v.URI)
	c.raw("_meta", &v.Meta)
}

// ResourceUpdatedParams reports that a resource, or one below it, changed (schema
// ResourceUpdatedNotificationParams).
type ResourceUpdatedParams struct {
	URI   string
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *ResourceUpdatedParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "uri", required, &v.URI)
	c.raw("_meta", &v.Meta)
}
