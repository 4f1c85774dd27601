package mcp

import "encoding/json"

// ListRootsResult lists the directories that a server may use (schema
// ListRootsResult).
type ListRootsResult struct {
	Roots []Root
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *ListRootsResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	list(c, "roots", required, &v.Roots)
	c.raw("_meta", &v.Meta)
}

// Root is a place a server may look at (schema Root).
type Root struct {
	// URI is a file: URI.
	URI   string
	Name  string
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *Root) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "uri", required, &v.URI)
	str(c, "name", optional, &v.Name)
	c.raw("_meta", &v.Meta)
}
