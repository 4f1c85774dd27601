package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Extension is the identifier of the extension.
const Extension = "io.modelcontextprotocol/skills"

// The methods of the extension.
const (
	methodList      = "skills/list"
	methodGet       = "skills/get"
	methodDirectory = "resources/directory/read"
)

// Supported reports whether a server declares the extension.
func Supported(c *client.Client) bool {
	_, ok := settings(c)
	return ok
}

// settings returns what the server declares about the extension.
func settings(c *client.Client) (*doc.Value, bool) {
	raw, ok := c.Capabilities().Extensions[Extension]
	if !ok {
		return nil, false
	}
	v, err := doc.Parse(raw)
	return v, err == nil && v.Kind() == doc.Object
}

// supported is nil, or the error for a server without the extension.
func supported(c *client.Client) error {
	if Supported(c) {
		return nil
	}
	return &Error{Fault: FaultUnsupported, Detail: "the server does not declare the extension " + Extension, Help: "nothing was sent"}
}

// maxPages limits a list whose pages are empty.
const maxPages = 1_000

// List returns the skills that the server lists, over all pages, and reads none of their
// files. A server may list none or only some of its skills: [Get] finds the others. Names
// need not be unique. A skill with a [Skill.Problem] is in the list, so that the user can
// be told why it cannot be loaded.
func List(ctx context.Context, c *client.Client, opts ...Option) ([]*Skill, error) {
	set := newConfig(c, opts)
	if err := supported(c); err != nil {
		return nil, err
	}
	var all []*Skill
	err := pages(ctx, c, set, methodList, doc.NewObject(), "skills", func(result *doc.Value, items []*doc.Value) error {
		if over(len(all)+len(items), set.limits.Skills) {
			return &Error{Fault: FaultLimit, Detail: fmt.Sprintf("the server lists more than %d", set.limits.Skills), Help: "raise the limit to list them"}
		}
		for _, item := range items {
			all = append(all, newSkill(c, set, result, item))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Get returns one skill by the URI of its SKILL.md, whether or not it is in the list, and
// reads none of its files. It is also how a program learns that a skill has changed. The
// skill may have a [Skill.Problem].
func Get(ctx context.Context, c *client.Client, uri string, opts ...Option) (*Skill, error) {
	set := newConfig(c, opts)
	if err := supported(c); err != nil {
		return nil, err
	}
	if _, _, ok := rootOf(uri); !ok {
		return nil, &Error{Fault: FaultURI, Skill: uri, Detail: "the uri is not that of a SKILL.md in a folder", Help: "give the uri of the skill's SKILL.md"}
	}
	result, err := ask(ctx, c, set, methodGet, about(uri))
	if err != nil {
		if isInvalidParams(err) {
			return nil, &Error{Fault: FaultNotFound, Skill: uri, Detail: "the server has no such skill", Help: "list the skills for those it has", Err: err}
		}
		return nil, err
	}
	entry := result.Get("skill")
	if got := entry.Get("uri").Str(); got != uri {
		return nil, &Error{Fault: FaultEntry, Skill: uri, Detail: "the server answered with another skill, " + quoted(got), Help: helpServer}
	}
	return newSkill(c, set, result, entry), nil
}

// newSkill makes a skill from its entry and the result that contains it.
func newSkill(c *client.Client, set *config, result, entry *doc.Value) *Skill {
	s := &Skill{server: c, set: set, Scope: mcp.CachePrivate}
	if result.Get("cacheScope").Str() == string(mcp.CachePublic) {
		s.Scope = mcp.CachePublic
	}
	if ttl := result.Get("ttlMs"); ttl.Kind() == doc.Number && ttl.Float() > 0 {
		s.TTL = time.Duration(min(ttl.Float(), math.MaxInt32)) * time.Millisecond
	}
	s.readEntry(entry)
	return s
}

// pages requests all pages of a list.
func pages(ctx context.Context, c *client.Client, set *config, method string, params *doc.Value, member string, visit func(result *doc.Value, items []*doc.Value) error) error {
	seen := map[string]bool{}
	for range maxPages {
		result, err := ask(ctx, c, set, method, params)
		if err != nil {
			return err
		}
		items := result.Get(member)
		if items.Kind() != doc.Array {
			return broken(method, "has no list named "+member)
		}
		if err := visit(result, items.Items()); err != nil {
			return err
		}
		next := result.Get("nextCursor")
		if next.Kind() != doc.String {
			return nil
		}
		if seen[next.Str()] {
			return broken(method, "names a page that came before")
		}
		seen[next.Str()] = true
		params.Set("cursor", next)
	}
	return broken(method, fmt.Sprintf("is still not the last after %d pages", maxPages))
}

func broken(method, how string) error {
	return &Error{Fault: FaultList, Detail: "an answer to " + method + " " + how, Help: helpServer}
}

// about returns parameters with a URI.
func about(uri string) *doc.Value {
	params := doc.NewObject()
	params.Set("uri", doc.Text(uri))
	return params
}

// ask sends a request and returns its result.
func ask(ctx context.Context, c *client.Client, set *config, method string, params *doc.Value) (*doc.Value, error) {
	raw, err := c.Call(ctx, method, json.RawMessage(params.AppendJSON(nil)), set.call...)
	if err != nil {
		return nil, err
	}
	result, err := doc.Parse(raw)
	if err != nil {
		return nil, broken(method, "is not valid JSON")
	}
	return result, nil
}

// isInvalidParams reports whether the server rejected the parameters, as it has to do for
// a URI that it does not know (SEP-2640, "Error Handling").
func isInvalidParams(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeInvalidParams
}
