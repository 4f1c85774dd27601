package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Equal reports whether v and other have the same members with the same bytes. To
// ignore the order of members and white space, compare [Tool.Fingerprint].
func (v *Tool) Equal(other *Tool) bool {
	if v == nil || other == nil {
		return v == other
	}
	return v.Name == other.Name && v.Title == other.Title && v.Description == other.Description &&
		sameRaw(v.InputSchema, other.InputSchema) && sameRaw(v.OutputSchema, other.OutputSchema) && sameRaw(v.Meta, other.Meta) &&
		v.Annotations.equal(other.Annotations) && v.Execution.equal(other.Execution) &&
		sameList(v.Icons, other.Icons, Icon.equal) && v.Extra.equal(other.Extra) && v.zero == other.zero
}

func (v *ToolAnnotations) equal(other *ToolAnnotations) bool {
	if v == nil || other == nil {
		return v == other
	}
	return v.Title == other.Title && sameHint(v.ReadOnlyHint, other.ReadOnlyHint) && sameHint(v.DestructiveHint, other.DestructiveHint) &&
		sameHint(v.IdempotentHint, other.IdempotentHint) && sameHint(v.OpenWorldHint, other.OpenWorldHint) &&
		v.Extra.equal(other.Extra) && v.zero == other.zero
}

func (v *ToolExecution) equal(other *ToolExecution) bool {
	if v == nil || other == nil {
		return v == other
	}
	return v.TaskSupport == other.TaskSupport && v.Extra.equal(other.Extra) && v.zero == other.zero
}

func (v Icon) equal(other Icon) bool {
	return v.Src == other.Src && v.MIMEType == other.MIMEType && v.Theme == other.Theme &&
		(v.Sizes == nil) == (other.Sizes == nil) && slices.Equal(v.Sizes, other.Sizes) &&
		v.Extra.equal(other.Extra) && v.zero == other.zero
}

func (m Members) equal(other Members) bool {
	return sameList(m, other, func(a, b Member) bool { return a.Name == b.Name && sameRaw(a.Value, b.Value) })
}

// sameList reports whether two lists are equal. An absent list does not equal an
// empty one.
func sameList[T any](a, b []T, equal func(a, b T) bool) bool {
	return (a == nil) == (b == nil) && slices.EqualFunc(a, b, equal)
}

// sameRaw reports whether two raw members are equal. An absent one does not equal an
// empty one.
func sameRaw(a, b json.RawMessage) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func sameHint(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }
