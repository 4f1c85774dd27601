// Package clientsuite judges MCP clients. It starts a client once for each
// scenario before a server of its own, scripted or misbehaving, over streamable
// HTTP or stdio, and judges what the client sent and, where the client tells,
// what it concluded:
//
//	program := clientsuite.Command([]string{"./my-client", "--url", "{url}"}, nil)
//	report, err := clientsuite.Run(ctx, program, clientsuite.Options{})
//	if err != nil {
//		return err // the client could not be started at all
//	}
//	os.Exit(report.ExitCode())
//
// The client finds in its environment, as one [Task], what it is to do, and
// writes one [Line] for each step: a page of docs tells of this protocol. A
// client that knows nothing of it is judged by what it sends alone; the checks
// of what it would have reported are skipped, and never pass.
//
// The types to know are [Program], [Options] and [Task]. The report is that of
// package conformance, in the role of a client.
package clientsuite
