package main

import (
	"fmt"
	"runtime"
	"strings"
)

const pageHead = "# Hosts of others before mcpctl proxy\n\n"

const pageLegend = `
Each host is a program with an unchanged client of an SDK, or a command of others. In front of each
server it plays all steps without the proxy (front none), with the proxy as its command (stdio), and
with the proxy at a URL (HTTP). Where an SDK has both eras, there is a row for each.

- start: the host connects and learns the name of the server, not that of the proxy.
- list: tools, prompts, resources and templates, equal to those without the proxy.
- call: a tool answers.
- elicit, sample, roots: a tool asks the host a question during the call and gets the answer.
- progress: it reaches the host during the call.
- cancel: the host leaves a call that runs. The call ends, the server sees it, the session works.
- error: unknown tool and unknown prompt. The errors are equal to those without the proxy.
- subscribe, log: notifications of a changed resource, and log messages, reach the host.
- kill: SIGKILL of the server between two calls. The next call works.
- end: the host ends. 3 s later no process of its session is left.
- crash: SIGKILL of the host. Over HTTP another one is served. 3 s later nothing is left.

*ok*: it works. *–*: not played. *host*: it fails because of the host. The number is that of the
reason.

`

// markdown is the page about all rows.
func markdown(rows []*row, with string) string {
	var b strings.Builder
	b.WriteString(pageHead)
	b.WriteString(wrapped(fmt.Sprintf("Written by `scripts/hosts.sh` (`make hosts`). Do not edit. Played on %s/%s, %d cores, %s. Played with: %s.",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), with)))
	b.WriteString(pageLegend)
	b.WriteString("| host | front | server | revision |")
	for _, s := range steps {
		b.WriteString(" " + s.name + " |")
	}
	b.WriteString("\n|" + strings.Repeat("---|", 4+len(steps)) + "\n")
	var remarks []string
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |", r.host.name, r.front, r.server.name, r.revision)
		for _, c := range r.cells {
			text := string(c.verdict)
			if c.verdict != ok {
				text += fmt.Sprintf(" (%d)", footnote(&remarks, c.remark))
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
	}
	for i, text := range remarks {
		b.WriteString("\n" + wrapped(fmt.Sprintf("(%d) %s", i+1, text)))
	}
	return b.String()
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
