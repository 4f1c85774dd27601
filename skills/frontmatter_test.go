package skills

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrontMatterOfLibraries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ yaml, json string }{
		{"a: text", `{"a":"text"}`},
		{"a: 'quoted' # comment", `{"a":"quoted"}`},
		{"a: |\n  two\n  lines", `{"a":"two\nlines"}`},
		{"a: >-\n  one\n  line", `{"a":"one line"}`},
		{"{a: [1, 2.5, null, true], b: {}}", `{"a":[1,2.5,null,true],"b":{}}`},
		{"a:", `{"a":null}`},
		{"a: ~", `{"a":null}`},
		{"a: \"\"", `{"a":""}`},
		{"a: &x text\nb: *x", `{"a":"text","b":"text"}`},
		{"a: 0x10", `{"a":16}`},
		{"a: 1e3", `{"a":1000}`},
		{"a: 9007199254740993", `{"a":9007199254740993}`},
		// Libraries differ in these.
		{"a: 1.0", `{"a":1}`},
		{"a: 1.0", `{"a":1.0}`},
		{"a: 1.0", `{"a":"1.0"}`},
		{"a: yes", `{"a":true}`},
		{"a: yes", `{"a":"yes"}`},
		{"a: 2026-01-02", `{"a":"2026-01-02"}`},
		{"a: 2026-01-02", `{"a":"2026-01-02T00:00:00.000Z"}`},
		{"a: 2026-01-02T03:04:05Z", `{"a":"2026-01-02T03:04:05+00:00"}`},
		{"1: one", `{"1":"one"}`},
	} {
		require.NoError(t, sameFrontMatter([]byte(tt.yaml), []byte(tt.json)), "%s = %s", tt.yaml, tt.json)
	}
}

func TestFrontMatterThatMeansSomethingElse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ yaml, json string }{
		{"a: text", `{"a":"Text"}`},
		{"a: text", `{"a":"text "}`},
		{"a: text", `{"A":"text"}`},
		{"a: 'yes'", `{"a":true}`},
		{"a: \"1\"", `{"a":1}`},
		{"a: no", `{"a":true}`},
		{"a:", `{"a":false}`},
		{"a: true", `{"a":1}`},
		{"a: 1", `{"a":true}`},
		{"a: 0", `{"a":null}`},
		{"a: null", `{"a":0}`},
		{"a: .nan", `{"a":0}`},
		{"a: 1", `{"a":2}`},
		{"a: 9007199254740993", `{"a":9007199254740992}`},
		{"a: 2026-01-02", `{"a":"2026-01-03T00:00:00Z"}`},
		{"a: [1, 2]", `{"a":[2,1]}`},
		{"a: [1]", `{"a":[1,2]}`},
		{"a: [1]", `{"a":{"0":1}}`},
		{"a: {}", `{"a":[]}`},
		{"a: text", `{"a":{}}`},
		{"a: 1\na: 1", `{"a":1}`},
		{"a: 1\na: 2", `{"a":2}`},
		{"a: 1\n...\nb: 2", `{"a":1}`},
		{"a: 1\n--- \nb: 2", `{"a":1}`},
		{"[a]: 1", `{"":1}`},
		{"a: &x [*x]", `{"a":[[[[]]]]}`},
		{"a: text", `{"a":"text"`},
		{"# nothing", `{}`},
	} {
		require.Error(t, sameFrontMatter([]byte(tt.yaml), []byte(tt.json)), "%s = %s", tt.yaml, tt.json)
	}
}

// A short text with aliases can stand for billions of values.
func TestFrontMatterThatExplodes(t *testing.T) {
	t.Parallel()
	var yaml strings.Builder
	json := `"x"`
	yaml.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 9; i++ {
		name, below := string(rune('0'+i)), string(rune('0'+i-1))
		yaml.WriteString("a" + name + ": &a" + name + " [" + strings.Repeat("*a"+below+",", 9) + "*a" + below + "]\n")
	}
	for range 4 {
		json = "[" + strings.Repeat(json+",", 9) + json + "]"
	}
	// A comparison takes no longer than the entry is.
	entry := `{"a0":["x","x","x","x","x","x","x","x","x","x"],"a1":0,"a2":0,"a3":` + json + `}`
	require.Error(t, sameFrontMatter([]byte(yaml.String()), []byte(entry)))
}

func FuzzFrontMatter(f *testing.F) {
	for _, text := range []string{
		"---\nname: a\ndescription: b\n---\nbody", "---\r\nname: a\r\n---\r\n", "\uFEFF---\na: &x [*x]\n---", "---\na: !!binary aGk=\n<<: {b: c}\n---\n", "---\n---", "---",
		"---\na: 2026-01-02\nb: [1.0, yes, ~, .inf]\n...\n---\n",
	} {
		f.Add([]byte(text), []byte(`{"name":"a","description":"b","a":[1,null,true]}`))
	}
	f.Fuzz(func(t *testing.T, text, entry []byte) {
		front, body, err := splitFrontMatter(text, 1<<10)
		if err != nil {
			require.Nil(t, front)
			return
		}
		require.LessOrEqual(t, len(front), 1<<10)
		require.True(t, strings.HasSuffix(string(text), string(body)))
		require.Contains(t, string(text), string(front))
		if sameFrontMatter(front, entry) == nil {
			require.NoError(t, sameFrontMatter(front, entry), "the answer is always the same")
		}
	})
}
