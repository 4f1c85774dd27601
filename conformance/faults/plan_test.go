package faults

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParsePlan(t *testing.T) {
	t.Parallel()
	got, err := ParsePlan([]byte(`{"seed":7,"rules":[{"fault":"B21","for":"1m30s","when":{"methods":["tools/call"],"tools":["add"],"skip":2,"nth":3,"count":4,"probability":0.5,"after":"1s","until":"2s"}}]}`))
	require.NoError(t, err)
	want := Plan{Seed: 7, Rules: []Rule{{Fault: "B21", For: Duration(90 * time.Second), When: Selector{
		Methods: []string{"tools/call"}, Tools: []string{"add"}, Skip: 2, Nth: 3, Count: 4, Probability: 0.5,
		After: Duration(time.Second), Until: Duration(2 * time.Second),
	}}}}
	require.Equal(t, want, got)
	for text, why := range map[string]string{
		`{"rules":[{"fault":"B99"}]}`:                                   "no fault is called",
		`{"rules":[{"fault":"E1"}]}`:                                    "not made here",
		`{"rules":[{"fault":"B13","variant":"-1"}]}`:                    "has no variant",
		`{"rules":[{"fault":"B1","unsent":true,"executed":true}]}`:      "exclude each other",
		`{"rules":[{"fault":"B1","for":"-1s"}]}`:                        "times are not negative",
		`{"rules":[{"fault":"B1","for":"soon"}]}`:                       "invalid duration",
		`{"rules":[{"fault":"B1","size":-1}]}`:                          "between 0 and",
		`{"rules":[{"fault":"D16","repeat":99999999999}]}`:              "between 0 and",
		`{"rules":[{"fault":"B12","status":7}]}`:                        "not an HTTP status",
		`{"rules":[{"fault":"B1","when":{"probability":1.5}}]}`:         "probability",
		`{"rules":[{"fault":"B1","when":{"count":-1}}]}`:                "not negative",
		`{"rules":[{"fault":"B1","when":{"after":"2s","until":"1s"}}]}`: "until is later",
		`{"rules":[{"fault":"B1","when":{"tools":[""]}}]}`:              "have names",
		`{"rules":[{"fault":"A2","when":{"tools":["pay"]}}]}`:           "before there is a message",
		`{"rules":[{"fault":"E2","when":{"methods":["ping"]}}]}`:        "before there is a message",
		`{"rules":[{"fault":"B1","whenever":{}}]}`:                      "unknown field",
		`{"rules":[]} {}`: "after the plan",
		``:                "plan of faults",
	} {
		_, err := ParsePlan([]byte(text))
		require.ErrorContains(t, err, why, text)
	}
	require.Error(t, Plan{Rules: []Rule{{Fault: "B1", When: Selector{Probability: math.NaN()}}}}.check())
	_, err = New(Plan{Rules: []Rule{{Fault: "B99"}}})
	require.Error(t, err)
}

// hits are the calls, of ten, that the rule hits.
func hits(t *testing.T, seed uint64, when Selector, e event) (all []int) {
	t.Helper()
	p, err := New(Plan{Seed: seed, Rules: []Rule{{Fault: "B1", When: when}}})
	require.NoError(t, err)
	for i := range 10 {
		if p.match(e) != nil {
			all = append(all, i)
		}
		<-time.After(time.Second)
	}
	return all
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	a := event{carrier: HTTP, method: "tools/call", tool: "add", request: true}
	ping := event{carrier: HTTP, method: "ping", request: true}
	told := event{carrier: HTTP, method: "notifications/initialized"}
	every := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, tt := range []struct {
		name string
		when Selector
		of   event
		want []int
	}{
		{"all", Selector{}, a, every},
		{"no notification unless named", Selector{}, told, nil},
		{"a notification that is named", Selector{Methods: []string{"notifications/initialized"}}, told, every},
		{"another method", Selector{Methods: []string{"ping"}}, a, nil},
		{"a tool", Selector{Tools: []string{"sub", "add"}}, a, every},
		{"another tool", Selector{Tools: []string{"sub"}}, a, nil},
		{"a tool is no ping", Selector{Tools: []string{"add"}}, ping, nil},
		{"skip", Selector{Skip: 7}, a, []int{7, 8, 9}},
		{"nth", Selector{Nth: 3}, a, []int{2, 5, 8}},
		{"nth behind skip", Selector{Skip: 1, Nth: 4}, a, []int{4, 8}},
		{"count", Selector{Count: 2}, a, []int{0, 1}},
		{"nth and count", Selector{Nth: 2, Count: 2}, a, []int{1, 3}},
		{"after", Selector{After: Duration(8 * time.Second)}, a, []int{8, 9}},
		{"until", Selector{Until: Duration(3 * time.Second)}, a, []int{0, 1, 2}},
		{"another carrier", Selector{}, event{carrier: Stream, method: "ping", request: true}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) { require.Equal(t, tt.want, hits(t, 1, tt.when, tt.of)) })
		})
	}
	bubble(t, func(t *testing.T) {
		half := Selector{Probability: 0.5}
		one := hits(t, 1, half, a)
		require.Equal(t, one, hits(t, 1, half, a), "the same seed, the same faults")
		require.NotEqual(t, one, hits(t, 2, half, a))
		require.NotEmpty(t, one)
		require.Less(t, len(one), 10)
	})
}

// The first rule that matches acts, and no other counts.
func TestRulesInOrder(t *testing.T) {
	t.Parallel()
	p, err := New(Plan{Rules: []Rule{{Fault: "B14", When: Selector{Count: 1}}, {Fault: "B16", When: Selector{Skip: 1}}}})
	require.NoError(t, err)
	e := event{carrier: HTTP, method: "ping", request: true}
	var got []string
	for range 4 {
		if h := p.match(e); h != nil {
			got = append(got, h.Fault)
		} else {
			got = append(got, "")
		}
	}
	require.Equal(t, []string{"B14", "", "B16", "B16"}, got)
}

func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(`{"seed":7,"rules":[{"fault":"B21","for":"1m30s","when":{"nth":3,"probability":0.5}}]}`))
	f.Add([]byte(`{"rules":[{"fault":"D1","variant":"only","unsent":true,"size":9,"text":"x"}]}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePlan(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(p)
		require.NoError(t, err)
		again, err := ParsePlan(text)
		require.NoError(t, err, "what is written can be read")
		if len(p.Rules) > 0 {
			require.Equal(t, p.Rules, again.Rules)
		}
		_, err = New(p)
		require.NoError(t, err)
	})
}

// FuzzMessages: what a client or a server writes does not break the proxy.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(call(1)), []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}`))
	f.Add([]byte(`[{"id":1,"method":"x"}]`), []byte(`null`))
	f.Add([]byte(`[{"id":1,"m`), []byte(`[[`)) // once, this did not end
	f.Fuzz(func(t *testing.T, req, answer []byte) {
		m, ctx := parse(req), t.Context()
		preview(req)
		for _, part := range []func() map[string]script{scriptsMCP, scriptsRPC, scriptsStream} {
			for id, s := range part() {
				fault, _ := Find(id)
				for _, form := range append(fault.Variants, "") {
					if s.tell == nil || id == "D5" || id == "D6" || id == "F9" || id == "F15" {
						continue // these wait
					}
					p := &Proxy{now: newPeriod(Plan{})}
					x := &exchange{
						hit:   &hit{Rule: Rule{Fault: id, Size: 9, Repeat: 3}, form: form, period: p.now},
						proxy: p, req: m, answer: answer, ctx: ctx,
					}
					for range s.pieces(x) {
					}
				}
			}
		}
	})
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte("{\"pid\":1,\"event\":\"start\"}\n{\"pid\":1,\"call\":{\"seq\":1}}\n{\"pid\":1,\"rule\":{\"index\":0,\"seen\":2}}\n{\"pi"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if j, err := parseJournal(data); err == nil {
			require.GreaterOrEqual(t, j.Starts, 0)
		}
	})
}
