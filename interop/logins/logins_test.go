package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRotated(t *testing.T) {
	t.Parallel()
	first := grant{kind: "authorization_code", refresh: "a"}
	for name, tt := range map[string]struct {
		grants []grant
		err    string
	}{
		"replaced twice": {[]grant{first, {kind: "refresh_token", used: "a", refresh: "b"}, {kind: "refresh_token", used: "b", refresh: "c"}}, ""},
		"once":           {[]grant{first, {kind: "refresh_token", used: "a", refresh: "b"}}, "1 refresh tokens"},
		"not replaced":   {[]grant{first, {kind: "refresh_token", used: "a"}}, "did not replace"},
		"the same":       {[]grant{first, {kind: "refresh_token", used: "a", refresh: "a"}}, "did not replace"},
		"used again":     {[]grant{first, {kind: "refresh_token", used: "a", refresh: "b"}, {kind: "refresh_token", used: "a"}}, "used twice"},
		"an old one":     {[]grant{first, {kind: "refresh_token", used: "z", refresh: "b"}}, "not the last one"},
	} {
		err := rotated(tt.grants)
		if tt.err == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, tt.err, name)
		}
	}
}

// played are results in which every cell is one outcome, for two servers.
func played(every outcome) []result {
	results := []result{{server: &server{name: "one"}}, {server: &server{name: "two"}}}
	for i := range results {
		results[i].cells = map[string][]outcome{}
		for _, step := range steps() {
			results[i].cells[step] = []outcome{every, every, every}
		}
	}
	return results
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	good := played(outcome{state: works})
	require.Zero(t, verdictOf(good))
	require.Zero(t, verdictOf(played(outcome{state: impossible})))
	require.Equal(t, exitFailed, verdictOf(played(outcome{state: unreached})))
	good[1].cells[logout][2] = outcome{state: fails}
	require.Zero(t, verdictOf(good), "the last column is go-sdk's")
	good[1].cells[logout][1] = outcome{state: fails}
	require.Equal(t, exitFailed, verdictOf(good))
	require.Equal(t, exitFailed, verdictOf(append(good, result{server: &server{}, missing: errors.New("no")})))
	require.Equal(t, exitMissing, verdictOf(append(played(outcome{state: works}), result{server: &server{}, missing: errors.New("no")})))
}

// The page has a row for each step of each server, and each remark once.
func TestPage(t *testing.T) {
	t.Parallel()
	text := markdown(played(outcome{fails, "http://127.0.0.1:4711/token?state=x\n refuses"}), "everything")
	require.Equal(t, 2*len(steps()), strings.Count(text, "| no (1) | no (1) | no (1) |"))
	require.Equal(t, 1, strings.Count(text, "(1) http://127.0.0.1:PORT/token refuses\n"))
	require.Contains(t, text, "| two | step-up | no (1)")
	require.NotContains(t, text, "4711")
	for line := range strings.Lines(text) {
		require.True(t, strings.HasPrefix(line, "|") || len(line) <= 101, line)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	action, fields, err := fill(`<form method="post" action="/login?a=1&amp;b=2"><input type="hidden" name="id" value="&lt;7"><input name="username"><input name="password"><input type="submit"></form>`)
	require.NoError(t, err)
	require.Equal(t, "/login?a=1&b=2", action)
	require.Equal(t, "id=%3C7&password=secret&username=ada", fields.Encode())
	_, _, err = fill("nothing to fill in")
	require.ErrorContains(t, err, "no form")
}

func TestProposedCommand(t *testing.T) {
	t.Parallel()
	words, err := command("error: a login\n  try       mcpctl auth login --scope mcp:read http://127.0.0.1:1/mcp\n            or add -H\n")
	require.NoError(t, err)
	require.Equal(t, []string{"auth", "login", "--scope", "mcp:read", "http://127.0.0.1:1/mcp"}, words)
	_, err = command("nothing")
	require.ErrorContains(t, err, "no command is proposed")
}
