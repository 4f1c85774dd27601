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
// The checks are those of package checks. [Run] makes those that [Options] names, which
// may be your own: a [Scenario] has one conversation with the server, through its
// [Trial], and decides its checks.
//
// The types to know are [Subject] (what is judged), [Scenario] and [Check]
// (what must hold, with the sentence that asks for it) and [Report] (what was
// found), which package report renders. A check that does not apply is skipped with a reason and never counts
// as passed; a check that is inconclusive is unknown and makes the
// verdict incomplete.
//
// The suite calls a tool only with permission: given by [Options], or granted by the
// server in capabilities.experimental.conformance.sideEffects.
package conformance
