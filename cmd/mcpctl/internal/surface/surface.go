// Package surface has what a server offers to everybody: its name, capabilities, tools, resources,
// templates and prompts, as one document that is the same for the same server.
package surface

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Kind is the member kind of a snapshot, and Version its member version.
const (
	Kind    = "mcpctl.surface"
	Version = 1
)

// mostPages bounds a list. A server that sends a new cursor with every page would else never end.
const mostPages = 1000

// Surface is what a server offers. The zero Surface offers nothing.
type Surface struct {
	root *doc.Value
	// text is the file that it was read from, nil for a server.
	text []byte
}

// Problem is why a list is missing or not complete.
type Problem struct {
	List listing.List
	Err  error
}

// Of reads the surface of a server. It keeps the items that it has read of a list with a problem.
// A list that the server does not offer is missing, and no problem.
func Of(ctx context.Context, d *connect.Dialer, c *connect.Connection) (*Surface, []Problem) {
	root := doc.NewObject()
	root.Set("kind", doc.Text(Kind))
	root.Set("version", parsed(fmt.Sprint(Version)))
	server := doc.NewObject()
	for _, m := range [][2]string{{"name", c.ServerInfo().Name}, {"version", c.ServerInfo().Version}, {"title", c.ServerInfo().Title}} {
		if m[1] != "" {
			server.Set(m[0], doc.Text(d.Secrets.Hide(m[1])))
		}
	}
	root.Set("server", server)
	root.Set("revision", doc.Text(string(c.ProtocolVersion())))
	if handshake, err := doc.Parse(c.InitializeResult()); err == nil && handshake.Get("capabilities") != nil {
		root.Set("capabilities", canonical(handshake.Get("capabilities"), d.Secrets.Hide))
	}
	if text := c.Instructions(); text != "" {
		root.Set("instructions", doc.Text(d.Secrets.Hide(text)))
	}
	var problems []Problem
	for _, l := range listing.Lists {
		if !c.May(l.Capability) {
			continue
		}
		items, err := itemsOf(ctx, d, c, l)
		if err != nil && !isMissing(err, l) {
			problems = append(problems, Problem{l, err})
		}
		if err == nil || len(items) > 0 {
			root.Set(l.Member, sorted(l, items, d.Secrets.Hide))
		}
	}
	return &Surface{root: root}, problems
}

// isMissing reports whether a server has no such list. Servers with resources need no templates.
func isMissing(err error, l listing.List) bool {
	var e *mcperrors.Error
	return l.Method == mcp.MethodResourceTemplatesList && errors.As(err, &e) && e.RPC != nil && e.RPC.Code == -32601
}

// itemsOf returns the items of all pages, and those before the first error.
func itemsOf(ctx context.Context, d *connect.Dialer, c *connect.Connection, l listing.List) (items []*doc.Value, err error) {
	pages := 0
	_, err = listing.Walk(ctx, d, c, l, func(raw json.RawMessage) error {
		page, err := doc.Parse(raw)
		if err != nil {
			return err
		}
		items = append(items, page.Get(l.Member).Items()...)
		if pages++; pages == mostPages {
			return c.Broken("the pages of %s never end: there are more than %d", l.Method, mostPages-1)
		}
		return nil
	})
	return items, err
}

// sorted returns the items in the order of their ids.
func sorted(l listing.List, items []*doc.Value, hide func(string) string) *doc.Value {
	out := make([]*doc.Value, len(items))
	for i, item := range items {
		item = canonical(item, hide)
		if item.Kind() == doc.Object {
			item.Delete("_meta")
			if l.Capability == "resources" {
				item.Delete("size")
				if about := item.Get("annotations"); about != nil {
					about.Delete("lastModified")
				}
			}
		}
		out[i] = item
	}
	sort.SliceStable(out, func(i, j int) bool {
		if a, b := out[i].Get(l.ID).Str(), out[j].Get(l.ID).Str(); a != b {
			return a < b
		}
		return out[i].String() < out[j].String()
	})
	return doc.NewArray(out...)
}

// canonical returns a value with the members of its objects in the order of their names, and
// without secrets. Numbers and texts stay as they are written.
func canonical(v *doc.Value, hide func(string) string) *doc.Value {
	switch v.Kind() {
	case doc.Object:
		members := slices.Clone(v.Members())
		sort.Slice(members, func(i, j int) bool { return members[i].Name < members[j].Name })
		out := doc.NewObject()
		for _, m := range members {
			out.Set(m.Name, canonical(m.Value, hide))
		}
		return out
	case doc.Array:
		items := make([]*doc.Value, len(v.Items()))
		for i, item := range v.Items() {
			items[i] = canonical(item, hide)
		}
		return doc.NewArray(items...)
	case doc.String:
		if text := v.Str(); hide(text) != text {
			return doc.Text(hide(text))
		}
	case doc.Null, doc.Bool, doc.Number:
	}
	return v
}

func parsed(text string) *doc.Value {
	v, _ := doc.Parse([]byte(text)) // a text of our own
	return v
}

// ErrOther is the error of [Parse] for a text that is no snapshot.
var ErrOther = errors.New("it is not a snapshot of mcpctl")

// Parse reads a snapshot.
func Parse(text []byte) (*Surface, error) {
	root, err := doc.Parse(text)
	if err != nil && bytes.Contains(text[:min(len(text), 200)], []byte(Kind)) {
		return nil, err
	}
	if err != nil || root.Get("kind").Str() != Kind {
		return nil, ErrOther
	}
	if version := root.Get("version"); version.Float() != Version {
		return nil, fmt.Errorf("it is a snapshot of version %s, and this mcpctl reads version %d", version, Version)
	}
	return &Surface{root, text}, nil
}

// JSON returns the snapshot: indented, so that a change is few lines in a repository.
func (s *Surface) JSON() []byte { return console.Indent(s.root.AppendJSON(nil)) }

// Get returns a member of the snapshot, nil for none.
func (s *Surface) Get(name string) *doc.Value { return s.root.Get(name) }

// Has reports whether the server offers a list, which may be empty.
func (s *Surface) Has(l listing.List) bool { return s.root.Get(l.Member) != nil }

// Items returns the items of a list.
func (s *Surface) Items(l listing.List) []*doc.Value { return s.root.Get(l.Member).Items() }

// Server is the name and version of the server.
func (s *Surface) Server() string {
	server := s.root.Get("server")
	return strings.TrimSpace(server.Get("name").Str() + " " + server.Get("version").Str())
}

// Counts are the sizes of the lists in words: 3 tools, 1 prompt.
func (s *Surface) Counts() string {
	var out []string
	for _, l := range listing.Lists {
		if n := len(s.Items(l)); n == 1 {
			out = append(out, "1 "+strings.TrimSuffix(l.Name, "s"))
		} else if n > 1 {
			out = append(out, fmt.Sprintf("%d %s", n, l.Name))
		}
	}
	return cmp.Or(strings.Join(out, ", "), "nothing")
}

// Line returns the line of an item in the file of the snapshot, from 1; 1 if it is not there.
func (s *Surface) Line(l listing.List, id string) int {
	in, number := false, 0
	want := fmt.Sprintf("      %q: %s", l.ID, doc.Text(id))
	for line := range bytes.Lines(s.text) {
		number++
		switch text := strings.TrimRight(string(line), ",\r\n"); {
		case strings.HasPrefix(text, "  \"") && text == fmt.Sprintf("  %q: [", l.Member):
			in = true
		case strings.HasPrefix(text, "  \""):
			in = false
		case in && text == want:
			return number
		}
	}
	return 1
}
