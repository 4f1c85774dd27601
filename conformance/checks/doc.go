// Package checks is what the suite of package conformance judges MCP servers by: the
// scenarios of the specification, each with the checks it decides.
//
//	report, err := checks.Run(ctx, conformance.Command([]string{"./my-server"}, nil), conformance.Options{})
package checks
