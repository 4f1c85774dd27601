package mcperrors

// Profile says how a family of servers uses error codes (tools.md §1.2). The
// same number means different things in different families: -32001 is a
// timeout in docling and a missing resource in artifact.
type Profile string

// The profiles. Any other value, "" included, is [Docling].
const (
	// Docling is the seed's own table and the default.
	Docling Profile = "docling"
	// Artifact has -32000 for permissions, timeouts and states, told apart by
	// data.reason and data.prerequisite.
	Artifact Profile = "artifact"
	// COE has HTTP-like numbers and strings for codes.
	COE Profile = "coe"
	// Preflights and Assistant report errors in results.
	Preflights Profile = "preflights"
	Assistant  Profile = "assistant"
	// Plain reads the JSON-RPC and MCP codes only.
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

// pick returns the first known profile, else [Docling].
func pick(order ...Profile) Profile {
	for _, p := range order {
		if p.Known() {
			return p
		}
	}
	return Docling
}
