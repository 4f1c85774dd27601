package completion

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/answer"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// dialer returns a dialer that keeps lists in a folder.
func dialer(t *testing.T, folder string) *connect.Dialer {
	t.Helper()
	global := &flags.Global{}
	global.Register(pflag.NewFlagSet("", pflag.ContinueOnError))
	env := func(name string) (string, bool) {
		value, set := map[string]string{Store: folder, connect.EraStore: "off"}[name]
		return value, set
	}
	c := console.New(console.Streams{In: strings.NewReader(""), Out: t.Output(), Err: t.Output(), Env: env}, &global.Output)
	d := &connect.Dialer{Flags: global, Console: c, Secrets: &secret.Keeper{}, Sent: connect.Nothing}
	Keep(d)
	return d
}

// TestAsk: a server that is a URL is asked for a list that is not kept, without anything of the
// user, and not again.
func TestAsk(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(answering(t, &asked))
	t.Cleanup(server.Close)
	d := dialer(t, filepath.Join(t.TempDir(), "kept"))
	words := func(change func(*line)) []string {
		l := &line{ctx: t.Context(), dial: d, kept: open(d), args: []string{server.URL}, limit: slowest}
		change(l)
		return l.operands("call", (*line).call)
	}
	require.Empty(t, words(func(*line) { d.Flags.Headers = []string{"Authorization: Bearer secret"} }))
	require.Zero(t, asked)
	d.Flags.Headers = nil
	require.Equal(t, []string{"echo\tSays it again"}, words(func(*line) {}))
	require.Equal(t, 1, asked)
	require.Equal(t, []string{"echo\tSays it again"}, words(func(*line) {}))
	require.Equal(t, 1, asked)
	require.Empty(t, words(func(l *line) { l.kept = nil }), "what is switched off is not asked for either")
	require.Equal(t, 1, asked)
}

// TestAskInTime: a server that does not answer keeps nobody waiting.
func TestAskInTime(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(mute(t))
	t.Cleanup(server.Close)
	d := dialer(t, filepath.Join(t.TempDir(), "kept"))
	l := &line{ctx: t.Context(), dial: d, kept: open(d), args: []string{server.URL}, limit: limit}
	require.Empty(t, l.operands("call", (*line).call))
}

// TestKept: a list comes back as it was, damage is no list, and a program that no file has is not
// kept.
func TestKept(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "kept")
	k := open(dialer(t, folder))
	ofFile := target.Target{Argv: []string{"server"}, Entry: &target.Entry{Place: "/mcp.json#a"}}
	tool, err := doc.Parse([]byte(`{"name":"a\tb\n","title":"T","inputSchema":{"x":1.0}}`))
	require.NoError(t, err)
	k.save(t.Context(), ofFile, "tools", []*doc.Value{tool}, nil, false)
	items, found := k.load(t.Context(), ofFile, "tools")
	require.True(t, found)
	require.Equal(t, []item{{"a\tb\n", "T", tool.String()}}, items)
	require.Equal(t, tool.String(), items[0].whole().String())

	_, found = k.load(t.Context(), ofFile, "prompts")
	require.False(t, found)
	k.save(t.Context(), ofFile, "prompts", nil, nil, false)
	items, found = k.load(t.Context(), ofFile, "prompts")
	require.True(t, found, "it is known that there are none")
	require.Empty(t, items)

	other := ofFile
	other.Argv = []string{"server", "--other"}
	_, found = k.load(t.Context(), other, "tools")
	require.False(t, found, "the entry has changed")
	k.save(t.Context(), target.Target{Argv: []string{"server"}}, "tools", []*doc.Value{tool}, nil, false)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, 2)

	for _, file := range files {
		path := filepath.Join(folder, file.Name())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		text[len(text)-2] ^= 1
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
	_, found = k.load(t.Context(), ofFile, "tools")
	require.False(t, found)
}

// TestHidden: a run that a server hides tools from, since it cannot answer what they ask, does not
// make those unknown that a list showed; what it saw is kept as it is now.
func TestHidden(t *testing.T) {
	t.Parallel()
	d := dialer(t, filepath.Join(t.TempDir(), "kept"))
	at := target.Target{URL: "http://127.0.0.1/mcp"}
	tool := func(name, about string) *doc.Value {
		v, err := doc.Parse(fmt.Appendf(nil, `{"name":%q,"description":%q}`, name, about))
		require.NoError(t, err)
		return v
	}
	kept := func() (out []string) {
		items, _ := open(d).load(t.Context(), at, "tools")
		for _, i := range items {
			out = append(out, i.id+": "+i.about)
		}
		return out
	}
	listed := func(items ...*doc.Value) {
		d.Listed(t.Context(), at, "tools", items, []json.RawMessage{[]byte(fmt.Sprint(items))})
	}
	listed(tool("add", "Adds"), tool("ask", "Asks you"))
	d.Replies = &answer.Answers{}
	for range 2 {
		listed(tool("add", "Adds numbers"))
		require.Equal(t, []string{"add: Adds numbers", "ask: Asks you"}, kept())
	}
	d.Replies = nil
	listed(tool("add", "Adds numbers"))
	require.Equal(t, []string{"add: Adds numbers"}, kept())
}

// TestManyTools: a thousand tools are all offered, of more than a shell shows the first.
func TestManyTools(t *testing.T) {
	t.Parallel()
	words := make([]string, 0, 3*maxWords)
	for i := range cap(words) {
		words = append(words, fmt.Sprintf("tool%d\tabout", i))
	}
	require.Len(t, carried(words[:1000], ""), 1000)
	require.Len(t, carried(words, ""), maxWords)
	require.Len(t, carried(words, "tool77"), 11)
}

// TestAttachCostsOthersNothing: only a line that is completed gets functions.
func TestAttachCostsOthersNothing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		args []string
		want bool
	}{{nil, false}, {[]string{"ls"}, false}, {[]string{cobra.ShellCompRequestCmd}, true}, {[]string{cobra.ShellCompNoDescRequestCmd, "ls", ""}, true}} {
		root, ls := &cobra.Command{Use: "mcpctl"}, &cobra.Command{Use: "ls", Run: func(*cobra.Command, []string) {}}
		root.AddCommand(ls)
		Attach(root, dialer(t, "off"), row.args)
		require.Equal(t, row.want, ls.ValidArgsFunction != nil, row.args)
	}
}
