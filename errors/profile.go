package mcperrors

// Profile names a family of servers, because the same error number means
// different things in different families. For example, -32001 is a timeout in
// [Docling] and a missing resource in [Artifact]. The default is [Plain]. Only
// the application can choose a profile; the client ignores what a server says
// about itself.
type Profile string

// The profiles. Any other value, "" included, is [Plain], with one exception:
// errors of the eight tools of the document server ("convert_pdf",
// "export_html" and so on) are read by [Docling].
const (
	// Docling is the document server. Its codes name failed conversions and
	// exports.
	Docling Profile = "docling"
	// Artifact uses -32000 for permissions, timeouts and state conflicts. The
	// members reason and prerequisite of the error's data tell them apart.
	Artifact Profile = "artifact"
	// COE uses numbers like those of HTTP, and strings as codes. It is the only
	// profile whose codes promise that the server did nothing: DB_LOCKED and
	// RATE_LIMIT. Errors with these codes are [Rejected], and the client retries
	// the call.
	COE Profile = "coe"
	// Preflights and Assistant report errors in the results of tools.
	Preflights Profile = "preflights"
	Assistant  Profile = "assistant"
	// Plain maps only the codes of JSON-RPC and MCP. It is the default.
	Plain Profile = "plain"
)

// Known reports whether p is one of the profiles of this package.
func (p Profile) Known() bool {
	switch p {
	case Docling, Artifact, COE, Preflights, Assistant, Plain:
		return true
	default:
		return false
	}
}
