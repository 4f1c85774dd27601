package coe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// burst is how many calls an agent may make in a second.
const burst = 10

// A burst proves nothing when it takes too long: the window of a second slides on.
// It is tried again then, with another agent.
const (
	burstTime  = 900 * time.Millisecond
	burstTries = 4
)

func coeLimitScenarios() []engine.Scenario {
	overHTTP := coeReading()
	overHTTP.Transport = conformance.TransportHTTP
	return []engine.Scenario{
		{ID: "S1-RATE-03", Needs: coeNeeds(ToolTicket), Run: runBurst},
		{ID: "S1-RATE-04", Needs: overHTTP, Run: runRateHeaders},
		controlled("S1-RATE-01", "a clock"),
		controlled("S1-RATE-02", "a clock"),
		controlled("S1-RATE-05", "a clock"),
		controlled("S1-ASK-10", "a clock"),
		controlled("S1-IMM-04", "a look into the server"),
		controlled("S1-OBS-06", "the server's database"),
		controlled("S1-SEC-01", "an agent with the permission to read only"),
		controlled("S1-NEXT-13", "a run that measures"),
		controlled("S1-PERF-01", "a run that measures"),
	}
}

// controlled is a requirement of the family that no subject offers the means to
// judge.
func controlled(id, control string) engine.Scenario {
	needs := coeReading()
	needs.Control = control
	return engine.Scenario{ID: id, Needs: needs}
}

// asAgent returns the parameters of a call as an agent.
func asAgent(agent, name string, arguments table.Members) map[string]any {
	params := engine.CallParams(name, arguments)
	params["_meta"] = map[string]any{"agentName": agent}
	return params
}

func runBurst(t *engine.Trial) {
	s := t.Shared()
	var took time.Duration
	for range burstTries {
		if took = tryBurst(t, s); took <= burstTime {
			return
		}
	}
	t.Stop(fmt.Errorf("%d calls took %s: too long for a burst", burst+2, took))
}

// tryBurst calls too often and judges what came of it, unless it took too long.
func tryBurst(t *engine.Trial, s *wire.Session) time.Duration {
	agent := "conform/burst/" + rand.Text()[:8]
	start := time.Now()
	answers := make([]wire.Answer, burst+1)
	for i := range answers {
		var err error
		answers[i], err = s.Request(t.Ctx, mcp.MethodToolsCall, asAgent(agent, ToolNext, table.Members{}))
		t.NoError(err)
		if table.UsedUp(table.Outcome(answers[i])) {
			t.Stop(engine.ErrUsedUp)
		}
	}
	late, err := s.Request(t.Ctx, mcp.MethodToolsCall, asAgent(agent, ToolTicket, table.Members{"title": "too many"}))
	t.NoError(err)
	took := time.Since(start)
	if took > burstTime {
		return took
	}
	tenth, last := answers[burst-1], answers[burst]
	t.Check("S1-RATE-03/ten", tenth.Err == nil, "a result", "%s", tenth.Describe())
	t.Check("S1-RATE-03/refused", last.HasCode(nil, http.StatusTooManyRequests), "error 429", "%s", last.Describe())
	data, _ := table.Lookup(table.Outcome(last), "error.data")
	t.Check("S1-RATE-03/data", table.TextAt(data, "scope") == "burst" && table.NumberAt(data, "limit") == burst && meets(data, table.Is("remaining", 0)) && table.NumberAt(data, "reset") > 0 && table.NumberAt(data, "retry_after_seconds") >= 1,
		"limit 10, remaining 0, reset, retry_after_seconds of 1 or more, scope burst", "%s", rawjson.Clip(string(rawjson.Encode(data)), 200))
	doc := table.Outcome(late)
	t.Check("S1-RATE-03/envelope", table.TextAt(doc, "payload.error.code") == "RATE_LIMIT" && table.NumberAt(doc, "payload.error.retry_after_seconds") >= 1,
		"RATE_LIMIT with retry_after_seconds of 1 or more", "%s", late.Describe())
	r := &table.Run{Trial: t, Table: &table.Table{}, Session: s}
	want, fault := r.Judge(&table.Step{Want: graded("MEDIUM", true, "P2_DELAYED", "WARN")}, doc)
	t.Check("S1-ERR-04/rate", fault == "", want, "%s", fault)
	t.Step(s)
	other, err := s.Request(t.Ctx, mcp.MethodToolsCall, asAgent(agent+"/other", ToolNext, table.Members{}))
	t.NoError(err)
	t.Check("S1-RATE-07", other.Err == nil, "a result", "%s", other.Describe())
	return took
}

// meets reports whether a document holds an expectation on its own.
func meets(doc any, e table.Expectation) bool {
	v, there := table.Lookup(doc, e.Path)
	return e.Holds(v, there, nil)
}

func runRateHeaders(t *engine.Trial) {
	s := t.Shared()
	agent := "conform/headers/" + rand.Text()[:8]
	call := func() http.Header {
		id := s.NewID()
		a, err := talk.ExchangeHTTP(t, s, http.MethodPost, s.Message(id, mcp.MethodToolsCall, asAgent(agent, ToolNext, table.Members{})), nil)
		t.NoError(err)
		return a.Header
	}
	remaining := func(h http.Header) int {
		n, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
		if err != nil {
			return -1
		}
		return n
	}
	_, err := t.Call(s, ToolNext, table.Members{})
	t.NoError(err) // such as that the limit on all agents is used up
	first := call()
	t.Check("S1-RATE-04/limit", first.Get("X-RateLimit-Limit") == "100", "100", "%q", first.Get("X-RateLimit-Limit"))
	reset, err := strconv.ParseInt(first.Get("X-RateLimit-Reset"), 10, 64)
	t.Check("S1-RATE-04/reset", err == nil && reset >= time.Now().Unix() && reset <= time.Now().Add(2*time.Minute).Unix(), "a Unix time within the next minute", "%q", first.Get("X-RateLimit-Reset"))
	second := call()
	t.Check("S1-RATE-04/remaining", remaining(first) > 0 && remaining(second) == remaining(first)-1, "one less than before", "%q, then %q",
		first.Get("X-RateLimit-Remaining"), second.Get("X-RateLimit-Remaining"))
	var refused []http.Header
	status := 0
	for range burstTries {
		refused, status, err = flood(t, s, agent)
		if err == nil && len(refused) > 1 {
			break
		}
	}
	t.NoError(err)
	after, err := strconv.Atoi(lastOf(refused).Get("Retry-After"))
	t.Check("S1-RATE-04/retry-after", err == nil && after >= 1 && status == http.StatusOK, "Retry-After of 1 or more with status 200", "%d refused, status %d", len(refused), status)
	t.Check("S1-RATE-06", len(refused) > 1 && remaining(refused[0]) == remaining(lastOf(refused)) && remaining(refused[0]) >= 0, "the same number after each refusal", "%q, then %q",
		firstOf(refused).Get("X-RateLimit-Remaining"), lastOf(refused).Get("X-RateLimit-Remaining"))
}

// flood makes more calls at once than an agent may make in a second. It returns the
// headers of those that were refused, and the status of the last of them. It fails when
// none was and the calls took too long to tell why.
func flood(t *engine.Trial, s *wire.Session, agent string) (refused []http.Header, status int, _ error) {
	w, err := talk.HTTPOf(s)
	if err != nil {
		return nil, 0, err
	}
	t.Step(s)
	ctx, cancel := context.WithTimeout(t.Ctx, s.Timeout)
	defer cancel()
	answers, failures := make([]*wire.HTTPAnswer, burst+2), make([]error, burst+2)
	start := time.Now()
	var calls sync.WaitGroup
	for i := range answers {
		body := s.Message(s.NewID(), mcp.MethodToolsCall, asAgent(agent, ToolNext, table.Members{}))
		calls.Go(func() { answers[i], failures[i] = w.Do(ctx, http.MethodPost, body, nil) })
	}
	calls.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, 0, err
	}
	for _, a := range answers {
		if a.Header.Get("Retry-After") != "" {
			refused, status = append(refused, a.Header), a.Status
		}
	}
	if took := time.Since(start); len(refused) == 0 && took > burstTime {
		return nil, 0, fmt.Errorf("%d calls took %s: too long for a burst", len(answers), took)
	}
	return refused, status, nil
}

// firstOf is the first of some, lastOf the last; empty for none.
func firstOf(all []http.Header) http.Header {
	if len(all) == 0 {
		return http.Header{}
	}
	return all[0]
}

func lastOf(all []http.Header) http.Header {
	if len(all) == 0 {
		return http.Header{}
	}
	return all[len(all)-1]
}
