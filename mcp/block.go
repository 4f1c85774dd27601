package mcp

import "bytes"

// blocks is a set of content types that a place allows. Blocks of other types are
// kept raw there, which also limits how deep typed blocks nest.
type blocks uint8

const (
	contentBlocks  blocks = iota // schema ContentBlock
	samplingBlocks               // schema SamplingMessageContentBlock
	allBlocks
)

// newBlock returns an empty block of the type, or nil if the place does not allow it.
func newBlock(kind string, allowed blocks) Content {
	switch kind {
	case ContentText:
		return &TextContent{}
	case ContentImage:
		return &ImageContent{}
	case ContentAudio:
		return &AudioContent{}
	}
	if allowed != contentBlocks {
		switch kind {
		case ContentToolUse:
			return &ToolUseContent{}
		case ContentToolResult:
			return &ToolResultContent{}
		}
	}
	if allowed != samplingBlocks {
		switch kind {
		case ContentResourceLink:
			return &ResourceLink{}
		case ContentResource:
			return &EmbeddedResource{}
		}
	}
	return nil
}

// UnmarshalContent decodes one block of any type. Like [Unmarshal] it takes
// ownership of data.
func UnmarshalContent(data []byte) (Content, error) {
	var block Content
	err := withCodec(data, func(c *codec) { block = c.readBlock(allBlocks, nil) })
	if err != nil {
		return nil, err
	}
	return block, nil
}

// tag is the "type" member of a block of a known type.
func (c *codec) tag(kind string) {
	if !c.enter("type", optional) {
		return
	}
	if c.mode == reading {
		c.next() // readBlock has chosen the Go type by it
		return
	}
	c.key("type")
	c.writeString(kind)
}

// content is a single block.
func (c *codec) content(name string, n need, allowed blocks, p *Content) {
	if !c.enterValue(name, n) {
		return
	}
	if c.mode == reading {
		*p = c.readBlock(allowed, nil)
		return
	}
	if *p != nil {
		c.key(name)
		c.writeBlock(*p)
	}
}

// loneText is the memory of the content of most results: a list of one text block.
type loneText struct {
	list [1]Content
	text TextContent
}

// contents is a list of blocks. Written nil, it is an empty list unless it is
// optional.
func (c *codec) contents(name string, n need, allowed blocks, p *[]Content) {
	if !c.enter(name, n) {
		return
	}
	if c.mode == reading {
		*p = []Content{}
		c.each(func(i int) {
			if i > 0 {
				*p = append(*p, c.readBlock(allowed, nil))
				return
			}
			room := &loneText{}
			*p = append(room.list[:0], c.readBlock(allowed, &room.text))
		})
		return
	}
	if *p != nil || n != optional {
		c.key(name)
		c.writeBlocks(*p)
	}
}

// oneOrMore is a block or a list of blocks. A list of one is written as a single
// block, which every revision accepts, unless it was received as a list.
func (c *codec) oneOrMore(name string, p *[]Content) {
	if !c.enterValue(name, required) {
		return
	}
	if c.mode == reading {
		if c.in.PeekKind() != '[' {
			*p = []Content{c.readBlock(samplingBlocks, nil)}
			return
		}
		*p = []Content{}
		c.each(func(int) { *p = append(*p, c.readBlock(samplingBlocks, nil)) })
		if len(*p) == 1 {
			c.mark()
		}
		return
	}
	c.key(name)
	if len(*p) == 1 && !c.marked() {
		c.writeBlock((*p)[0])
		return
	}
	c.writeBlocks(*p)
}

// readBlock reads the next block. It reads a text block into text if that is not
// nil.
func (c *codec) readBlock(allowed blocks, text *TextContent) Content {
	if c.in.PeekKind() != '{' {
		c.wrong("an object")
		return nil
	}
	// The offset is the end of the last token, before a comma or colon.
	ahead := bytes.TrimLeft(c.data[c.in.InputOffset():], " \t\r\n,:")
	kind, _ := memberAhead(ahead, "type")
	var block Content
	if kind == ContentText && text != nil {
		block = text
	} else {
		block = newBlock(kind, allowed)
	}
	if block == nil {
		block = &RawContent{}
	}
	c.readObject(block)
	return block
}

func (c *codec) writeBlock(b Content) {
	if b == nil || isNil(b) {
		c.fail("content", "a nil block")
		return
	}
	c.writeObject(b)
}

func (c *codec) writeBlocks(list []Content) {
	c.out = append(c.out, '[')
	for i, b := range list {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.writeBlock(b)
	}
	c.out = append(c.out, ']')
}
