package mcp

// ToolAnnotations are a server's hints about a tool (schema ToolAnnotations,
// since 2025-03-26). A nil hint was not given; the methods apply the
// protocol's defaults. Hints are untrusted.
type ToolAnnotations struct {
	Title           string
	ReadOnlyHint    *bool
	DestructiveHint *bool
	IdempotentHint  *bool
	OpenWorldHint   *bool
	Extra           Members
	zero            presence
}

func (v *ToolAnnotations) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "title", optional, &v.Title)
	c.hint("readOnlyHint", &v.ReadOnlyHint)
	c.hint("destructiveHint", &v.DestructiveHint)
	c.hint("idempotentHint", &v.IdempotentHint)
	c.hint("openWorldHint", &v.OpenWorldHint)
}

// ReadOnly reports whether the tool declares that it changes nothing. The default is
// false. All methods of ToolAnnotations are safe on nil.
func (v *ToolAnnotations) ReadOnly() bool { return v != nil && hinted(v.ReadOnlyHint, false) }

// Destructive reports whether the tool may destroy something. The default is true, and
// false for a read-only tool.
func (v *ToolAnnotations) Destructive() bool {
	return !v.ReadOnly() && (v == nil || hinted(v.DestructiveHint, true))
}

// Idempotent reports whether the tool declares that a repeated call changes nothing
// more. The default is false, and true for a read-only tool.
func (v *ToolAnnotations) Idempotent() bool {
	return v.ReadOnly() || (v != nil && hinted(v.IdempotentHint, false))
}

// OpenWorld reports whether the tool reaches beyond a closed domain. The default is
// true.
func (v *ToolAnnotations) OpenWorld() bool { return v == nil || hinted(v.OpenWorldHint, true) }

func hinted(hint *bool, otherwise bool) bool {
	if hint == nil {
		return otherwise
	}
	return *hint
}

// toolAnnotations is ptr with memory from the codec's slab.
func (c *codec) toolAnnotations(name string, p **ToolAnnotations) {
	if c.mode != reading {
		ptr(c, name, p)
		return
	}
	if c.enterValue(name, optional) {
		*p = c.annotations.next()
		c.readObject(*p)
	}
}
