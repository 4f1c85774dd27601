// Package conformance judges MCP servers. It has its own wire driver, so that a bug of a
// client cannot hide a bug of a server. The report has a result for each check, with the
// messages that show a failure:
//
//	subject := conformance.Command([]string{"./my-server"}, nil)
//	r, err := checks.Run(ctx, subject, conformance.Options{})
//	if err != nil {
//		return err // the server cannot be reached
//	}
//	err = report.Text(os.Stdout, r, report.TextOptions{})
//	os.Exit(r.ExitCode())
//
// Package checks has the checks of the specification and runs them.
//
// The main types are [Subject] (the server), [Options], [Check] (a rule, with the sentence
// of the specification) and [Report] (the results), which package report renders. A check
// that does not apply is skipped with a reason and never counts as passed. A required check
// that is inconclusive makes the verdict inconclusive.
//
// The suite shares two things with the client of this module: the splitting of event
// streams into events, and the names and types of package mcp.
//
// The suite calls a tool only with permission: given by [Options], or granted by the
// server in capabilities.experimental.conformance.sideEffects.
package conformance
