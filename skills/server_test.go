package skills_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/skills"
)

const (
	refundsURI = "skill://acme/refunds/SKILL.md"
	refundsMD  = "---\nname: refunds\ndescription: Process refunds\nmetadata:\n  version: \"2.1\"\n---\n# Refunds\n\nUse `forms/a b.md`.\n"
	formMD     = "The form.\n"
)

type object = map[string]any

// digest is the digest of a content as entries have it.
func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func file(uri, content string) object {
	return object{"uri": uri, "digest": digest(content), "size": len(content)}
}

// refunds is the entry of a skill with nothing wrong.
func refunds() object {
	return object{
		"uri":         refundsURI,
		"frontmatter": object{"name": "refunds", "description": "Process refunds", "metadata": object{"version": "2.1"}},
		"resources":   []any{file(refundsURI, refundsMD), file("skill://acme/refunds/forms/a%20b.md", formMD), file("skill://acme/refunds/logo.png", "\x89PNG")},
	}
}

// host is a scripted server with skills, and a client of it.
type host struct {
	*clienttest.Server
	client *client.Client
	// entries are what skills/list returns, on one page. content is what resources/read
	// returns, by URI.
	entries []any
	content map[string]string
	// settings are those of the extension.
	settings string
}

func newHost(t *testing.T, entries ...any) *host {
	t.Helper()
	h := &host{Server: clienttest.NewServer(t), entries: entries, settings: `{"directoryRead":true}`, content: map[string]string{
		refundsURI: refundsMD, "skill://acme/refunds/forms/a%20b.md": formMD, "skill://acme/refunds/logo.png": "\x89PNG",
	}}
	h.On("skills/list", func(*clienttest.Call) (any, error) {
		return object{"resultType": "complete", "ttlMs": 300_000, "cacheScope": "public", "skills": h.entries}, nil
	})
	h.On("skills/get", func(call *clienttest.Call) (any, error) {
		for _, entry := range h.entries {
			if o, ok := entry.(object); ok && o["uri"] == uriOf(call) {
				return object{"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "skill": o}, nil
			}
		}
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "No skill is served there", nil)
	})
	h.On("resources/read", func(call *clienttest.Call) (any, error) {
		uri := uriOf(call)
		content, ok := h.content[uri]
		if !ok {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Unknown resource", nil)
		}
		part := object{"uri": uri, "text": content}
		if content[0] >= 0x80 {
			part = object{"uri": uri, "blob": base64.StdEncoding.EncodeToString([]byte(content))}
		}
		return object{"contents": []any{part}}, nil
	})
	return h
}

func uriOf(call *clienttest.Call) string {
	var params struct {
		URI string `json:"uri"`
	}
	_ = json.Unmarshal(call.Params, &params)
	return params.URI
}

// connect returns a client of the server, with the settings it has by now.
func (h *host) connect(t *testing.T) *client.Client {
	t.Helper()
	if h.client != nil {
		return h.client
	}
	caps := mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{}}
	if h.settings != "" {
		caps.Extensions = map[string]json.RawMessage{skills.Extension: json.RawMessage(h.settings)}
	}
	h.SetCapabilities(caps)
	c, err := client.Connect(t.Context(), h.Transport(), client.WithRequiredCapabilities())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	h.client = c
	return c
}

// listed returns the only skill of the server's list.
func (h *host) listed(t *testing.T, opts ...skills.Option) *skills.Skill {
	t.Helper()
	all, err := skills.List(t.Context(), h.connect(t), opts...)
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// requireFault requires an error of the package with a fault and some of its text.
func requireFault(t *testing.T, err error, fault skills.Fault, text string) {
	t.Helper()
	var e *skills.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, fault, e.Fault, err.Error())
	require.Contains(t, err.Error(), text)
	require.NotEmpty(t, e.Help)
	require.NotRegexp(t, `[\x00-\x1f\x7f]`, err.Error())
}
