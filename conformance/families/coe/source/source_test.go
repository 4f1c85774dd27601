package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// folder makes files, by their path.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o700))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o600))
	}
	return dir
}

func names(files *Files) []string {
	var out []string
	for _, f := range files.Read {
		out = append(out, f.Name)
	}
	return out
}

func TestRead_Folder(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"b.md": "b", "a/deep/c.MD": "\xef\xbb\xbfc", "d.txt": "d", ".hidden.md": "x", ".git/e.md": "x", "node_modules/f.md": "x", "g.png": "\x00",
	})
	got, err := Read(dir, ".md")
	require.NoError(t, err)
	require.Equal(t, []string{"a/deep/c.MD", "b.md"}, names(got))
	require.Equal(t, "c", string(got.Read[0].Data), "without its byte order mark")
	require.Equal(t, filepath.Join(dir, "b.md"), got.Read[1].Path)
	got, err = Read(filepath.Join(dir, "d.txt"), ".txt")
	require.NoError(t, err)
	require.Equal(t, []string{"d.txt"}, names(got))
	_, err = Read(dir, ".json")
	require.ErrorContains(t, err, "no file with the extension .json in this folder; put one there")
}

// What a link leads to is not the user's corpus.
func TestRead_Links(t *testing.T) {
	t.Parallel()
	outside := folder(t, map[string]string{"secret.md": "secret", "more/secret.md": "secret"})
	dir := folder(t, map[string]string{"a.md": "a"})
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "file.md")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "more"), filepath.Join(dir, "folder")))
	require.NoError(t, os.Symlink("a.md", filepath.Join(dir, "inside.md")))
	got, err := Read(dir, ".md")
	require.NoError(t, err)
	require.Equal(t, []string{"a.md"}, names(got))
	require.Equal(t, []string{"file.md", "folder", "inside.md"}, got.Skipped)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(outside, link))
	got, err = Read(link, ".md")
	require.NoError(t, err, "the user named the link")
	require.Equal(t, []string{"more/secret.md", "secret.md"}, names(got))
}

func TestRead_Limits(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", MaxFile)
	_, err := Read(folder(t, map[string]string{"a.md": big}), ".md")
	require.NoError(t, err)
	_, err = Read(folder(t, map[string]string{"a.md": big + "x"}), ".md")
	require.ErrorContains(t, err, "a.md: larger than 4 MiB; split it into several files")
	files := map[string]string{}
	for i := range MaxTotal/MaxFile + 1 {
		files[fmt.Sprintf("%02d.md", i)] = big
	}
	_, err = Read(folder(t, files), ".md")
	require.ErrorContains(t, err, "larger than 64 MiB together")
	files = map[string]string{}
	for i := range MaxFiles + 1 {
		files[fmt.Sprintf("%04d.md", i)] = ""
	}
	_, err = Read(folder(t, files), ".md")
	require.ErrorContains(t, err, "more than 5000 files")
}

func TestRead_NotText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a\n\xff": "a.md:2: not UTF-8 text; save the file as UTF-8", "a\n\nb\x00": "a.md:3: a NUL character"} {
		_, err := Read(filepath.Join(folder(t, map[string]string{"a.md": text}), "a.md"), ".md")
		require.ErrorContains(t, err, want)
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	f := &File{Data: []byte("---\ntitle: x\n---\n# One *two*\n\nA [link](http://x.y) and `code`<br>\nsecond line.\n\nSetext\n------\n" +
		"```sh\n# no heading\n```\n\n- a\n- [x] b\n  - c\n\n| k | v |\n|---|---|\n| 1 | 2 |\n\n<!-- gone --><b>bold</b>\n")}
	require.Equal(t, []Block{
		{Line: 4, Last: 4, Level: 1, Text: "One two"},
		{Line: 6, Last: 7, Text: "A link and code\nsecond line."},
		{Line: 9, Last: 9, Level: 2, Text: "Setext"},
		{Line: 11, Last: 13, Text: "# no heading"},
		{Line: 15, Last: 17, Text: "a\nb\nc", Items: []Item{{Line: 15, Text: "a"}, {Line: 16, Task: true, Done: true, Text: "b", Items: []Item{{Line: 17, Text: "c"}}}}},
		{Line: 19, Last: 21, Text: "k | v\n1 | 2"},
		{Line: 23, Last: 23, Text: "bold"},
	}, f.Markdown())
	require.Empty(t, (&File{}).Markdown())
	require.Len(t, (&File{Data: []byte("---\nno end")}).Markdown(), 1, "a thematic break is no front matter")
}

func TestLine(t *testing.T) {
	t.Parallel()
	f := &File{Data: []byte("a\nb\n")}
	lines := newLineTable(f.Data)
	for offset, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 2, 4: 3} {
		require.Equal(t, want, f.Line(offset), offset)
		require.Equal(t, want, lines.of(offset), offset)
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n- [ ] b\n\n| c |\n|---|\n| d |\n")
	f.Add("---\na\n---\n> - 1. x\n<!-- ")
	f.Fuzz(func(t *testing.T, text string) {
		last := strings.Count(text, "\n") + 1
		for _, b := range (&File{Data: []byte(text)}).Markdown() {
			require.LessOrEqual(t, b.Line, b.Last)
			require.Positive(t, b.Line)
			require.LessOrEqual(t, b.Last, last)
		}
	})
}
