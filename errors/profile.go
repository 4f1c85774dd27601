package mcperrors

// Profile says how a family of servers uses error codes (tools.md §1.2). The
// same number means different things in different families: -32001 is a
// timeout in docling and a missing resource in artifact. Only the application
// chooses a profile: what a server or a tool says of itself is never obeyed.
type Profile string

// The profiles. Any other value, "" included, is [Plain], with one exception:
// errors of the eight tools of the document server ("convert_pdf",
// "export_html" and so on) are read by [Docling].
const (
	// Docling is the table of the document server, S2.
	Docling Profile = "docling"
	// Artifact has -32000 for permissions, timeouts and states, told apart by
	// data.reason and data.prerequisite.
	Artifact Profile = "artifact"
	// COE has HTTP-like numbers and strings for codes. It is the only profile with
	// codes that promise that nothing was done, DB_LOCKED and RATE_LIMIT: such
	// calls are [Rejected], and a client makes them again.
	COE Profile = "coe"
	// Preflights and Assistant report errors in results.
	Preflights Profile = "preflights"
	Assistant  Profile = "assistant"
	// Plain reads the JSON-RPC and MCP codes only. It is the default.
	Plain Profile = "plain"
)

// Known reports whether p is one of the profiles.
func (p Profile) Known() bool {
	switch p {
	case Docling, Artifact, COE, Preflights, Assistant, Plain:
		return true
	default:
		return false
	}
}
