package clientsuite

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Defaults of [Options].
const (
	DefaultTimeout  = 40 * time.Second
	DefaultParallel = 4
)

// Options are the choices of a run. The zero value judges a client over HTTP in
// the newest revision of each era that it speaks.
type Options struct {
	// Transport is HTTP when empty.
	Transport conformance.TransportKind
	// Revisions are judged one after another. Empty means the newest of each era,
	// without those the client does not speak.
	Revisions []mcp.Version
	// Only and Skip select checks by id, scenario or area; "*" stands for any
	// characters. An empty Only selects all. A pattern that matches nothing is an
	// error.
	Only, Skip []string
	// Timeout bounds one start of the client: 40 s when 0. Parallel is how many
	// scenarios run at once: 4 when 0.
	Timeout  time.Duration
	Parallel int
	// Expected are the outcomes that are known before the run.
	Expected conformance.Expectations
	// Repeat is how often everything runs; the worst outcome of a check counts.
	// Zero means once.
	Repeat int
	// Strict makes a broken recommendation fail the run.
	Strict bool
	// Bridge is the command that calls [Bridge] with its last argument, for stdio:
	// it is what a client starts as its server.
	Bridge []string
	// Login says that the client opens login pages itself, as [Login] says. Without it
	// only clients that report are judged in the area auth: any other may open a browser.
	Login bool
	// OnResult, when set, is called with each result, one at a time.
	OnResult func(conformance.Result)
}

func (o *Options) prepare() error {
	o.Transport = cmp.Or(o.Transport, conformance.TransportHTTP)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Parallel = cmp.Or(o.Parallel, DefaultParallel)
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
		if !v.Known() {
			return fmt.Errorf("revision %q: the suite covers revisions %s to %s", v, mcp.Versions()[0], mcp.Latest)
		}
		if o.Transport == conformance.TransportHTTP && !v.AtLeast(mcp.Version2025_03_26) {
			return fmt.Errorf("revision %s has no streamable HTTP: test it over stdio", v)
		}
	}
	all := registry()
	for _, pattern := range slices.Concat(o.Only, o.Skip) {
		if !slices.ContainsFunc(all, func(sc scenario) bool {
			return slices.ContainsFunc(sc.checks, func(c check) bool { return matches(pattern, &sc, c.ID) })
		}) {
			return fmt.Errorf("no check matches %q", pattern)
		}
	}
	return o.Expected.Unmatched(conformance.RoleClient, func(pattern string) bool {
		return slices.ContainsFunc(all, func(sc scenario) bool {
			return slices.ContainsFunc(sc.checks, func(c check) bool { return matches(pattern, &sc, c.ID) })
		})
	})
}

// selects reports whether a check is asked for.
func (o *Options) selects(sc *scenario, id string) bool {
	hit := func(pattern string) bool { return matches(pattern, sc, id) }
	if len(o.Only) > 0 && !slices.ContainsFunc(o.Only, hit) {
		return false
	}
	return !slices.ContainsFunc(o.Skip, hit)
}

func matches(pattern string, sc *scenario, id string) bool {
	return conformance.Match(pattern, id, sc.id, sc.area)
}
