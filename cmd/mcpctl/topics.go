package main

import (
	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// topics are the help pages that belong to no single command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: failure.ExitCodes},
		{Use: "syntax", Short: "How to write servers and arguments", Long: helpSyntax},
		{Use: "eras", Short: "How the protocol revision is chosen and remembered", Long: helpEras},
		{Use: "output", Short: "Output formats, standard output and standard error", Long: helpOutput},
	}
}

const helpSyntax = `  mcpctl [flags] COMMAND [SERVER] [operand…] [-- PROGRAM ARG…]

Servers
  -- PROGRAM ARG…        a program, over stdin and stdout; it gets all words after --
  https://host/mcp       a URL, over streamable HTTP
  :3000/mcp              short for http://localhost:3000/mcp
  localhost:3000/mcp     the same
  FILE.json#NAME         a server of a file with mcpServers, servers or context_servers
  -s SERVER              instead of the operand; MCPCTL_SERVER works too
With -- or -s the first operand of call is the tool.

Arguments of a call
  k=v              a value of the type in the tool's schema: strings unchanged,
                   numbers, booleans and null strictly, lists and objects as JSON.
                   A union takes the first branch that parses, a string last.
                   Without a schema the value is a string.
  k:=JSON          exactly this JSON, to the last digit
  k=@file          the text of a file, typed as above; @- is standard input
  k:=@file         the JSON of a file
  k=@base64:file   the bytes of a file, in base64
  k=@@x            the text @x
  a[b][c]=v        a nested value;  tags[]=x appends;  m[0][k]:=1 sets an item
  k==              remove k, for example from --json
  --json TEXT      the object to start from; @file and - (standard input) work too

Arguments are checked against the tool's input schema before anything is sent.
--no-validate sends them unchecked. --dry-run shows the request and sends nothing.

A result that does not fit the tool's output schema is shown, after a warning. With
--strict the run fails with exit code 5, and the result is still shown.`

const helpEras = `MCP has two eras. Servers of the session era open a session with initialize. In the
stateless era there is no session: every request is complete in itself.

  --era auto                 probe with server/discover, then choose (default)
  --era session, stateless   only the newest revision of that era
  --protocol-version D       only this revision

If the probe makes a program exit, mcpctl starts it once more without the probe. If
a program does not answer within 10 s (a URL: 2 s), mcpctl also sends initialize,
and the first real answer decides. Missing credentials and outages are errors: they
do not decide the era. URLs of the older HTTP+SSE transport work too.

The era of a server is remembered in mainstay/eras.json in your cache folder: the
session era for a day, the stateless era until it proves wrong. The file holds no
addresses and no secrets. MCPCTL_ERA_STORE names another file; off turns it off.

-v shows each step, and info shows how the era was found.`

const helpOutput = `Data goes to standard output, and nothing else does. Errors, warnings and progress
go to standard error.

  -o human    for people (default). In a pipe there is no colour, and lists are
              tab-separated values without headings
  -o json     one indented document; names, order and numbers as received
  -o ndjson   one line for each item of a list, or for each event of a call
              (progress, log, result, error)
  -o raw      the exact bytes of the server's result

With -o json and -o ndjson an error is one line of JSON on standard error:
  {"error":{"kind":…,"exit":…,"message":…,"delivery":…,"rpc":…,"http":…,"process":…}}
delivery is whether the request ran: not-sent, rejected (not run), unknown (it
may have run), answered.

Control characters from servers (escape sequences, bidirectional and zero-width
characters) are shown as marks such as ␛[31m: on a terminal in every format, and
in human output everywhere.

NO_COLOR, CLICOLOR_FORCE and FORCE_COLOR are respected.`
