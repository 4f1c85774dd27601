package login

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// page is the one that all of authorization was on until revision 2025-11-25.
const page = "basic/authorization"

// moved are the pages of revision 2026-07-28 that sections went to.
var moved = map[string]string{
	"authorization-server-location":                      "/authorization-server-discovery",
	"protected-resource-metadata-discovery-requirements": "/authorization-server-discovery",
	"authorization-server-metadata-discovery":            "/authorization-server-discovery",
	"client-registration-approaches":                     "/client-registration",
	"authorization-code-protection":                      "/security-considerations",
	"communication-security":                             "/security-considerations",
	"open-redirection":                                   "/security-considerations",
	"token-theft":                                        "/security-considerations",
}

// Modern is where the rule of a check stands in revision 2026-07-28, the zero Spec if it
// stands in the same place.
func Modern(s conformance.Spec) conformance.Spec {
	anchor, ok := strings.CutPrefix(s.Section, page+"#")
	if !ok || moved[anchor] == "" {
		return conformance.Spec{}
	}
	s.Section = page + moved[anchor] + "#" + anchor
	if anchor == "client-registration-approaches" {
		s.Section = page + moved[anchor] // it has no heading of its own there
	}
	return s
}
