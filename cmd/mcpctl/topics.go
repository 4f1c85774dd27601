package main

import "github.com/spf13/cobra"

// topics are the help pages that are not about one command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: helpExitCodes},
		{Use: "syntax", Short: "How servers and arguments are written", Long: helpSyntax},
		{Use: "eras", Short: "How the revision to speak is found, and remembered", Long: helpEras},
		{Use: "output", Short: "What is printed where, and in which form", Long: helpOutput},
	}
}

const helpExitCodes = `Exit codes (stable)

    0  ok               done; for conform: passed
    1  negative         it ran and the answer is no: the tool reported an error,
                        the server does not conform, an expectation was not met
    2  usage            the command line is wrong, or arguments break the tool's
                        schema; nothing was sent
    3  unreachable      no such host, port, path or program, or the program died
                        before its first answer
    4  auth             HTTP 401 or 403
    5  protocol         the server broke the protocol
    6  rpc-error        the server answered with a JSON-RPC error
    7  unknown-outcome  timeout or loss after the request went out: it may have run
    8  not-found        no such tool, prompt or resource
    9  input-required   an answer from a person is needed
   10  incomplete       a conformance run that could not establish everything
   11  unavailable      a limit, ours or the server's, refused the call; wait
   12  too-large        the answer is larger than --max-message
   70  bug              a mistake of mcpctl
   74  output           the output or a file could not be written; delivery says
                        what became of the request
  129  hangup           the terminal was closed
  130  interrupted      Ctrl-C
  141  output-closed    the reader of the output left
  143  terminated       the TERM signal

What to do next: 2 correct the command line, 3 correct the address, 4 log in,
7 check whether it ran, 9 ask a person, 11 wait, 12 ask for less.`

const helpSyntax = `  mcpctl [flags] COMMAND [SERVER] [operand…] [-- PROGRAM ARG…]

Servers
  -- PROGRAM ARG…        a program over stdin and stdout; all after -- is its own
  https://host/mcp       streamable HTTP
  :3000/mcp              short for http://localhost:3000/mcp
  localhost:3000/mcp     the same
  -s SERVER              in place of the operand; MCPCTL_SERVER too
With -- or -s the first operand of call is the tool.

Arguments of a call
  k=v              typed by the tool's schema: a string as it is, numbers, booleans
                   and null strictly, lists and objects as JSON; a union takes the
                   first branch that parses, a string last; without a schema a string
  k:=JSON          exactly this JSON, to the last digit
  k=@file          the text of a file, typed as above; @- is standard input
  k:=@file         the JSON of a file
  k=@base64:file   the bytes of a file, in base64
  k=@@x            the text @x
  a[b][c]=v        nested;  tags[]=x adds to a list;  m[0][k]:=1 goes into one
  k==              leave k out
  --json TEXT      an object to begin with; @file and - work here too

Arguments are checked against the tool's input schema before anything is sent.
--no-validate sends them as they are, --dry-run shows the request instead.`

const helpEras = `MCP has two eras: legacy, which opens a session with initialize, and modern, in
which every request stands alone.

  --era auto             finds out, by asking server/discover first (default)
  --era modern, legacy   the newest revision of that era, and no other
  --protocol-version D   this revision, and no other

A program that ends when it is asked is started a second time, for a session. One
that says nothing for 10 s (a URL: 2 s) gets initialize beside the question, and the
first real answer counts. A lack of credentials and an outage are errors: they say
nothing about the era. A URL of the older HTTP+SSE is found too.

What was found out is remembered in mainstay/eras.json in your cache folder: a
legacy server for a day, a modern one until it turns out to be wrong. The file
holds no addresses and no secrets. MCPCTL_ERA_STORE names another file, or is off
to remember nothing.

-v tells what was tried, and info shows how the era was found.`

const helpOutput = `Standard output has the data and nothing else. Everything that is said about
them goes to standard error.

  -o human    for people (default). In a pipe: the same data without colour, lists
              as tab-separated values without headings
  -o json     one document, indented; names, their order and numbers as received
  -o ndjson   one line each: an item of a list, or an event of a call
              (progress, log, result, error)
  -o raw      the exact bytes of the server's result

With -o json and -o ndjson an error is one line of JSON on standard error:
  {"error":{"kind":…,"exit":…,"message":…,"delivery":…,"rpc":…,"http":…,"process":…}}
delivery says what became of the request: not-sent, rejected, unknown, answered.

Control characters that servers send (escape sequences, bidirectional and
zero-width characters) are shown as marks, ␛[31m, on a terminal in every form,
and in human output always.

NO_COLOR, CLICOLOR_FORCE and FORCE_COLOR are respected.`
