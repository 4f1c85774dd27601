package mcp

// Codes that MCP adds to those of JSON-RPC. A code has its meaning only in the named
// revisions. In others it is a server's own code.
const (
	// CodeResourceNotFound is up to 2025-11-25; later -32602. Its data
	// is a [ResourceNotFoundData].
	CodeResourceNotFound = -32002
	// CodeURLElicitationRequired is in 2025-11-25 only (schema
	// URLElicitationRequiredError). Its data is a [URLElicitationRequiredData].
	CodeURLElicitationRequired = -32042
	// CodeHeaderMismatch is since 2026-07-28 (schema HeaderMismatchError).
	CodeHeaderMismatch = -32020
	// CodeMissingRequiredClientCapability is since 2026-07-28 (schema
	// MissingRequiredClientCapabilityError). Its data is a
	// [MissingCapabilityData].
	CodeMissingRequiredClientCapability = -32021
	// CodeUnsupportedProtocolVersion is since 2026-07-28 (schema
	// UnsupportedProtocolVersionError). Its data is an
	// [UnsupportedVersionData].
	CodeUnsupportedProtocolVersion = -32022
	// CodeUserRejected is the answer of a client whose user refused a sampling request, up
	// to 2025-11-25.
	CodeUserRejected = -1
)

// ResourceNotFoundData is the data of [CodeResourceNotFound].
type ResourceNotFoundData struct {
	URI   string
	Extra Members
	zero  presence
}

func (v *ResourceNotFoundData) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "uri", required, &v.URI)
}

// URLElicitationRequiredData is the data of [CodeURLElicitationRequired]: the pages that
// the user must visit before the call can be repeated.
type URLElicitationRequiredData struct {
	Elicitations []ElicitParams
	Extra        Members
	zero         presence
}

func (v *URLElicitationRequiredData) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	list(c, "elicitations", required, &v.Elicitations)
}

// MissingCapabilityData is the data of [CodeMissingRequiredClientCapability].
type MissingCapabilityData struct {
	// RequiredCapabilities are the client capabilities that the call needs.
	RequiredCapabilities ClientCapabilities
	Extra                Members
	zero                 presence
}

func (v *MissingCapabilityData) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	val(c, "requiredCapabilities", required, &v.RequiredCapabilities)
}

// UnsupportedVersionData is the data of [CodeUnsupportedProtocolVersion], and
// of the -32602 some servers give to initialize.
type UnsupportedVersionData struct {
	// Supported are revisions in any order. Choose one with [Newest].
	Supported []string
	Requested string
	Extra     Members
	zero      presence
}

func (v *UnsupportedVersionData) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	strs(c, "supported", required, &v.Supported)
	str(c, "requested", written, &v.Requested)
}
