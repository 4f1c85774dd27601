package conformance

import (
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// SideEffects is how much the suite may do to a server by calling its tools.
type SideEffects string

// The grants, from least to most.
const (
	// SideEffectsNone: no tool is called but those in Options.AllowTools.
	SideEffectsNone SideEffects = "none"
	// SideEffectsReadOnly: tools whose annotations say readOnlyHint are called.
	SideEffectsReadOnly SideEffects = "read-only"
	// SideEffectsAll: every tool may be called. For servers on test data.
	SideEffectsAll SideEffects = "all"
)

// Suite is a part of the checks.
type Suite string

// The suites.
const (
	// SuiteProtocol judges what the specification says.
	SuiteProtocol Suite = "protocol"
	// SuiteSeeds judges the 29 tools of the families artifact, coe, docling,
	// preflights and assistant, which the reference server offers.
	SuiteSeeds Suite = "seeds"
)

// Scenario is one conversation with a server and the checks it decides.
type Scenario struct {
	// ID never changes. Its checks are named ID or ID/word.
	ID string
	// Area groups scenarios in the report.
	Area string
	// Title says what the scenario looks at.
	Title string
	// Since and Until bound the revisions the scenario applies to, both
	// included; empty means no bound.
	Since, Until mcp.Version
	// Needs gates the scenario on what the subject offers.
	Needs Needs
	// Checks are all checks the scenario decides. One it leaves undecided is
	// reported as unknown.
	Checks []Check

	// Run has the conversation and decides the checks. Its error, the end of the server
	// or of the time, leaves those that are not decided unknown.
	Run func(t *Trial) error
	// Last: it judges what was seen in all others, and runs after them.
	Last bool
	// Source is what Run works through, where that is data.
	Source any
}

// Suite returns the suite that the scenario belongs to.
func (sc *Scenario) Suite() Suite {
	if sc.Needs.Family != "" {
		return SuiteSeeds
	}
	return SuiteProtocol
}

// Needs is what a subject must offer for a scenario to run.
type Needs struct {
	// Transport is the only transport the scenario is about; empty for all.
	Transport wire.TransportKind
	// Capability is a path into the server's capabilities, such as "tools".
	Capability string
	// Extension is the id of an extension in the server's capabilities.
	Extension string
	// Family is the error profile that announces the tools: a server that
	// declares it and does not list them fails. [AnyFamily] stands for each.
	Family string
	// Tools are the tools called, by name.
	Tools []string
	// SideEffects is what calling them does.
	SideEffects SideEffects
	// Process: the server is a program the suite starts, stops, and whose
	// standard error it reads.
	Process bool
	// Artifacts: the suite can look at the folder the server stores in.
	Artifacts bool
	// Checklists: the suite chooses the folder of the server's checklists.
	Checklists bool
	// Services: the suite plays the REST services of the server, so that it sees
	// what they are asked and can have them fail.
	Services bool
	// REST: the suite can reach the REST services of the server.
	REST bool
	// Control is a switch no subject offers yet, such as "a clock".
	Control string
}

// AnyFamily is the family of scenarios about whichever families a server declares.
const AnyFamily = "*"

// SeenPrefix begins the ids of the scenarios that send nothing of their own and
// judge what was seen in all others: they say nothing when they run alone.
const SeenPrefix = "SEEN-"
