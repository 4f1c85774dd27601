package serverfile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	const text = `{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name": "io.github.example/weather", "version": "1.2.0",
		"packages": [
			{"registryType": "npm", "identifier": "@example/weather", "version": "1.2.0", "transport": {"type": "stdio"},
				"packageArguments": [
					{"type": "positional", "value": "run"},
					{"type": "named", "name": "--units", "default": "metric"},
					{"type": "named", "name": "--city", "valueHint": "city"},
					{"type": "named", "name": "--verbose"},
					{"type": "named", "name": "--dir", "value": "{root}/data", "variables": {"root": {"isRequired": true}}}],
				"environmentVariables": [
					{"name": "WEATHER_KEY", "isRequired": true, "isSecret": true}, {"name": "REGION", "isRequired": true}, {"name": "DEBUG"}, {"name": "MODE", "default": "fast"}]},
			{"registryType": "pypi", "identifier": "weather", "version": "2"},
			{"registryType": "oci", "identifier": "ghcr.io/example/weather", "version": "1.2.0",
				"runtimeArguments": [{"type": "named", "name": "--network", "value": "none"}], "environmentVariables": [{"name": "MODE", "value": "fast"}]},
			{"registryType": "oci", "identifier": "ghcr.io/example/weather:3"},
			{"registryType": "mcpb", "identifier": "https://x/y.mcpb"},
			{"registryType": "npm", "identifier": "x", "transport": {"type": "streamable-http", "url": "http://localhost:1"}},
			{"registryType": "npm", "identifier": "--evil"},
			3
		],
		"remotes": [
			{"type": "streamable-http", "url": "https://{tenant}.example.com/mcp", "variables": {"tenant": {"default": "public"}},
				"headers": [{"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isRequired": true, "isSecret": true}}}, {"name": "X-Optional"}]},
			{"type": "sse", "url": "https://old.example.com/sse"}
		]
	}`
	f, err := Parse([]byte(text), vars("WEATHER_KEY", "s3cret", "REGION", "eu", "input:root", "/srv", "input:token", "t0ken"))
	require.NoError(t, err)
	byName := map[string]Entry{}
	for _, e := range f.Entries {
		byName[e.Name] = e
	}
	npm := byName["npm"]
	require.NoError(t, npm.Err)
	require.Equal(t, "npx", npm.Command)
	require.Equal(t, []string{"-y", "@example/weather@1.2.0", "run", "--units", "metric", "--verbose", "--dir", "/srv/data"}, npm.Args)
	require.Equal(t, []string{"WEATHER_KEY=s3cret", "REGION=eu", "MODE=fast"}, npm.Env)
	require.Contains(t, npm.Secrets, "s3cret")
	require.True(t, npm.Expanded)
	require.Equal(t, []string{"weather@2"}, byName["pypi"].Args)
	require.Equal(t, []string{"run", "-i", "--rm", "-e", "MODE", "--network", "none", "ghcr.io/example/weather:1.2.0"}, byName["oci"].Args)
	require.Equal(t, []string{"run", "-i", "--rm", "ghcr.io/example/weather:3"}, byName["oci-2"].Args)
	require.ErrorContains(t, byName["mcpb"].Err, "packages of mcpb cannot be started here")
	require.ErrorContains(t, byName["npm-2"].Err, "serves streamable-http and not stdio")
	require.ErrorContains(t, byName["npm-3"].Err, "has no identifier")
	require.ErrorContains(t, byName["package"].Err, "not one of a server.json")
	require.Equal(t, "https://public.example.com/mcp", byName["remote"].URL)
	require.Equal(t, [][2]string{{"Authorization", "Bearer t0ken"}}, byName["remote"].Header)
	require.True(t, byName["remote-2"].SSE)
	require.Contains(t, f.Inputs, Input{ID: "token", Password: true})

	f, err = Parse([]byte(text), nil)
	require.NoError(t, err)
	require.EqualError(t, f.Entries[0].Err, `server "npm": it needs these variables of the environment, which are not set: WEATHER_KEY, REGION, input:root`)
	f, err = Parse([]byte(text), vars("WEATHER_KEY", "s3cret", "REGION", "eu"))
	require.NoError(t, err)
	var missing *InputError
	require.ErrorAs(t, f.Entries[0].Err, &missing)
	require.Equal(t, []string{"root"}, missing.IDs)
	f, err = Parse([]byte(`{"remotes": [{"type": "sse", "url": "{base}/{path}", "variables": {"base": {"isRequired": true}, "path": {"isRequired": true}},
		"headers": [{"name": "X-Key", "isRequired": true}]}]}`), nil)
	require.NoError(t, err)
	require.ErrorAs(t, f.Entries[0].Err, &missing)
	require.Equal(t, []string{"base", "path", "X-Key"}, missing.IDs)

	// A lookup that leaves variables as they are written leaves their defaults, too.
	f, err = Parse([]byte(text), func(name string) (string, bool) { return "${" + name + "}", true })
	require.NoError(t, err)
	require.Contains(t, f.Entries[0].Args, "${input:units:-metric}")
	require.Contains(t, f.Entries[0].Env, "MODE=${MODE:-fast}")
}

func TestClaudeCode(t *testing.T) {
	t.Parallel()
	const text = `{
		"projects": {"/home/me/a": {"mcpServers": {"local": {"command": "x"}}}, "C:/b": {"mcpServers": {"windows": {"command": "y"}}}, "/empty": {}},
		"mcpServers": {"all": {"type": "http", "url": "https://x.example"}}
	}`
	for project, want := range map[string][]string{"": {"all"}, "/home/me/a": {"local"}, `C:\b`: {"windows"}, "/empty": nil, "/none": nil} {
		f, err := ParseClaudeCode([]byte(text), project, nil)
		require.NoError(t, err)
		var names []string
		for _, e := range f.Entries {
			names = append(names, e.Name)
		}
		require.Equal(t, want, names, project)
	}
	_, err := ParseClaudeCode([]byte(`{"projects": []}`), "/a", nil)
	require.ErrorContains(t, err, "must be an object")
}
