package engine

import (
	"cmp"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Suite is a set of scenarios, with their environment.
type Suite struct {
	// Scenarios are in the order of a report.
	Scenarios []Scenario
	// Environment, when set, prepares the surroundings of a server for one revision, after
	// its tools were listed.
	Environment func(r *RevisionRun) (Environment, error)
	// RefusesArgument reports whether an answer refuses an argument in the form of the
	// error profile of a tool. If it is nil, every refusal of a tool with a profile counts.
	RefusesArgument func(profile string, a wire.Answer) bool
	// MaxRequest is the size of the largest request in bytes; 0 means 8 MiB.
	MaxRequest int
	// Starvation, if set, measures the machine instead of [wire.Starvation].
	Starvation func() float64
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
	// Suite names a set of scenarios that servers opt into, with an error profile that
	// they declare; empty means [SuiteProtocol].
	Suite string
	// Title describes what the scenario judges.
	Title string
	// Since and Until bound the revisions the scenario applies to, both
	// included; empty means no bound.
	Since, Until mcp.Version
	// Needs gates the scenario on what the subject offers.
	Needs Needs
	// Starts is about how many programs the scenario starts for itself.
	Starts int
	// Checks are all checks the scenario decides. One it leaves undecided is
	// reported as inconclusive.
	Checks []Check

	// Run has the conversation and decides the checks. An error, such as the end of the
	// server or of the time, stops it ([Trial.NoError]): open checks are inconclusive.
	Run func(t *Trial)
	// Gentle: it sends only what a careful client sends, or asks [Trial.MayProvoke] first. Other
	// scenarios are not part of a gentle run.
	Gentle bool
	// Last: it judges the traffic of all others, and runs after them.
	Last bool
	// After is the id of a scenario that this one learns from, and runs after; "" for none.
	After string
	// Source is the data that Run plays, if any.
	Source any
}

// suite returns the name of the suite that the scenario belongs to.
func (sc *Scenario) suite() string { return cmp.Or(sc.Suite, SuiteProtocol) }

// SuiteProtocol names the scenarios that judge the specification.
const SuiteProtocol = "protocol"

// Check is a check, and for which servers and revisions it has a level of its own.
type Check struct {
	conformance.Check
	// ProfileLevel, when set, is the level for servers that announce error profiles: they
	// promise more than the specification asks for.
	ProfileLevel conformance.Level
	// Since and Until narrow the revisions of the scenario for this check, both included;
	// empty means no narrower bound.
	Since, Until mcp.Version
}

// Needs is what a subject must offer for a scenario to run.
type Needs struct {
	// Transport is the only transport the scenario is about; empty for all.
	Transport conformance.TransportKind
	// Capability is a path into the server's capabilities, such as "tools", or several with
	// "|" between them, of which one is enough.
	Capability string
	// Extension is the id of an extension in the server's capabilities.
	Extension string
	// Profile is the error profile that announces the tools: a server that declares it
	// and does not list them fails. [AnyProfile] means any.
	Profile string
	// Tools are the tools called, by name.
	Tools []string
	// SideEffects is the permission that their calls need.
	SideEffects conformance.SideEffects
	// Process: the server is a program the suite starts, stops, and whose
	// standard error it reads.
	Process bool
	// Fixture names a part of the suite's [Environment]; empty for none.
	Fixture string
	// Control is a switch no subject offers yet, such as "a clock".
	Control string
}

// AnyProfile is the profile of scenarios about every error profile a server declares.
const AnyProfile = "*"
