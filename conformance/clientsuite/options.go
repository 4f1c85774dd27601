package clientsuite

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Defaults of [Options].
const (
	defaultTimeout  = 40 * time.Second
	defaultParallel = 4
)

// Program is a client under test. Make one with [Command].
type Program = trial.Program

// Command returns the client that argv starts. In its arguments {url} becomes the URL of
// the server, or over stdio {command} its command: a separate argument becomes the words of
// the command, and within a longer one the command is quoted for a shell. Without a mark
// the URL or the command is appended. env is the whole environment; nil means that of this
// process.
func Command(argv, env []string) Program { return trial.Command(argv, env) }

// Bridge is the program of [Options.Bridge], which a client under test starts as its
// server. operand is the last argument of the process. Bridge copies the streams of the
// process to the suite and reports its signals. It returns the exit status when the suite
// ends the program or the run. Call it once in a process, then exit.
//
// # Experimental
func Bridge(operand string) int { return peer.Bridge(operand) }

// List returns all checks, in the order of a report.
func List() []conformance.Listed {
	var out []engine.Scenario
	for _, sc := range client.Scenarios() {
		out = append(out, sc.Conformance())
	}
	return engine.List(conformance.RoleClient, out)
}

// Options configure a run. The zero value judges a client over HTTP, in the newest revision
// of each era that it speaks.
type Options struct {
	// Transport is HTTP when empty.
	Transport conformance.TransportKind
	// Revisions are judged one after another. The client must offer each: if it offers an
	// older one, that check is inconclusive, and if it does not speak one, nothing else is
	// judged in it. Empty means the newest of each era that the client speaks.
	Revisions []mcp.Version
	// Only and Skip select checks by id, scenario or area; "*" matches any characters. An
	// empty Only selects all. A pattern that matches nothing is an error.
	Only, Skip []string
	// Timeout bounds one run of the client: 40 s when 0. Parallel is how many scenarios
	// run at once: 4 when 0.
	Timeout  time.Duration
	Parallel int
	// Expected are the known failures.
	Expected conformance.Expectations
	// Repeat is the number of runs; the worst outcome of a check counts. Zero means one.
	Repeat int
	// Strict makes a broken recommendation fail the run.
	Strict bool
	// Bridge is the command that calls [Bridge] with its last argument. Over stdio a client
	// starts it as its server.
	//
	// # Experimental
	Bridge []string
	// Login: the client opens login pages itself. Without it, logins are judged only for
	// clients that report outcomes, because others may open a browser.
	//
	// # Experimental
	Login bool
	// OnResult, when set, is called with each result, one at a time.
	OnResult func(conformance.Result)
}

func (o *Options) prepare() error {
	o.Transport = cmp.Or(o.Transport, conformance.TransportHTTP)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.Parallel = cmp.Or(o.Parallel, defaultParallel)
	o.Repeat = max(o.Repeat, 1)
	switch o.Transport {
	case conformance.TransportHTTP:
	case conformance.TransportStdio:
		if len(o.Bridge) == 0 {
			return fmt.Errorf("over stdio the suite needs the command of its bridge")
		}
	default:
		return fmt.Errorf("transport %q: http or stdio", o.Transport)
	}
	for _, v := range o.Revisions {
		if err := o.serves(v); err != nil {
			return err
		}
	}
	for _, pattern := range slices.Concat(o.Only, o.Skip) {
		if !known(pattern) {
			return fmt.Errorf("no check matches %q", pattern)
		}
	}
	return engine.Unmatched(o.Expected, conformance.RoleClient, known)
}

// serves returns an error for a revision that the suite does not serve over the transport.
func (o *Options) serves(v mcp.Version) error {
	switch {
	case !v.Known():
		return fmt.Errorf("revision %q: the suite covers revisions %s to %s", v, mcp.Versions()[0], mcp.Latest)
	case o.Transport == conformance.TransportHTTP && !v.AtLeast(mcp.Version2025_03_26):
		return fmt.Errorf("revision %s has no streamable HTTP: test it over stdio", v)
	}
	return nil
}

// known reports whether a pattern matches a check of the suite.
func known(pattern string) bool {
	return slices.ContainsFunc(client.Scenarios(), func(sc trial.Scenario) bool {
		return slices.ContainsFunc(sc.Checks, func(c trial.Check) bool { return matches(pattern, &sc, c.ID) })
	})
}

// selects reports whether a check was asked for.
func (o *Options) selects(sc *trial.Scenario, id string) bool {
	hit := func(pattern string) bool { return matches(pattern, sc, id) }
	if len(o.Only) > 0 && !slices.ContainsFunc(o.Only, hit) {
		return false
	}
	return !slices.ContainsFunc(o.Skip, hit)
}

func matches(pattern string, sc *trial.Scenario, id string) bool {
	return conformance.Match(pattern, id, sc.ID, sc.Area)
}
