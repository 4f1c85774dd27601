package clientsuite

import (
	"fmt"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/faults"
)

const faultArea = "faults"

// expectation is what a call behind a fault must come to.
type expectation byte

const (
	nothing expectation = iota // no answer came: no result may be reported
	answer                     // the right answer came, in an odd way
	either
)

// faulty is a form of a fault that a scenario puts before one tool.
type faulty struct {
	fault, variant string
	want           expectation
	// spent: nothing is asked of the calls behind it, since what the fault broke,
	// a process or a limit, stays broken.
	spent bool
}

// matrix is the part of the fault matrix that any client can be judged by:
// what it must not do, and what it must get over. The rest of the catalogue asks
// for policies that clients need not have.
var matrix = []faulty{
	{fault: "B1"},
	{fault: "B4"},
	{fault: "B6", variant: "reset"},
	{fault: "B6", variant: "chunk"},
	{fault: "B6", variant: "short"},
	{fault: "B9"},
	{fault: "B10", variant: "200"},
	{fault: "B10", variant: "204"},
	{fault: "B10", variant: "202"},
	{fault: "B11", variant: "302"},
	{fault: "B11", variant: "303"},
	{fault: "B14"},
	{fault: "B15"},
	{fault: "B16"},
	{fault: "B19", variant: "405"},
	{fault: "B19", variant: "415"},
	{fault: "B20", variant: "408"},
	{fault: "B20", variant: "409"},
	{fault: "B20", variant: "413"},
	{fault: "B21", spent: true},
	{fault: "B22", variant: "huge", spent: true},
	{fault: "B22", variant: "text", spent: true},
	{fault: "B23", variant: "bare"},
	{fault: "B23", variant: "-32603"},
	{fault: "B24", variant: "502"},
	{fault: "B24", variant: "503"},
	{fault: "B24", variant: "504"},
	{fault: "C1"},
	{fault: "C3"},
	{fault: "C4"},
	{fault: "C6"},
	{fault: "C8", variant: "lf", want: answer},
	{fault: "C8", variant: "crlf", want: answer},
	{fault: "C8", variant: "split", want: answer},
	{fault: "D1", variant: "then-good", want: either},
	{fault: "D2", variant: "then-good", want: either},
	{fault: "D3", variant: "then-good", want: either},
	{fault: "D4", want: either},
	{fault: "D7", variant: "neither"},
	{fault: "D14", variant: "notification", want: answer},
	{fault: "E3", variant: "banner", want: answer},
	{fault: "E3", variant: "blank", want: answer},
	{fault: "E15", want: answer},
	{fault: "E5", spent: true},
	{fault: "E6", variant: "answer", spent: true},
	{fault: "E7", spent: true},
	{fault: "E8", want: either, spent: true},
	{fault: "E10", spent: true},
}

// faultScenarios put each of them before the tool write, for every call of it.
func faultScenarios() []scenario {
	out := make([]scenario, 0, len(matrix))
	for _, f := range matrix {
		known, _ := faults.Find(f.fault)
		id, title := f.fault, known.Title
		if f.variant != "" {
			id, title = id+"-"+f.variant, title+": "+f.variant
		}
		rule := row(f.fault)
		sc := scenario{
			id: "C-FAULT-" + strings.ToUpper(id), area: faultArea, title: title,
			checks: []check{
				should("C-"+id+"/told", "the caller is told what came of the call", rule),
				should("C-"+id+"/once", "a call that may have run is not sent again", rule),
				should("C-"+id+"/bounded", "there is no storm of requests", rule),
			},
			play: func(t *trial) { t.behind(f, "C-"+id) },
		}
		if !f.spent {
			sc.checks = append(sc.checks, should("C-"+id+"/next", "the next call is served", rule))
		}
		if !known.Made(faults.Stream) {
			sc.transport = conformance.TransportHTTP
		} else if !known.Made(faults.HTTP) {
			sc.transport = conformance.TransportStdio
		}
		out = append(out, sc)
	}
	return out
}

// stormLimit is how many requests for one call are too many for any policy in
// the time they have.
const stormLimit = 8

// behind has the client call write behind the fault, and then echo.
func (t *trial) behind(f faulty, id string) {
	rule := faults.Rule{
		Fault: f.fault, Variant: f.variant, When: faults.Selector{Methods: []string{"tools/call"}, Tools: []string{"write"}},
		For: faults.Duration(20 * time.Second),
	}
	if strings.HasPrefix(f.fault, "B2") {
		rule.For = faults.Duration(time.Second) // a Retry-After
	}
	proxy, err := faults.New(faults.Plan{Rules: []faults.Rule{rule}})
	if err != nil {
		t.err = err
		return
	}
	t.proxy = proxy
	t.do(call("write", `{"text":"pay"}`).within(2*time.Second), call("echo", `{"text":"next"}`).within(5*time.Second))
	attempts, given, delivered := 0, 0, false
	for _, c := range proxy.History() {
		if c.Tool != "write" {
			continue
		}
		attempts++
		if c.Sent {
			given++
		}
		delivered = delivered || c.Delivered
	}
	if !t.needs(attempts > 0, "write was not called") {
		return
	}
	t.check(id+"/once", given <= 1, "given to the server once at most", "%d times", given)
	t.check(id+"/bounded", attempts <= stormLimit, fmt.Sprintf("at most %d requests", stormLimit), "%d", attempts)
	switch f.want {
	case nothing:
		t.told(id+"/told", 0, Line.failed, "no result")
	case answer:
		t.told(id+"/told", 0, says("pay"), wantsText("pay"))
	default:
		t.told(id+"/told", 0, func(l Line) bool { return l.failed() || textOf(l) == "pay" && delivered }, "the right result, or none")
	}
	if !f.spent {
		t.told(id+"/next", 1, says("next"), wantsText("next"))
	}
}
