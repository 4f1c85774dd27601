package mcp

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// blocks says which types of content may stand somewhere. Others are raw
// there, which also bounds how deep typed blocks nest.
type blocks uint8

const (
	contentBlocks  blocks = iota // schema ContentBlock
	samplingBlocks               // schema SamplingMessageContentBlock
	allBlocks
)

// newBlock returns an empty block of the type, nil when it is not known here.
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
		c.next() // it chose the Go type
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

// loneText is room for what most results hold: a list of one text block.
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

// oneOrMore is a block or a list of blocks. A list of one is written as a
// single block, which every revision takes, unless it was received as a list.
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

// readBlock reads the block that comes next, into text when it is one and
// there is room.
func (c *codec) readBlock(allowed blocks, text *TextContent) Content {
	if c.in.PeekKind() != '{' {
		c.wrong("an object")
		return nil
	}
	// The offset is where the last token ended, before a comma or colon.
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

// MarshalJSON implements [encoding/json.Marshaler].
func (v RawContent) MarshalJSON() ([]byte, error) { return encode(&v) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It takes an object of
// any type.
func (v *RawContent) UnmarshalJSON(data []byte) error { return decodeCopy(data, v) }

// memberAhead returns the text of the named member of the object at the start of
// data, "" for a value that is no string; ok is false when it is not there. It
// only walks the structure: whoever asks reads the object strictly afterwards,
// or has read it before.
func memberAhead(data []byte, name string) (text string, ok bool) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return "", false
	}
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
			if depth == 0 {
				return "", false
			}
		case '"':
			end := skipString(data, i)
			if end < 0 {
				return "", false
			}
			key := data[i:end]
			i = end
			if depth != 1 || !isNamed(key, name) {
				continue
			}
			// A value can equal the name too: only a name has a colon.
			at := skipSpace(data, end)
			if at >= len(data) || data[at] != ':' {
				continue
			}
			return textAt(data, skipSpace(data, at+1)), true
		default:
			i++
		}
	}
	return "", false
}

// shortText returns the text of a raw JSON string, without allocating for the
// ones in every message.
func shortText(raw []byte) string {
	switch string(raw) {
	case `"text"`:
		return ContentText
	case `"complete"`:
		return string(ResultComplete)
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // invalid text becomes U+FFFD
	return string(text)
}

func isNamed(raw []byte, name string) bool {
	if len(raw) == len(name)+2 {
		return string(raw[1:len(raw)-1]) == name
	}
	if len(raw) < len(name)+2 || len(raw) > 6*len(name)+2 {
		return false
	}
	text, err := jsontext.AppendUnquote(nil, raw) // an escaped spelling
	return err == nil && string(text) == name
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i, -1 when it
// does not end.
func skipString(data []byte, i int) int {
	for i++; ; i++ {
		at := bytes.IndexByte(data[i:], '"')
		if at < 0 {
			return -1
		}
		i += at
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}
