package mutants

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Rig starts the server that is made wrong, once for each mutant.
type Rig struct {
	// HTTP returns the server as a handler of all its paths.
	HTTP func(ctx context.Context) (server http.Handler, stop func(), err error)
	// Stdio returns the server as a function.
	Stdio func(ctx context.Context) (server Serve, stop func(), err error)
	// Path is where the endpoint is over HTTP.
	Path string
}

// Finding is the first check that noticed a mutant.
type Finding struct {
	Check    string
	Revision mcp.Version
	Status   conformance.Status
	Actual   string
}

// Detector runs the suite of this project against mutants.
type Detector struct {
	Rig Rig
	// Answer is how long the suite waits for one answer.
	Answer time.Duration
}

// key is a check in one revision.
type key struct {
	check    string
	revision mcp.Version
}

// Baseline is what does not hold for the server without a defect. What it has no
// occasion for, such as a rule about something it declares, is not in it: a
// mutant that gives the occasion and breaks the rule is noticed.
type Baseline map[key]bool

// Clean runs the suite, or only the checks named, on the server as it is, where m
// is judged. A check that does not hold for it detects nothing.
func (d Detector) Clean(ctx context.Context, m Mutant, only ...string) (Baseline, error) {
	broken := Baseline{}
	err := d.run(ctx, Mutant{ID: "sound", Transport: m.Transport, Revisions: m.Revisions, plant: sound}, only, func(r conformance.Result) bool {
		switch r.Status {
		case conformance.Fail, conformance.Warn, conformance.Inconclusive, conformance.Error:
			broken[key{r.ID, r.Revision}] = true
		case conformance.Pass, conformance.Skip:
		}
		return true
	})
	return broken, err
}

// suspects is how many checks that were not answered in time are asked again.
const suspects = 3

// Judge runs the suite, or only the checks named, on a mutant until a check does
// not hold that nothing is wrong with for the server as it is. What is late over
// HTTP may be the machine's: it counts when the check, asked alone, holds for the
// server as it is and is late for the mutant once more. The finding is nil when
// there is none: the mutant survives.
func (d Detector) Judge(ctx context.Context, m Mutant, clean Baseline, only ...string) (*Finding, error) {
	found, late, err := d.look(ctx, m, clean, only)
	if found != nil || err != nil {
		return found, err
	}
	for _, suspect := range late[:min(len(late), suspects)] {
		again, err := d.Clean(ctx, m, suspect.Check)
		if err != nil {
			return nil, err
		}
		if again[key{suspect.Check, suspect.Revision}] {
			continue
		}
		firm, once, err := d.look(ctx, m, again, []string{suspect.Check})
		switch {
		case err != nil || firm != nil:
			return firm, err
		case len(once) > 0:
			return &once[0], nil
		}
	}
	return nil, nil //nolint:nilnil // no finding is an outcome
}

// look runs the suite on a mutant until a check notices it; late are the checks
// that would have, were it not for their patience.
func (d Detector) look(ctx context.Context, m Mutant, clean Baseline, only []string) (found *Finding, late []Finding, err error) {
	err = d.run(ctx, m, only, func(r conformance.Result) bool {
		if r.Status != conformance.Fail && r.Status != conformance.Warn || clean[key{r.ID, r.Revision}] {
			return true
		}
		f := Finding{r.ID, r.Revision, r.Status, r.Actual}
		if m.Transport == HTTP && strings.Contains(r.Actual, "no answer in ") {
			late = append(late, f)
			return true
		}
		found = &f
		return false
	})
	return found, late, err
}

// heavy are checks with messages of many megabytes: what a proxy that reads every
// message makes of them is no news of the server.
var heavy = []string{"RPC-22/*"}

// First returns the areas that a mutant is expected to be noticed in: those of
// its family, or those of the protocol. Asking them first saves most of the work.
func First(m Mutant) []string {
	family := map[string][]string{
		"S0-VAL": {"validate_artifact"}, "S0-STORE": {"store_artifact"}, "S0-APPROVE": {"approve_artifact"},
		"S0-ADD": {"add_task"}, "S0-NEXT": {"ids"}, "S0-RES": {"ids"}, "S1": {"coe"},
		"S2": {"docling"}, "S3": {"preflights"}, "S4": {"assistant"},
	}
	areas := map[string]bool{}
	for _, s := range familychecks.Suite().Scenarios {
		areas[s.Area] = true
	}
	wanted := []string{"lifecycle", "base", "errors", "tools", "resources", "prompts", "utilities", "content", "input", "subscriptions", "logging", "caching", "concurrency", "http", "stdio"}
	for prefix, of := range family {
		if strings.HasPrefix(m.Breaks, prefix) {
			wanted = of
		}
	}
	return slices.DeleteFunc(wanted, func(area string) bool { return !areas[area] })
}

// run judges one server; seen gets the results until it returns false.
func (d Detector) run(ctx context.Context, m Mutant, only []string, seen func(conformance.Result) bool) error {
	subject, stop, err := d.subject(ctx, m)
	if err != nil {
		return fmt.Errorf("%s: %w", m.ID, err)
	}
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	enough := false
	_, err = engine.Run(ctx, subject, suite(), conformance.Options{
		Revisions: m.Revisions, Only: only, Skip: heavy, Answer: d.Answer, SideEffects: conformance.SideEffectsAll,
		OnResult: func(r conformance.Result) {
			if !enough && !seen(r) {
				enough = true
				cancel()
			}
		},
	})
	if enough && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// suite is that of the families. What a mutant does not answer counts on a busy machine, too.
func suite() engine.Suite {
	all := familychecks.Suite()
	all.Starvation = func() float64 { return 1 }
	return all
}

// subject is the mutant as the suite takes it.
func (d Detector) subject(ctx context.Context, m Mutant) (conformance.Subject, func(), error) {
	if m.Transport == Stdio {
		server, stop, err := d.Rig.Stdio(ctx)
		if err != nil {
			return nil, nil, err
		}
		return conformance.InProcess(wire.Serve(m.Serve(server))), stop, nil
	}
	url, stop, err := d.Rig.Listen(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	return conformance.URL(url, nil), stop, nil
}

// Listen serves a mutant over HTTP and returns the address of its endpoint.
func (r Rig) Listen(ctx context.Context, m Mutant) (url string, stop func(), err error) {
	server, end, err := r.HTTP(ctx)
	if err != nil {
		return "", nil, err
	}
	s := httptest.NewServer(m.Handler(server))
	return s.URL + r.Path, func() {
		s.CloseClientConnections() // streams that nobody ends
		s.Close()
		end()
	}, nil
}
