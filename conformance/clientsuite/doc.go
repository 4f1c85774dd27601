// Package clientsuite runs the conformance suite against MCP clients. It starts a client
// once for each scenario, with a server that follows a script or misbehaves, over
// streamable HTTP or stdio. It judges what the client sent and, if the client reports
// outcomes, what it reported:
//
//	program := clientsuite.Command([]string{"./my-client", "--url", "{url}"}, nil)
//	report, err := clientsuite.Run(ctx, program, clientsuite.Options{})
//	if err != nil {
//		return err // the client could not be started
//	}
//	os.Exit(report.ExitCode())
//
// The client finds its task as JSON in the environment variable MAINSTAY_CONFORM_TASK, and
// prints one line of JSON for each step. docs/conformance-clients.md describes both. A
// client that does not know them is judged by its messages alone; the checks of its reports
// are skipped, and never pass.
//
// The report is that of package conformance, in the role of a client.
package clientsuite
