// Package mutants makes wrong servers out of right ones: a proxy stands
// before an MCP server, over stdio or HTTP and in both eras, and plants one
// defect at a time. The defects are those of servers and not of wires (which are
// conformance/faults'): an id of another type, a session that does not end, a
// page that repeats, a header nobody compares.
//
// A conformance suite is worth what it notices. [Mutants] is the list the suite
// of this project is measured with, and the official one beside it; [Detector]
// does the measuring, and cmd/mutants prints the table.
package mutants
