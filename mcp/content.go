package mcp

import (
	"encoding/base64"
	"encoding/json"
)

// Content is one block of content (schemas ContentBlock and
// SamplingMessageContentBlock): a [*TextContent], [*ImageContent],
// [*AudioContent], [*ResourceLink], [*EmbeddedResource], [*ToolUseContent] or
// [*ToolResultContent], or a [*RawContent] of a type this package does not
// know. There are no others.
type Content interface {
	object
	json.Marshaler
	// ContentType is the block's "type" member.
	ContentType() string
}

// The types of content block.
const (
	ContentText         = "text"
	ContentImage        = "image"
	ContentAudio        = "audio"
	ContentResourceLink = "resource_link"
	ContentResource     = "resource"
	ContentToolUse      = "tool_use"
	ContentToolResult   = "tool_result"
)

// Annotations describe the audience of a content block (schema Annotations).
type Annotations struct {
	// Audience is empty if not given.
	Audience []Role
	// Priority is from 0 (optional) to 1 (effectively required). It is nil if not given.
	Priority *float64
	// LastModified is an ISO 8601 time, since 2025-06-18.
	LastModified string
	Extra        Members
	zero         presence
}

func (v *Annotations) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	strs(c, "audience", optional, &v.Audience)
	c.fraction("priority", &v.Priority)
	str(c, "lastModified", optional, &v.LastModified)
}

// TextContent is text (schema TextContent).
type TextContent struct {
	Text        string
	Annotations *Annotations
	Meta        json.RawMessage
	Extra       Members
	zero        presence
}

// ContentType implements [Content].
func (*TextContent) ContentType() string { return ContentText }

func (v *TextContent) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.tag(ContentText)
	str(c, "text", required, &v.Text)
	ptr(c, "annotations", &v.Annotations)
	c.raw("_meta", &v.Meta)
}

// ImageContent is a picture (schema ImageContent).
type ImageContent struct {
	// Data is base64 text as received; see [ImageContent.Bytes].
	Data        string
	MIMEType    string
	Annotations *Annotations
	Meta        json.RawMessage
	Extra       Members
	zero        presence
}

// ContentType implements [Content].
func (*ImageContent) ContentType() string { return ContentImage }

func (v *ImageContent) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.tag(ContentImage)
	str(c, "data", required, &v.Data)
	str(c, "mimeType", written, &v.MIMEType)
	ptr(c, "annotations", &v.Annotations)
	c.raw("_meta", &v.Meta)
}

// Bytes decodes Data.
func (v *ImageContent) Bytes() ([]byte, error) { return base64.StdEncoding.DecodeString(v.Data) }

// AudioContent is audio (schema AudioContent, since 2025-03-26).
type AudioContent struct {
	// Data is base64 text as received; see [AudioContent.Bytes].
	Data        string
	MIMEType    string
	Annotations *Annotations
	Meta        json.RawMessage
	Extra       Members
	zero        presence
}

// ContentType implements [Content].
func (*AudioContent) ContentType() string { return ContentAudio }

func (v *AudioContent) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.tag(ContentAudio)
	str(c, "data", required, &v.Data)
	str(c, "mimeType", written, &v.MIMEType)
	ptr(c, "annotations", &v.Annotations)
	c.raw("_meta", &v.Meta)
}

// Bytes decodes Data.
func (v *AudioContent) Bytes() ([]byte, error) { return base64.StdEncoding.DecodeString(v.Data) }

// ResourceLink points to a resource, which need not be listed (schema
// ResourceLink, since 2025-06-18).
type ResourceLink struct {
	URI         string
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

// ContentType implements [Content].
func (*ResourceLink) ContentType() string { return ContentResourceLink }

func (v *ResourceLink) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.tag(ContentResourceLink)
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

// EmbeddedResource holds a resource's contents (schema EmbeddedResource).
type EmbeddedResource struct {
	Resource    ResourceContents
	Annotations *Annotations
	Meta        json.RawMessage
	Extra       Members
	zero        presence
}

// ContentType implements [Content].
func (*EmbeddedResource) ContentType() string { return ContentResource }

func (v *EmbeddedResource) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.tag(ContentResource)
	val(c, "resource", required, &v.Resource)
	ptr(c, "annotations", &v.Annotations)
	c.raw("_meta", &v.Meta)
}

// ToolUseContent is a call of a tool that a model requests (schema ToolUseContent, in
// sampling since 2025-11-25).
type ToolUseContent struct {
	ID   string
	Name string
	// Input is the arguments object.
	Input json.RawMessage
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

// ContentType implements [Content].
func (*ToolUseContent) ContentType() string { return ContentToolUse }

func (v *ToolUseContent) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.tag(ContentToolUse)
	str(c, "id", required, &v.ID)
	str(c, "name", required, &v.Name)
	c.raw("input", &v.Input)
	c.raw("_meta", &v.Meta)
}

// ToolResultContent is the answer to a [ToolUseContent] (schema
// ToolResultContent, in sampling since 2025-11-25).
type ToolResultContent struct {
	ToolUseID string
	Content   []Content
	// StructuredContent is nil when absent.
	StructuredContent json.RawMessage
	IsError           bool
	Meta              json.RawMessage
	Extra             Members
	zero              presence
}

// ContentType implements [Content].
func (*ToolResultContent) ContentType() string { return ContentToolResult }

func (v *ToolResultContent) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.tag(ContentToolResult)
	str(c, "toolUseId", required, &v.ToolUseID)
	c.contents("content", written, contentBlocks, &v.Content)
	c.value("structuredContent", &v.StructuredContent)
	c.boolean("isError", &v.IsError)
	c.raw("_meta", &v.Meta)
}
