// Package conformance judges MCP servers. It drives a server over the wire with
// a raw driver of its own, so that no bug of a client can hide a bug of a
// server, and reports check by check what holds, with the frames that prove
// what does not:
//
//	subject := conformance.Command([]string{"./my-server"}, nil)
//	r, err := checks.Run(ctx, subject, conformance.Options{})
//	if err != nil {
//		return err // the server could not be reached at all
//	}
//	err = report.Text(os.Stdout, r, report.TextOptions{})
//	os.Exit(r.ExitCode())
//
// Package checks has the checks of the specification and runs them.
//
// The types to know are [Subject] (what is judged), [Options], [Check] (what must hold,
// with the sentence that asks for it) and [Report] (what was found), which package report
// renders. A check that does not apply is skipped with a reason and never counts as passed;
// a required check that is inconclusive makes the verdict inconclusive.
//
// The suite shares two things with the client of this module: the splitting of event
// streams into events, and the names and types of package mcp.
//
// The suite calls a tool only with permission: given by [Options], or granted by the
// server in capabilities.experimental.conformance.sideEffects.
package conformance
