// Package faults judges a client against a correct server behind each fault of a part of
// the catalogue in conformance/faults.
package faults

import (
	"fmt"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/faults"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Area is the area of these scenarios.
const Area = "faults"

// expectation is what a call behind a fault must report.
type expectation byte

const (
	nothing expectation = iota // no answer arrived: no result
	answer                     // the answer arrived in an odd form: the result
	either
)

// faulty is a form of a fault, before the tool write.
type faulty struct {
	fault, variant string
	want           expectation
	// spent: the calls after it are not judged, because the fault broke a process or a
	// limit.
	spent bool
}

// matrix is the part of the catalogue that any client can be judged by. The rest needs
// policies that clients may not have.
var matrix = []faulty{
	{"B1", "", nothing, false},
	{"B4", "", nothing, false},
	{"B6", "reset", nothing, false},
	{"B6", "chunk", nothing, false},
	{"B6", "short", nothing, false},
	{"B9", "", nothing, false},
	{"B10", "200", nothing, false},
	{"B10", "204", nothing, false},
	{"B10", "202", nothing, false},
	{"B11", "302", nothing, false},
	{"B11", "303", nothing, false},
	{"B14", "", nothing, false},
	{"B15", "", nothing, false},
	{"B16", "", nothing, false},
	{"B19", "405", nothing, false},
	{"B19", "415", nothing, false},
	{"B20", "408", nothing, false},
	{"B20", "409", nothing, false},
	{"B20", "413", nothing, false},
	{"B21", "", nothing, true},
	{"B22", "huge", nothing, true},
	{"B22", "text", nothing, true},
	{"B23", "bare", nothing, false},
	{"B23", "-32603", nothing, false},
	{"B24", "502", nothing, false},
	{"B24", "503", nothing, false},
	{"B24", "504", nothing, false},
	{"C1", "", nothing, false},
	{"C3", "", nothing, false},
	{"C4", "", nothing, false},
	{"C6", "", nothing, false},
	{"C8", "lf", answer, false},
	{"C8", "crlf", answer, false},
	{"C8", "split", answer, false},
	{"D1", "then-good", either, false},
	{"D2", "then-good", either, false},
	{"D3", "then-good", either, false},
	{"D4", "", either, false},
	{"D7", "neither", nothing, false},
	{"D14", "notification", answer, false},
	{"E3", "banner", answer, false},
	{"E3", "blank", answer, false},
	{"E15", "", answer, false},
	{"E5", "", nothing, true},
	{"E6", "answer", nothing, true},
	{"E7", "", nothing, true},
	{"E8", "", either, true},
	{"E10", "", nothing, true},
}

// Scenarios returns a scenario for each row of the matrix, with its checks.
func Scenarios() []trial.Scenario {
	out := make([]trial.Scenario, 0, len(matrix))
	for _, f := range matrix {
		out = append(out, f.scenario())
	}
	return out
}

// scenario has its own texts: the title is that of the catalogue.
func (f faulty) scenario() trial.Scenario {
	known, _ := faults.Find(f.fault)
	id, title := f.fault, known.Title
	if f.variant != "" {
		id, title = id+"-"+f.variant, title+": "+f.variant
	}
	sc := trial.Scenario{
		ID: "C-FAULT-" + strings.ToUpper(id), Area: Area, Title: title,
		Play: func(t *trial.Trial) { f.play(t, "C-"+id) },
	}
	for _, c := range []struct{ word, title string }{
		{"told", "the caller gets the right outcome"},
		{"once", "a call that may have run is not sent again"},
		{"bounded", "there is no storm of requests"},
		{"next", "the next call is served"},
	} {
		if c.word != "next" || !f.spent {
			sc.Checks = append(sc.Checks, trial.Check{Check: engine.Check{Check: conformance.Check{
				ID: "C-" + id + "/" + c.word, Title: c.title, Level: conformance.Should, Spec: conformance.Spec{Requirement: f.fault},
			}}})
		}
	}
	if !known.Made(faults.Stream) {
		sc.Transport = conformance.TransportHTTP
	} else if !known.Made(faults.HTTP) {
		sc.Transport = conformance.TransportStdio
	}
	return sc
}

// stormLimit is more requests for one call than any policy sends in the time.
const stormLimit = 8

// play has the client call write behind the fault, and then echo.
func (f faulty) play(t *trial.Trial, id string) {
	rule := faults.Rule{
		Fault: f.fault, Variant: f.variant, When: faults.Selector{Methods: []string{"tools/call"}, Tools: []string{"write"}},
		For: faults.Duration(20 * time.Second),
	}
	if strings.HasPrefix(f.fault, "B2") {
		rule.For = faults.Duration(time.Second) // a Retry-After
	}
	proxy, err := faults.New(faults.Plan{Rules: []faults.Rule{rule}})
	if err != nil {
		t.Err = err
		return
	}
	t.Proxy = proxy
	t.Do(trial.Within(2*time.Second, trial.Call("write", `{"text":"pay"}`)), trial.Within(5*time.Second, trial.Call("echo", `{"text":"next"}`)))
	attempts, sent, delivered := 0, 0, false
	for _, c := range proxy.History() {
		if c.Tool != "write" {
			continue
		}
		attempts++
		if c.Sent {
			sent++
		}
		delivered = delivered || c.Delivered
	}
	if !t.Needs(attempts > 0, "write was not called") {
		return
	}
	t.Check(id+"/once", sent <= 1, "the server gets it once at most", "%d times", sent)
	t.Check(id+"/bounded", attempts <= stormLimit, fmt.Sprintf("at most %d requests", stormLimit), "%d", attempts)
	t.Reported(id+"/told", 0, f.outcome(delivered))
	if !f.spent {
		t.Reported(id+"/next", 1, trial.Result("next"))
	}
}

// outcome is what the client must report; delivered: an answer arrived.
func (f faulty) outcome(delivered bool) trial.Want {
	switch f.want {
	case nothing:
		return trial.Failed("no result")
	case answer:
		return trial.Result("pay")
	default:
		return trial.Want{Text: "the right result, or none", Ok: func(l trial.Line) bool { return l.Failed() || l.Text() == "pay" && delivered }}
	}
}
