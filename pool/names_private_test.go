package pool

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func refs(pairs ...string) []ToolRef {
	var out []ToolRef
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, ToolRef{pairs[i], pairs[i+1]})
	}
	return out
}

func TestToolNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70)
	tests := []struct {
		name   string
		naming Naming
		tools  []ToolRef
		want   []string
	}{
		{"bare when unique", Naming{}, refs("a", "read", "b", "write"), []string{"read", "write"}},
		{"prefix on clash", Naming{}, refs("a", "read", "b", "read", "b", "write"), []string{"a__read", "b__read", "write"}},
		{"always prefix", Naming{Policy: PrefixAlways}, refs("a", "read", "b", "write"), []string{"a__read", "b__write"}},
		{"another separator", Naming{Policy: PrefixAlways, Separator: "-"}, refs("a", "read"), []string{"a-read"}},
		{"alias", Naming{Alias: map[ToolRef]string{{"a", "read"}: "look"}}, refs("a", "read", "b", "read"), []string{"look", "read"}},
		{"an alias that another tool is called", Naming{Alias: map[ToolRef]string{{"a", "read"}: "write"}}, refs("a", "read", "b", "write"), []string{"write", "b__write"}},
		{"odd characters", Naming{}, refs("my server!", "fs/read", "b", "fs/read"), []string{"my_server___fs_read", "b__fs_read"}},
		{"a name like another's with its prefix", Naming{}, refs("a", "read", "b", "read", "c", "a__read"), []string{"a__read_0b8e2f7b", "b__read", "c__a__read"}},
		{"the same after cleaning", Naming{}, refs("a", "x/y", "a", "x.y"), []string{"a__x_y_1", "a__x_y_2"}},
		{"too long", Naming{}, refs("a", long), []string{long[:55] + "_1"}},
		{"empty", Naming{}, refs("a", ""), []string{"_1"}},
		{"letters of others", Naming{}, refs("a", "lesen_für", "a", "读"), []string{"lesen_f_r", "_"}},
	}
	digest := regexp.MustCompile(`_[0-9a-f]{8}$`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := newToolNames(tt.naming).assign(tt.tools)
			require.Len(t, got, len(tt.want))
			for i, want := range tt.want {
				if head, ok := cutDigest(want); ok { // which digest does not matter here
					require.Regexp(t, digest, got[i])
					want, got[i] = head, digest.ReplaceAllString(got[i], "")
				}
				require.Equal(t, want, got[i])
			}
		})
	}
}

// cutDigest reads the marks of the table above: _1, _2 or eight digits.
func cutDigest(want string) (head string, ok bool) {
	at := regexp.MustCompile(`_([12]|[0-9a-f]{8})$`).FindStringIndex(want)
	if at == nil {
		return want, false
	}
	return want[:at[0]], true
}

func TestToolNamingIsChecked(t *testing.T) {
	t.Parallel()
	for _, n := range []Naming{
		{Policy: PrefixAlways + 1},
		{Separator: "."},
		{Separator: "_________"},
		{Alias: map[ToolRef]string{{"a", "b"}: ""}},
		{Alias: map[ToolRef]string{{"a", "b"}: "c d"}},
		{Alias: map[ToolRef]string{{"a", "b"}: strings.Repeat("x", 65)}},
		{Alias: map[ToolRef]string{{"a", "b"}: "x", {"a", "c"}: "x"}},
	} {
		require.Error(t, n.check(), "%+v", n)
	}
	require.NoError(t, Naming{Separator: "-", Alias: map[ToolRef]string{{"a", "b"}: "x", {"a", "c"}: "y"}}.check())
}

// A name that was given never leads to another server.
func TestNamesGivenStay(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("race: much of the same, and nothing at once")
	}
	n := newToolNames(Naming{})
	require.Equal(t, []string{"read"}, n.assign(refs("a", "read")))
	require.Equal(t, []string{"a__read", "b__read"}, n.assign(refs("a", "read", "b", "read")))
	require.Equal(t, ToolRef{"a", "read"}, n.given["read"])
	require.Equal(t, []string{"b__read"}, n.assign(refs("b", "read")), "a has it no longer, but a model may still mean it")
	require.Equal(t, ToolRef{"a", "read"}, n.given["read"])
	for i := range 3 * maxNamesGiven / 1000 {
		var many []ToolRef
		for k := range 1000 {
			many = append(many, ToolRef{"a", fmt.Sprint(i, "-", k)})
		}
		n.assign(many)
	}
	require.LessOrEqual(t, len(n.given), maxNamesGiven)
}

// For any tools, names are unique, short and plain, and do not depend on the order.
func TestNamesOfAnyTools(t *testing.T) {
	t.Parallel()
	plain := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	parts := []string{"a", "b", "_", "__", "é", "x/y", strings.Repeat("l", 30), "", "A"}
	rounds := uint64(2000)
	if testmain.Race {
		rounds /= 10
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		word := func() (s string) {
			for range r.IntN(4) {
				s += parts[r.IntN(len(parts))]
			}
			return s
		}
		naming := Naming{Policy: NamePolicy(r.IntN(2))}
		seen := map[ToolRef]bool{}
		var tools []ToolRef
		for range 1 + r.IntN(30) {
			if ref := (ToolRef{word(), word()}); !seen[ref] {
				seen[ref] = true
				tools = append(tools, ref)
			}
		}
		names := newToolNames(naming).assign(tools)
		if r.IntN(2) == 0 && len(tools) > 1 { // a tool whose own name is the given name of another
			tools = append(tools, ToolRef{"evil", names[0]})
			names = newToolNames(naming).assign(tools)
		}
		whose := map[string]ToolRef{}
		for i, name := range names {
			require.Regexp(t, plain, name)
			require.NotContains(t, whose, name, "seed %d", seed)
			whose[name] = tools[i]
		}
		order := r.Perm(len(tools))
		mixed := make([]ToolRef, len(tools))
		for i, at := range order {
			mixed[i] = tools[at]
		}
		for i, name := range newToolNames(naming).assign(mixed) {
			require.Equal(t, whose[name], mixed[i], "seed %d", seed)
		}
	}
}
