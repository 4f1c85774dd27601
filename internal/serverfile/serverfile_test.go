package serverfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vars is a lookup over pairs of name and value.
func vars(pairs ...string) Lookup {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// one reads a file with one server, x.
func one(t *testing.T, entry string, lookup Lookup) (Entry, []string) {
	t.Helper()
	f, err := Parse([]byte(`{"mcpServers":{"x":`+entry+`}}`), lookup)
	require.NoError(t, err)
	require.Len(t, f.Entries, 1)
	return f.Entries[0], f.Notes
}

func TestFilesOfHosts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []Entry
		notes      []string
	}{
		{
			"Claude Desktop", `{"globalShortcut":"", "mcpServers": {
				"files": {"command": "npx", "args": ["-y", "files", "/tmp"], "env": {"TOKEN": "t0ken"}}
			}}`,
			[]Entry{{Name: "files", Line: 2, Command: "npx", Args: []string{"-y", "files", "/tmp"}, Env: []string{"TOKEN=t0ken"}, Secrets: []string{"t0ken"}}},
			nil,
		},
		{
			"VS Code, with comments and trailing commas", `{
				// what the team uses
				"inputs": [{"id": "key", "type": "promptString"},],
				"servers": {
					"remote": {"type": "http", "url": "https://x.example/mcp//a", "headers": {"X-Key": "${env:KEY}",}, /* new */ },
					"local": {"type": "stdio", "command": "srv", "cwd": "/srv", "env": {"PORT": 8080, "ON": true, "GONE": null}, "envFile": ".env"},
				},
			}`,
			[]Entry{
				{Name: "remote", Line: 5, URL: "https://x.example/mcp//a", Header: [][2]string{{"X-Key", "k3y"}}, Secrets: []string{"k3y"}, Expanded: true},
				{Name: "local", Line: 6, Command: "srv", Dir: "/srv", Env: []string{"PORT=8080", "ON=true"}},
			},
			[]string{`server "local": envFile is not read; put its variables into env`},
		},
		{
			"Gemini and Windsurf", `{"mcpServers":{"a":{"httpUrl":"https://a.example","timeout":5},"b":{"serverUrl":"https://b.example","disabled":true}}}`,
			[]Entry{{Name: "a", Line: 1, URL: "https://a.example"}, {Name: "b", Line: 1, URL: "https://b.example", Disabled: true}},
			[]string{`server "a": member "timeout" is not used`},
		},
		{
			"a command that is a list, and SSE", `{"context_servers":{"a":{"command":["srv","-v"],"enabled":false},"b":{"url":"https://b.example/sse","transport":"sse"}}}`,
			[]Entry{{Name: "a", Line: 1, Command: "srv", Args: []string{"-v"}, Disabled: true}, {Name: "b", Line: 1, URL: "https://b.example/sse", SSE: true}},
			nil,
		},
		{"no servers", `{"mcpServers":{}}`, nil, nil},
		{
			"two containers and odd names", `{"mcpServers":{"a b/\u00e9":{"command":"x"}},"servers":{"__proto__":{"command":"y"}}}`,
			[]Entry{{Name: "a b/é", Line: 1, Command: "x"}, {Name: "__proto__", Line: 1, Command: "y"}},
			nil,
		},
		{"with a byte order mark", "\xef\xbb\xbf" + `{"mcpServers":{"a":{"command":"x"}}}`, []Entry{{Name: "a", Line: 1, Command: "x"}}, nil},
		{
			"members of no use", `{"mcpServers":{"a":{"command":"x","headers":{"A":"b"}},"b":{"url":"https://b.example","args":["y"]}}}`,
			[]Entry{{Name: "a", Line: 1, Command: "x", Secrets: []string{"b"}}, {Name: "b", Line: 1, URL: "https://b.example"}},
			[]string{`server "a": headers are not used with a program`, `server "b": args, env and cwd are for programs and not used with a URL`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, err := Parse([]byte(tt.text), vars("KEY", "k3y"))
			require.NoError(t, err)
			require.Equal(t, tt.want, f.Entries)
			require.Equal(t, tt.notes, f.Notes)
			if strings.Contains(tt.text, `"inputs"`) {
				require.Equal(t, []Input{{ID: "key"}}, f.Inputs)
			}
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"empty", " \n", "the file is empty"},
		{"only a comment", "// nothing", "the file is empty"},
		{"a list", `[]`, "must be an object"},
		{"not an object of servers", `{"mcpServers":[]}`, "member mcpServers: must be an object"},
		{"another file", `{"name":"left-pad"}`, "none of the members mcpServers, servers and context_servers"},
		{"cut", "{\n  \"mcpServers\": {", "line 2, column 16: the text ends too early"},
		{"a comment without end", `{"mcpServers":{} /* }`, "line 1, column"},
		{"broken", "{\n \"mcpServers\": {\"a\": nope}}", "line 2, column"},
		{"two objects", `{"mcpServers":{}} {}`, "something follows"},
		{"a comma alone", `{,}`, "line 1"},
		{"twice", "{\"mcpServers\": {\"a\": {},\n\"a\": {}}}", `line 2, column 4: member "a" is a duplicate`},
		{"twice in two members", "{\"mcpServers\": {\"a\": {}},\n\"servers\":{\"a\": {}}}", `server "a" is in the file twice, in lines 1 and 2`},
		{"not UTF-8", "{\"mcpServers\":{\"\xff\":{}}}", "not UTF-8"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "not UTF-8"},
		{"giant", strings.Repeat(" ", MaxBytes+1), "larger than 1048576 bytes"},
		{"crowded", crowd(MaxServers + 1), "more than 1000 servers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, err := Parse([]byte(tt.text), nil)
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, f)
		})
	}
	f, err := Parse([]byte(crowd(MaxServers)), nil)
	require.NoError(t, err)
	require.Len(t, f.Entries, MaxServers)
}

func crowd(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"s%d":{"command":"x"},`, i)
	}
	return `{"mcpServers":{` + b.String() + `}}`
}

// An entry that cannot be used has the reason, and the others are read.
func TestEntriesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, entry, want string }{
		{"nothing", `{}`, "neither a command nor a URL"},
		{"both", `{"command":"x","url":"https://x.example"}`, "both a command and a URL"},
		{"not an object", `"npx"`, "must be an object"},
		{"type and URL", `{"type":"stdio","url":"https://x.example"}`, "the type requires a command"},
		{"type and command", `{"type":"sse","command":"x"}`, "the type requires a URL"},
		{"unknown type", `{"type":"carrier-pigeon","command":"x"}`, "unknown type"},
		{"type of another type", `{"type":1,"command":"x"}`, "member type: must be a string"},
		{"an empty command", `{"command":""}`, "member command: is empty"},
		{"an empty list", `{"command":[]}`, "member command: is empty"},
		{"an empty URL", `{"url":""}`, "member url: is empty"},
		{"two URLs", `{"url":"https://x.example","httpUrl":"https://x.example"}`, "given twice"},
		{"null", `{"command":null}`, "member command: must be a string"},
		{"args that are no list", `{"command":"x","args":"-v"}`, "member args: must be a list of strings"},
		{"a number among args", `{"command":"x","args":["-v",3]}`, "member args: item 2: must be a string"},
		{"a list in env", `{"command":"x","env":{"A":["b"]}}`, `member env: "A": must be a string`},
		{"a bad name in env", `{"command":"x","env":{"A=B":"c"}}`, "member env: a variable's name"},
		{"a NUL", `{"command":"x\u0000y"}`, "contains a NUL"},
		{"a member twice", `{"command":"x","command":"y"}`, `member "command" is a duplicate`},
		{"an unset variable", `{"command":"x","env":{"TOKEN":"${MISSING}"}}`, `server "x": member env: "TOKEN": the variable MISSING is not set`},
		{"an unset variable in args", `{"command":"x","args":["a","${MISSING}"]}`, `member args: item 2: the variable MISSING is not set`},
		{"an editor's variable", `{"command":"x","cwd":"${workspaceFolder}"}`, "member cwd: the variable workspaceFolder exists only in editors"},
		{"questions to the user", `{"command":"x","args":["${input:b}${input:a}","${input:a}"],"env":{"K":"${input:key}"}}`, "the variables input:b, input:a, input:key cannot be looked up here"},
		{"a question to the user", `{"command":"x","env":{"K":"${input:key}"}}`, "the variable input:key cannot be looked up here"},
		{"disabled by a text", `{"command":"x","disabled":"yes"}`, "member disabled: must be true or false"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, err := Parse([]byte(`{"mcpServers":{"x":`+tt.entry+`,"good":{"command":"y"}}}`), vars("SET", "s3cret"))
			require.NoError(t, err)
			require.Len(t, f.Entries, 2)
			require.ErrorContains(t, f.Entries[0].Err, tt.want)
			require.Empty(t, f.Entries[0].Command+f.Entries[0].URL)
			require.Equal(t, Entry{Name: "good", Line: 1, Command: "y"}, f.Entries[1])
		})
	}
	f, err := Parse([]byte(`{"mcpServers":{"":{"command":"y"}}}`), nil)
	require.NoError(t, err)
	require.ErrorContains(t, f.Entries[0].Err, "a server needs a name")
	f, err = Parse([]byte(`{"mcpServers":{"off":{"disabled":true,"command":"${MISSING}"}}}`), nil)
	require.NoError(t, err)
	require.True(t, f.Entries[0].Disabled, "whatever else is wrong with it")
}

func TestVariables(t *testing.T) {
	t.Parallel()
	lookup := vars("A", "alpha", "EMPTY", "", "LOOP", "${A}", "input:key", "k3y")
	tests := []struct{ text, want, err string }{
		{"plain $A $$ {A}", "plain $A $$ {A}", ""},
		{"${A}", "alpha", ""},
		{"<${A}${A}>", "<alphaalpha>", ""},
		{"${env:A}", "alpha", ""},
		{"${A:-beta}", "alpha", ""},
		{"${B:-beta}", "beta", ""},
		{"${B:-}", "", ""},
		{"${B:-a:-b}", "a:-b", ""},
		{"${env:B:-beta}", "beta", ""},
		{"${EMPTY}", "", ""},
		{"${EMPTY:-beta}", "beta", ""},
		{"${LOOP}", "${A}", ""},
		{"$${A}", "${A}", ""},
		{"$$${A}", "$${A}", ""},
		{"${input:key}", "k3y", ""},
		{"${B}", "", "the variable B is not set"},
		{"${env:B}", "", "the variable B is not set"},
		{"${A", "", `"${" without "}"`},
		{"${}", "", "use NAME"},
		{"${A-x}", "", "not a variable name"},
		{"${1}", "", "not a variable name"},
		{"${B:-${A}}", "", "do not nest"},
		{"${A B}", "", "use NAME"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, _, _, err := expand(tt.text, lookup)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

// The values of variables, env and headers are never shown.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	entry, notes := one(t, `{"command":"x","args":["${KEY}"],"env":{"A":"${KEY}","B":"lit3ral"},"headers":{"C":"h3ader"},"other":"oth3r"}`, vars("KEY", "s3cret"))
	require.NoError(t, entry.Err)
	require.Equal(t, []string{"h3ader", "lit3ral", "s3cret"}, entry.Secrets)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		shown := fmt.Sprintf(format, entry) + fmt.Sprintf(format, &entry) + strings.Join(notes, "")
		for _, secret := range append(entry.Secrets, "oth3r") {
			require.NotContains(t, shown, secret, format)
		}
	}
	entry, _ = one(t, `{"command":"x","env":{"A":"${KEY}","B":"${MISSING}"}}`, vars("KEY", "s3cret"))
	require.NotContains(t, entry.Err.Error(), "s3cret")
	require.Empty(t, entry.Secrets, "a server that is none has none")
}

// A folder is no secret: command lines are shown with it.
func TestFoldersAreShown(t *testing.T) {
	t.Parallel()
	entry, _ := one(t, `{"command":"x","args":["${workspaceFolder}/a"]}`, vars("workspaceFolder", "/home/me/project"))
	require.Equal(t, []string{"/home/me/project/a"}, entry.Args)
	require.Empty(t, entry.Secrets)
	require.False(t, entry.Expanded)
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	_, err := ReadFile(path, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":"x"}}}`), 0o600))
	f, err := ReadFile(path, nil)
	require.NoError(t, err)
	require.Equal(t, []Entry{{Name: "a", Line: 1, Command: "x"}}, f.Entries)
	require.NoError(t, os.WriteFile(path, make([]byte, MaxBytes+1), 0o600))
	_, err = ReadFile(path, nil)
	require.ErrorContains(t, err, "mcp.json: the file is larger than")
}

// FuzzServerFile: for any text, an entry is a program, a URL or an error, names are unique, and
// no value of a variable is shown.
func FuzzServerFile(f *testing.F) {
	for _, seed := range []string{
		`{"mcpServers":{"a":{"command":"x","args":["${V}"],"env":{"A":"${V:-d}"},"cwd":"${env:V}"}}}`,
		`{"servers":{"a":{"type":"http","url":"https://x/${V}","headers":{"A":"${B}"}},}} // x`,
		`{"mcpServers":{"a":{"command":["x"],"disabled":true}},"servers":{"a":1}}`,
		`{"packages":[{"registryType":"npm","identifier":"x","environmentVariables":[{"name":"V"},{"name":"W","isRequired":true}],"packageArguments":[{"type":"named","name":"--a","value":"{b}","variables":{"b":{"default":"c"}}}]}],"remotes":[{"type":"sse","url":"https://x/{V}","variables":{"V":{}}}]}`,
		`{"projects":{"/p":{"mcpServers":{"a":{"command":"x"}}}},"mcpServers":{"a":{"url":"https://x"}}}`,
		`/**/{"context_servers":{"":{}},"x":"//\"/*"}`, `{"mcpServers":{"a":{"url":"$${V}"}}`, "\xef\xbb\xbf{}",
	} {
		f.Add([]byte(seed))
	}
	const secret = "5ecret-va1ue"
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), secret) {
			return
		}
		text := plain(data)
		require.Len(t, text, len(data))
		require.Equal(t, text, plain(text), "what is plain stays")
		lookup := func(name string) (string, bool) { return secret, name == "V" || name == "input:V" }
		for _, project := range []string{"", "/p"} {
			state, err := ParseClaudeCode(data, project, lookup)
			require.Equal(t, state == nil, err != nil)
			if err != nil {
				require.NotContains(t, err.Error(), secret)
			}
		}
		file, err := Parse(data, lookup)
		if err != nil {
			require.NotContains(t, err.Error(), secret)
			require.Nil(t, file)
			return
		}
		names := map[string]bool{}
		for _, e := range file.Entries {
			require.False(t, names[e.Name])
			names[e.Name] = true
			require.Positive(t, e.Line)
			program, remote := e.Command != "", e.URL != ""
			require.True(t, e.Err != nil && !program && !remote || e.Err == nil && program != remote)
			shown := fmt.Sprintf("%+v %v %v", e, e.Err, file.Notes)
			require.NotContains(t, shown, secret)
		}
	})
}
