package failure

import _ "embed"

// ExitCodes is the help page about the exit codes.
//
//go:embed exit-codes.txt
var ExitCodes string
