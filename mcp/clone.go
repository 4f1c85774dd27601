package mcp

import "slices"

// Clone returns a copy that shares no memory with v: changing one does not change
// the other, and neither keeps alive the message that the other was read from.
// Schemas and other raw members keep their bytes. Clone of nil is nil.
func (v *Tool) Clone() *Tool {
	if v == nil {
		return nil
	}
	c := *v
	var m memory
	m.tool(&c) // counts
	m.buf = make([]byte, 0, m.size)
	m.tool(&c)
	return &c
}

// memory copies texts and raw members into one buffer. A first pass without a buffer
// only counts their size.
type memory struct {
	size int
	buf  []byte
}

func (m *memory) bytes(own *[]byte) {
	switch {
	case m.buf == nil:
		m.size += len(*own)
	case *own != nil:
		at := len(m.buf)
		m.buf = append(m.buf, *own...)
		*own = m.buf[at:len(m.buf):len(m.buf)] // what is appended to one does not reach the next
	}
}

func (m *memory) texts(own ...*string) {
	for _, s := range own {
		if m.buf == nil {
			m.size += len(*s)
			continue
		}
		at := len(m.buf)
		m.buf = append(m.buf, *s...)
		*s = shared(m.buf[at:])
	}
}

func (m *memory) members(own *Members) {
	if m.buf != nil {
		*own = slices.Clone(*own)
	}
	for i := range *own {
		m.texts(&(*own)[i].Name)
		m.bytes((*[]byte)(&(*own)[i].Value))
	}
}

func (m *memory) tool(v *Tool) {
	m.texts(&v.Name, &v.Title, &v.Description)
	for _, raw := range []*[]byte{(*[]byte)(&v.InputSchema), (*[]byte)(&v.OutputSchema), (*[]byte)(&v.Meta)} {
		m.bytes(raw)
	}
	m.members(&v.Extra)
	if v.Annotations != nil {
		v.Annotations = own(m, v.Annotations)
		m.texts(&v.Annotations.Title)
		m.members(&v.Annotations.Extra)
		for _, hint := range []**bool{&v.Annotations.ReadOnlyHint, &v.Annotations.DestructiveHint, &v.Annotations.IdempotentHint, &v.Annotations.OpenWorldHint} {
			if m.buf != nil { // in the first pass it is the original, which others read
				*hint = own(m, *hint)
			}
		}
	}
	if v.Execution != nil {
		v.Execution = own(m, v.Execution)
		m.texts(&v.Execution.TaskSupport)
		m.members(&v.Execution.Extra)
	}
	if m.buf != nil {
		v.Icons = slices.Clone(v.Icons)
	}
	for i := range v.Icons {
		icon := &v.Icons[i]
		m.texts(&icon.Src, &icon.MIMEType, &icon.Theme)
		if m.buf != nil {
			icon.Sizes = slices.Clone(icon.Sizes)
		}
		for k := range icon.Sizes {
			m.texts(&icon.Sizes[k])
		}
		m.members(&icon.Extra)
	}
}

// own returns a copy of what p points to, or p itself in the first pass.
func own[T any](m *memory, p *T) *T {
	if p == nil || m.buf == nil {
		return p
	}
	c := *p
	return &c
}
