package engine

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Suite is a set of scenarios, with what they need around the server.
type Suite struct {
	// Scenarios are in the order of a report.
	Scenarios []Scenario
	// Environment, when set, prepares the surroundings of a server for one revision, after
	// its tools were listed.
	Environment func(r *RevisionRun) (Environment, error)
	// MaxRequest is the size of the largest request in bytes; 0 means 8 MiB.
	MaxRequest int
}

// Environment is what scenarios need around a server, such as folders and services.
type Environment interface {
	// Environ returns settings as KEY=value for a program that is started for scenarios
	// that need a fixture; "" is for those that need none.
	Environ(fixture string) []string
	// Lacks names what is missing for a fixture; empty if nothing is.
	Lacks(fixture string) string
	// Close releases everything.
	Close()
}

// emptyEnvironment has no fixture.
type emptyEnvironment struct{}

// Environ implements Environment.
func (emptyEnvironment) Environ(string) []string { return nil }

// Lacks implements Environment.
func (emptyEnvironment) Lacks(fixture string) string { return fixture }

// Close implements Environment.
func (emptyEnvironment) Close() {}

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
	Checks []conformance.Check

	// Run has the conversation and decides the checks. An error, such as the end of the
	// server or of the time, stops it ([Trial.NoError]): open checks are inconclusive.
	Run func(t *Trial)
	// Last: it judges what was seen in all others, and runs after them.
	Last bool
	// Source is what Run works through, where that is data.
	Source any
}

// Suite returns the suite that the scenario belongs to.
func (sc *Scenario) Suite() conformance.Suite {
	if sc.Needs.Family != "" {
		return conformance.SuiteSeeds
	}
	return conformance.SuiteProtocol
}

// Needs is what a subject must offer for a scenario to run.
type Needs struct {
	// Transport is the only transport the scenario is about; empty for all.
	Transport conformance.TransportKind
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
	SideEffects conformance.SideEffects
	// Process: the server is a program the suite starts, stops, and whose
	// standard error it reads.
	Process bool
	// Fixture names a part of the suite's [Environment]; empty for none.
	Fixture string
	// Control is a switch no subject offers yet, such as "a clock".
	Control string
}

// AnyFamily is the family of scenarios about whichever families a server declares.
const AnyFamily = "*"
