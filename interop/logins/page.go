package main

import (
	"fmt"
	"strings"
)

// words of the page, between what the run fills in.
const pageHead = `# Logins at authorization servers of others

Written by ` + "`scripts/logins.sh`" + ` (` + "`make logins`" + `). Do not edit. Played with:
`

const pageLegend = `
A played person logs in at each of these servers with ` + "`mcpctl`" + `, with a program of 45 lines
(` + "`interop/logins/program`" + `) and with go-sdk's client and its package ` + "`auth`" + `.
The driver stands between the clients and the authorization server and counts their requests, but
not at the demo, which chooses its own URLs. go-sdk's client refreshes a token ten seconds before
it expires, so here it refreshes before each request.

- login: one page, one code, with PKCE. The call that needed it works.
- call: two more, and the person sees no page.
- expiry: the access token lives two seconds. The next call refreshes it, and works.
- rotation: each refresh token is used once; the next refresh uses its replacement.
- revocation: the server ends the login. The refresh token is refused once. The person logs in
  again, and the call works.
- step-up: a tool needs one more scope (403 ` + "`insufficient_scope`" + `). One login asks for both.
- logout: the server takes the tokens back, and refuses the refresh token afterwards. The next call
  needs a login.

*ok*: it works. *no*: it fails, and the remark has the error. *–*: the server or the client cannot
do it. *·*: not tried, because an earlier step failed.

`

// markdown is the page about the results. with says what was played with.
func markdown(results []result, with string) string {
	var b strings.Builder
	b.WriteString(pageHead + wrapped(with+".") + pageLegend)
	b.WriteString("| authorization server | what it is |\n|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s |\n", r.server.name, r.server.about)
	}
	b.WriteString("\n| authorization server | step |")
	rule := "|---|---|"
	for _, c := range columns() {
		b.WriteString(" " + c.name + " |")
		rule += "---|"
	}
	b.WriteString("\n" + rule + "\n")
	rows, remarks := table(results)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(append([]string{r.server, r.step}, r.cells...), " | "))
	}
	b.WriteString("\n")
	for i, text := range remarks {
		b.WriteString(wrapped(fmt.Sprintf("(%d) %s", i+1, text)) + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// wrapped breaks a text into lines of at most 100 columns.
func wrapped(text string) string {
	var b strings.Builder
	width := 0
	for _, word := range strings.Fields(text) {
		switch {
		case width == 0:
		case width+1+len(word) > 100:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String() + "\n"
}
