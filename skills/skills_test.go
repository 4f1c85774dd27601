package skills_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/skills"
)

func TestListThenLoadThenRead(t *testing.T) {
	t.Parallel()
	h := newHost(t, refunds())
	s := h.listed(t, skills.WithLabel("shop"))
	require.NoError(t, s.Problem())
	require.Equal(t, "refunds", s.Name)
	require.Equal(t, "acme/refunds", s.Path)
	require.Equal(t, "Process refunds", s.Description)
	require.JSONEq(t, `{"name":"refunds","description":"Process refunds","metadata":{"version":"2.1"}}`, string(s.FrontMatter))
	require.Equal(t, 5*time.Minute, s.TTL)
	require.Equal(t, mcp.CachePublic, s.Scope)
	require.Equal(t, skills.ID{Server: "shop", URI: refundsURI}, s.ID())
	require.Len(t, s.Files, 3)
	require.Equal(t, "forms/a b.md", s.Files[1].Path)
	require.Equal(t, int64(len(refundsMD)+len(formMD)+4), s.Size())
	require.Zero(t, h.Count("resources/read"), "nothing is read ahead of need")

	d, err := s.Load(t.Context())
	require.NoError(t, err)
	require.Equal(t, refundsMD, d.Text)
	require.Equal(t, "# Refunds\n\nUse `forms/a b.md`.\n", d.Body)
	require.Equal(t, 1, h.Count("resources/read"), "SKILL.md alone")

	for name, want := range map[string]string{
		"forms/a b.md": formMD, "./forms/../forms/a b.md": formMD, "skill://acme/refunds/forms/a%20b.md": formMD, "logo.png": "\x89PNG",
	} {
		content, err := s.ReadFile(t.Context(), name)
		require.NoError(t, err, name)
		require.Equal(t, want, string(content))
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	h := newHost(t, refunds())
	s, err := skills.Get(t.Context(), h.connect(t), refundsURI)
	require.NoError(t, err)
	require.Zero(t, s.TTL)
	require.Equal(t, mcp.CachePrivate, s.Scope)
	require.NotEmpty(t, s.ID().Server, "the client's name of the server")
	_, err = s.Load(t.Context())
	require.NoError(t, err)

	_, err = skills.Get(t.Context(), h.connect(t), "skill://acme/other/SKILL.md")
	requireFault(t, err, skills.FaultNotFound, "no such skill")
	var rpc *jsonrpc.Error
	require.ErrorAs(t, err, &rpc, "the server's words are there, too")

	sent := h.Count("skills/get")
	_, err = skills.Get(t.Context(), h.connect(t), "skill://acme/refunds")
	requireFault(t, err, skills.FaultURI, "not that of a SKILL.md")
	require.Equal(t, sent, h.Count("skills/get"))

	h.On("skills/get", func(*clienttest.Call) (any, error) { return object{"skill": refunds()}, nil })
	_, err = skills.Get(t.Context(), h.connect(t), "skill://acme/other/SKILL.md")
	requireFault(t, err, skills.FaultEntry, "another skill")

	h.On("skills/get", func(*clienttest.Call) (any, error) {
		return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "broken", nil)
	})
	_, err = skills.Get(t.Context(), h.connect(t), refundsURI)
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e, "errors of the client pass through")
}

// No request is sent to a server without the extension.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{"", "null", "[]"} {
		h := newHost(t, refunds())
		h.settings = settings
		c := h.connect(t)
		require.False(t, skills.Supported(c), settings)
		_, err := skills.List(t.Context(), c)
		requireFault(t, err, skills.FaultUnsupported, "does not declare")
		_, err = skills.Get(t.Context(), c, refundsURI)
		requireFault(t, err, skills.FaultUnsupported, "does not declare")
		require.Zero(t, h.Count("skills/list")+h.Count("skills/get"))
	}
}

func TestEmptyList(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.entries = []any{}
	all, err := skills.List(t.Context(), h.connect(t))
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestPages(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.On("skills/list", func(call *clienttest.Call) (any, error) {
		if cursor := cursorOf(t, call); cursor != "2" {
			require.Empty(t, cursor)
			return object{"skills": []any{refunds()}, "nextCursor": "2", "ttlMs": 1000}, nil
		}
		return object{"skills": []any{refunds(), refunds()}, "ttlMs": -5}, nil
	})
	all, err := skills.List(t.Context(), h.connect(t))
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, time.Second, all[0].TTL)
	require.Zero(t, all[2].TTL)
}

// An endless or invalid list is an error and not a shorter list.
func TestBrokenLists(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer func(n int) any
		opts   []skills.Option
		fault  skills.Fault
		says   string
	}{
		{"the same cursor", func(int) any { return object{"skills": []any{}, "nextCursor": "a"} }, nil, skills.FaultList, "came before"},
		{"a circle", func(n int) any { return object{"skills": []any{}, "nextCursor": string(rune('a' + n%3))} }, nil, skills.FaultList, "came before"},
		{"no end", func(n int) any { return object{"skills": []any{}, "nextCursor": string(rune('a' + n))} }, nil, skills.FaultList, "1000 pages"},
		{"no list", func(int) any { return object{"skills": object{}} }, nil, skills.FaultList, "no list named skills"},
		{"too many", func(n int) any {
			return object{"skills": []any{refunds(), refunds()}, "nextCursor": string(rune('a' + n))}
		}, []skills.Option{skills.WithLimits(skills.Limits{Skills: 5})}, skills.FaultLimit, "more than 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, n := newHost(t), 0
			h.On("skills/list", func(*clienttest.Call) (any, error) { n++; return tt.answer(n), nil })
			all, err := skills.List(t.Context(), h.connect(t), tt.opts...)
			requireFault(t, err, tt.fault, tt.says)
			require.Empty(t, all)
		})
	}
}

// A bad entry does not hide the others, and nothing of it can be read.
func TestBadEntries(t *testing.T) {
	t.Parallel()
	long := ""
	for range 65 {
		long += "a"
	}
	with := func(change func(entry object)) object {
		entry := refunds()
		change(entry)
		return entry
	}
	resources := func(items ...any) object {
		return with(func(e object) { e["resources"] = append([]any{}, items...) })
	}
	manifest := file(refundsURI, refundsMD)
	front := func(fields object) object { return with(func(e object) { e["frontmatter"] = fields }) }
	named := func(uri, name string) object {
		return object{"uri": uri, "frontmatter": object{"name": name, "description": "d"}, "resources": []any{file(uri, "x")}}
	}
	one := func(uri string) object { return resources(manifest, file(uri, "x")) }
	sized := func(size any) object {
		return resources(manifest, object{"uri": "skill://acme/refunds/a", "digest": digest("x"), "size": size})
	}
	digested := func(d any) object {
		return resources(manifest, object{"uri": "skill://acme/refunds/a", "digest": d, "size": 1})
	}
	for _, tt := range []struct {
		name  string
		entry any
		fault skills.Fault
		says  string
	}{
		{"no object", "skill", skills.FaultEntry, "no uri"},
		{"null", nil, skills.FaultEntry, "no uri"},
		{"no uri", with(func(e object) { delete(e, "uri") }), skills.FaultEntry, "no uri"},
		{"a number as uri", with(func(e object) { e["uri"] = 7 }), skills.FaultEntry, "no uri"},
		{"no scheme", named("acme/refunds/SKILL.md", "refunds"), skills.FaultURI, "SKILL.md"},
		{"no folder", named("skill://SKILL.md", "skill"), skills.FaultURI, "SKILL.md"},
		{"an empty folder", named("skill:///SKILL.md", "skill"), skills.FaultURI, "SKILL.md"},
		{"another file", named("skill://acme/refunds/skill.md", "refunds"), skills.FaultURI, "SKILL.md"},
		{"a uri with dots", named("skill://acme/../refunds/SKILL.md", "refunds"), skills.FaultURI, "SKILL.md"},
		{"a uri with encoded dots", named("skill://acme/%2e%2E/refunds/SKILL.md", "refunds"), skills.FaultURI, "SKILL.md"},
		{"a query", named("skill://acme/refunds?/SKILL.md", "refunds"), skills.FaultURI, "SKILL.md"},
		{"a NUL in the uri", named("skill://a\x00/refunds/SKILL.md", "refunds"), skills.FaultURI, "SKILL.md"},
		{"no front matter", with(func(e object) { delete(e, "frontmatter") }), skills.FaultEntry, "no frontmatter"},
		{"front matter as text", with(func(e object) { e["frontmatter"] = "name: refunds" }), skills.FaultEntry, "no frontmatter"},
		{"no name", front(object{"description": "d"}), skills.FaultName, "no name"},
		{"no description", front(object{"name": "refunds"}), skills.FaultEntry, "no description"},
		{"another name", front(object{"name": "payouts", "description": "d"}), skills.FaultName, "last folder"},
		{"an upper-case name", named("skill://Refunds/SKILL.md", "Refunds"), skills.FaultName, "lowercase"},
		{"a name with two hyphens", named("skill://a--b/SKILL.md", "a--b"), skills.FaultName, "lowercase"},
		{"a name that begins with a hyphen", named("skill://-a/SKILL.md", "-a"), skills.FaultName, "lowercase"},
		{"a name with a NUL", front(object{"name": "refunds\x00", "description": "d"}), skills.FaultName, "lowercase"},
		{"a long name", named("skill://"+long+"/SKILL.md", long), skills.FaultName, "lowercase"},
		{"no resources", with(func(e object) { delete(e, "resources") }), skills.FaultEntry, "resources"},
		{"resources of null", with(func(e object) { e["resources"] = nil }), skills.FaultEntry, "resources"},
		{"resources of another word", with(func(e object) { e["resources"] = "static" }), skills.FaultEntry, "resources"},
		{"dynamic", with(func(e object) { e["resources"] = "dynamic" }), skills.FaultDynamic, "cannot be checked"},
		{"no files", resources(), skills.FaultEntry, "does not list SKILL.md"},
		{"no SKILL.md", resources(file("skill://acme/refunds/a", "x")), skills.FaultEntry, "does not list SKILL.md"},
		{"SKILL.md twice", resources(manifest, manifest), skills.FaultEntry, "twice"},
		{"one file by two uris", resources(manifest, file("skill://acme/refunds/a", "x"), file("skill://acme/refunds/%61", "y")), skills.FaultEntry, "twice"},
		{"a file as text", resources(manifest, "skill://acme/refunds/a"), skills.FaultURI, "in the folder"},
		{"a file elsewhere", one("skill://acme/payouts/a"), skills.FaultURI, "in the folder"},
		{"a file in a folder with the same beginning", one("skill://acme/refunds-more/a"), skills.FaultURI, "in the folder"},
		{"a file of another scheme", one("file:///etc/passwd"), skills.FaultURI, "in the folder"},
		{"the folder", one("skill://acme/refunds"), skills.FaultURI, "in the folder"},
		{"the folder with a slash", one("skill://acme/refunds/"), skills.FaultURI, "in the folder"},
		{"a way out", one("skill://acme/refunds/../payouts/a"), skills.FaultURI, "in the folder"},
		{"an encoded way out", one("skill://acme/refunds/%2e%2e/payouts/a"), skills.FaultURI, "in the folder"},
		{"an encoded slash", one("skill://acme/refunds/..%2fpayouts"), skills.FaultURI, "in the folder"},
		{"a backslash", one(`skill://acme/refunds/..\payouts`), skills.FaultURI, "in the folder"},
		{"a NUL", one("skill://acme/refunds/a\x00.md"), skills.FaultURI, "in the folder"},
		{"an encoded NUL", one("skill://acme/refunds/a%00.md"), skills.FaultURI, "in the folder"},
		{"a fragment", one("skill://acme/refunds/a#b"), skills.FaultURI, "in the folder"},
		{"no digest", digested(nil), skills.FaultDigest, "64 lowercase"},
		{"an upper-case digest", digested("sha256:" + "ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789"), skills.FaultDigest, "64 lowercase"},
		{"another algorithm", digested("md5:" + digest("x")[7:]), skills.FaultDigest, "64 lowercase"},
		{"a short digest", digested("sha256:00"), skills.FaultDigest, "64 lowercase"},
		{"no size", sized(nil), skills.FaultSize, "number of bytes"},
		{"a size as text", sized("1"), skills.FaultSize, "number of bytes"},
		{"a negative size", sized(-1), skills.FaultSize, "number of bytes"},
		{"half a byte", sized(0.5), skills.FaultSize, "number of bytes"},
		{"more than anybody has", sized(1e300), skills.FaultSize, "number of bytes"},
		{"a size beyond 2^53", sized(uint64(1) << 60), skills.FaultSize, "number of bytes"},
		{"more than 16 MiB", sized(16 << 20), skills.FaultLimit, "16 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, tt.entry, refunds())
			all, err := skills.List(t.Context(), h.connect(t))
			require.NoError(t, err)
			require.Len(t, all, 2)
			require.NoError(t, all[1].Problem())
			requireFault(t, all[0].Problem(), tt.fault, tt.says)
			_, err = all[0].Load(t.Context())
			require.Equal(t, all[0].Problem(), err)
			_, err = all[0].ReadDir(t.Context(), "")
			require.Equal(t, all[0].Problem(), err)
			_, ok := all[0].Fingerprint()
			require.False(t, ok)
			require.Zero(t, h.Count("resources/read"))
		})
	}
}

// Every host accepts 512 files and 16 MiB; one more needs a higher limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	entry := func(files int, rest int) object {
		e := refunds()
		list := []any{file(refundsURI, refundsMD)}
		for i := range files - 1 {
			list = append(list, object{"uri": "skill://acme/refunds/f" + string(rune(0x4e00+i)), "digest": digest("x"), "size": rest})
			rest = 0
		}
		e["resources"] = list
		return e
	}
	full := 16<<20 - len(refundsMD)
	require.NoError(t, newHost(t, entry(512, full)).listed(t).Problem())
	requireFault(t, newHost(t, entry(513, 0)).listed(t).Problem(), skills.FaultLimit, "513 files, more than 512")
	requireFault(t, newHost(t, entry(2, full+1)).listed(t).Problem(), skills.FaultLimit, "more than 16 MiB")
	off := skills.WithLimits(skills.Limits{Files: -1, Bytes: -1})
	require.NoError(t, newHost(t, entry(600, 1<<40)).listed(t, off).Problem())
	requireFault(t, newHost(t, entry(5, 0)).listed(t, skills.WithLimits(skills.Limits{Files: 4})).Problem(), skills.FaultLimit, "5 files")
}
