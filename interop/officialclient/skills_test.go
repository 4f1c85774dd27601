package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/skills"
)

// A skill that is refused for another reason, or not refused, does not look like one that
// is refused as the scenario wants it.
func TestSkillsAreRefusedForTheRightReason(t *testing.T) {
	t.Parallel()
	const uri, honest = "skill://a/SKILL.md", "---\nname: a\ndescription: d\n---\n"
	for _, tt := range []struct{ name, served, says string }{
		{"honest", honest, "was loaded in spite of its digest"},
		{"too long", honest + "x", "bytes, the entry says"},
		{"tampered with", "---\nname: a\ndescription: e\n---\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := clienttest.NewServer(t)
			srv.SetCapabilities(mcp.ServerCapabilities{
				Resources:  &mcp.ResourcesCapability{},
				Extensions: map[string]json.RawMessage{skills.Extension: json.RawMessage(`{}`)},
			})
			srv.On("skills/list", func(*clienttest.Call) (any, error) {
				return json.RawMessage(fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","skills":[{"uri":%q,`+
					`"frontmatter":{"name":"a","description":"d"},"resources":[{"uri":%q,"digest":"sha256:%x","size":%d}]}]}`,
					uri, uri, sha256.Sum256([]byte(honest)), len(honest))), nil
			})
			srv.Resource(uri, "text/markdown", tt.served)
			c, err := client.Connect(t.Context(), srv.Transport(), client.WithRequiredCapabilities())
			require.NoError(t, err)
			defer func() { require.NoError(t, c.Close()) }()
			require.NoError(t, skillsPresented(t.Context(), c, nil))
			require.Zero(t, srv.Count(mcp.MethodResourcesRead))
			err = skillsRefused(skills.FaultDigest)(t.Context(), c, nil)
			require.Positive(t, srv.Count(mcp.MethodResourcesRead), "the skill was loaded")
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.says)
		})
	}
}

func TestNoSkillsToJudge(t *testing.T) {
	t.Parallel()
	srv := clienttest.NewServer(t)
	c, err := client.Connect(t.Context(), srv.Transport(), client.WithRequiredCapabilities())
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	require.Error(t, skillsPresented(t.Context(), c, nil))
	require.Error(t, skillsRefused(skills.FaultDigest)(t.Context(), c, nil))
}
