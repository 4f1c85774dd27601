package server_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/skills"
)

// Our client finds, checks and reads the skills of a server that it shares no code
// with, in both eras.
func TestSkillsOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		name = filepath.Join(dir, "acme", "refunds", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	}
	const front = "---\nname: refunds\ndescription: |\n  Process refunds: \"quickly\".\nmetadata: {version: 2.10, since: 2026-01-01, on: yes, keys: [1, ~, 0x1f]}\n---\n"
	put("SKILL.md", "\uFEFF"+front+"# Refunds\r\n")
	put("forms/a form.md", "Ünïcode\n")
	put("logo.png", "\x89PNG\x00\xff")
	put("empty", "")
	srv, err := server.New(server.Options{Families: []string{"skills"}, SkillsDir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			ctx := t.Context()
			c, err := client.Dial(ctx, web.URL+server.Path, client.WithProtocolVersion(version))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Close()) })
			all, err := skills.List(ctx, c)
			require.NoError(t, err)
			require.Len(t, all, 1)
			require.NoError(t, all[0].Problem())
			s, err := skills.Get(ctx, c, "skill://acme/refunds/SKILL.md")
			require.NoError(t, err)
			listed, _ := all[0].Fingerprint()
			found, ok := s.Fingerprint()
			require.True(t, ok)
			require.Equal(t, listed, found)
			require.Equal(t, "Process refunds: \"quickly\".\n", s.Description)

			doc, err := s.Load(ctx)
			require.NoError(t, err)
			require.Equal(t, "# Refunds\r\n", doc.Body)
			for name, content := range map[string]string{"forms/a form.md": "Ünïcode\n", "logo.png": "\x89PNG\x00\xff", "empty": ""} {
				got, err := s.ReadFile(ctx, name)
				require.NoError(t, err, name)
				require.Equal(t, content, string(got), name)
			}
			in, err := s.ReadDir(ctx, "")
			require.NoError(t, err)
			require.Len(t, in, 4)
			in, err = s.ReadDir(ctx, "forms")
			require.NoError(t, err)
			require.Len(t, in, 1)
			_, err = s.ReadDir(ctx, "logo.png")
			require.Error(t, err)
			_, err = skills.Get(ctx, c, "skill://acme/other/SKILL.md")
			var fault *skills.Error
			require.ErrorAs(t, err, &fault)
			require.Equal(t, skills.FaultNotFound, fault.Fault)
		})
	}

	// A file that has changed since is not what the user saw.
	c, err := client.Dial(t.Context(), web.URL+server.Path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	s, err := skills.Get(t.Context(), c, "skill://acme/refunds/SKILL.md")
	require.NoError(t, err)
	put("logo.png", "\x89PNG\x00\xfe")
	_, err = s.ReadFile(t.Context(), "logo.png")
	var fault *skills.Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, skills.FaultDigest, fault.Fault)
}
