package main

import (
	_ "embed"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// topics are the help pages that belong to no single command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: failure.ExitCodes},
		{Use: "syntax", Short: "How to write servers and arguments", Long: helpSyntax},
		{Use: "names", Short: "Where the names of servers are looked up, and what is trusted", Long: helpNames},
		{Use: "eras", Short: "How the protocol revision is chosen and remembered", Long: helpEras},
		{Use: "answers", Short: "How what a server asks is answered: forms, pages, models, folders", Long: helpAnswers},
		{Use: "output", Short: "Output formats, standard output and standard error", Long: helpOutput},
	}
}

//go:embed help/syntax.txt
var helpSyntax string

//go:embed help/names.txt
var helpNames string

//go:embed help/eras.txt
var helpEras string

//go:embed help/output.txt
var helpOutput string

//go:embed help/answers.txt
var helpAnswers string
