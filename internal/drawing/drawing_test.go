package drawing

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	root  = "../.."
	text  = "docs/path-of-a-call.txt"
	image = "docs/path-of-a-call.svg"
)

var update = flag.Bool("update", false, "draw docs/path-of-a-call.svg")

// TestPathOfACall holds the picture in docs/design.md against its text, and the text
// against the code: each step names a file that exists.
func TestPathOfACall(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join(root, text))
	require.NoError(t, err)
	steps, err := Parse(string(source))
	require.NoError(t, err)
	for _, s := range steps {
		require.FileExists(t, filepath.Join(root, s.File), s.Name)
		require.NotEmpty(t, s.Does, s.Name)
	}
	picture := SVG("The path of a call", steps)
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, image), picture, 0o644)) //nolint:gosec // a page of the documentation
	}
	drawn, err := os.ReadFile(filepath.Join(root, image))
	require.NoError(t, err)
	require.Equal(t, string(picture), string(drawn), "run make drawing")
	design, err := os.ReadFile(filepath.Join(root, "docs/design.md"))
	require.NoError(t, err)
	require.Contains(t, string(design), "](path-of-a-call.svg)")
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":        {"# only a comment\n", "no steps"},
		"two parts":      {"a | b", "line 1"},
		"back to nobody": {"a | b | c\n> d | why", "line 2"},
		"back first":     {"> a | why", "line 1"},
		"no reason":      {"a | b | c\n> a", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(c.text)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestSVG: the picture is XML, has each text once and escapes what it is given.
func TestSVG(t *testing.T) {
	t.Parallel()
	steps, err := Parse("first | a.go | <does> this & that\nsecond | b.go | more\n> first | again")
	require.NoError(t, err)
	picture := SVG("title", steps)
	dec := xml.NewDecoder(bytes.NewReader(picture))
	for {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "%s", picture)
	}
	require.Equal(t, 1, strings.Count(string(picture), "&lt;does&gt; this &amp; that"))
	require.Equal(t, 1, strings.Count(string(picture), ">again<"))
	require.Equal(t, picture, SVG("title", steps))
}

func FuzzParse(f *testing.F) {
	f.Add("a | b | c\n> a | why\n# x")
	f.Fuzz(func(t *testing.T, text string) {
		steps, err := Parse(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, SVG("t", steps))
	})
}
