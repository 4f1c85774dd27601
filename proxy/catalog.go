package proxy

import (
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// catalog is what a server of a group has listed, as far as requests are to find it by that.
type catalog struct {
	mu        sync.Mutex
	names     map[[2]string]string // of what has another public name, by kind and that name
	uris      map[string]bool      // of resources
	templates map[string]bool      // of resources
	reported  map[string]bool      // uris that another server has too
}

// maxListed bounds each part of a catalog. Requests for more are put to all servers.
const maxListed = 10_000

// name notes a public name.
func (c *catalog) name(kind, public, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	remember(&c.names, [2]string{kind, public}, name)
}

// named returns the name for a public one.
func (c *catalog) named(kind, public string) (name string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, ok = c.names[[2]string{kind, public}]
	return name, ok
}

// begin forgets what a method has listed, because it is listed again.
func (c *catalog) begin(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list := c.of(method); list != nil {
		*list = nil
	}
}

// of returns what a method lists, nil for what has no owner. Requires c.mu.
func (c *catalog) of(method string) *map[string]bool {
	switch method {
	case mcp.MethodResourcesList:
		return &c.uris
	case mcp.MethodResourceTemplatesList:
		return &c.templates
	}
	return nil
}

// list notes a resource or a template that a method has listed.
func (c *catalog) list(method, uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	remember(c.of(method), uri, true)
}

// lists reports whether a method has listed a resource or a template.
func (c *catalog) lists(method, uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (*c.of(method))[uri]
}

// report returns true the first time that it is called for a resource.
func (c *catalog) report(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reported[uri] || len(c.reported) == maxListed {
		return false
	}
	remember(&c.reported, uri, true)
	return true
}

// remember adds to a map that is not full.
func remember[K comparable, V any](to *map[K]V, key K, value V) {
	if *to == nil {
		*to = map[K]V{}
	}
	if len(*to) < maxListed {
		(*to)[key] = value
	}
}

// matches reports whether a template of the server may be that of a URI, or is the URI itself,
// by what is before the first and after the last expression.
func (c *catalog) matches(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for template := range c.templates {
		before, rest, found := strings.Cut(template, "{")
		after := rest[strings.LastIndexByte(rest, '}')+1:]
		if template == uri || found && len(uri) >= len(before)+len(after) && strings.HasPrefix(uri, before) && strings.HasSuffix(uri, after) {
			return true
		}
	}
	return false
}

// having returns the servers that may have a resource: the first one that lists it, else all,
// first those with a template for it.
func (g *group) having(uri string) []*member {
	var likely, others []*member
	for _, m := range g.members {
		switch {
		case m.catalog.lists(mcp.MethodResourcesList, uri):
			return []*member{m}
		case m.catalog.matches(uri):
			likely = append(likely, m)
		default:
			others = append(others, m)
		}
	}
	return append(likely, others...)
}
