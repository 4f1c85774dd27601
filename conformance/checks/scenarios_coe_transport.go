package checks

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"reflect"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func coeTransportScenarios() []conformance.Scenario {
	lines := coeNeeds()
	lines.Transport = wire.TransportStdio
	orchestrated := coeTable("S1-TRANS-07", "a server without an orchestrator", coeReading(toolImmediate),
		step{
			word: "envelope", title: "getNextTask answers ORCHESTRATOR_NOT_INITIALIZED", tool: toolNext,
			want: wants(is("payload.success", false), is("payload.error.code", orchestratorMissing), like("payload.error.message", ".")),
		},
		step{word: "others", title: "other tools still answer", tool: toolImmediate, args: members{"query": plannedQuestion}, want: succeeds(like("payload.answer", "."))},
	)
	orchestrated.suits = func(r *tableRun) (string, error) {
		doc, err := r.prepare(toolNext, members{"filter": "all"})
		if err == nil && textAt(doc, "payload.error.code") != orchestratorMissing {
			return "needs a server started without an orchestrator", nil
		}
		return "", err
	}
	return append(tables(orchestrated),
		conformance.Scenario{
			ID: "S1-TRANS-01", Area: areaCOE, Title: "tools as methods", Needs: coeNeeds(), Until: mcp.LatestSession,
			Checks: []conformance.Check{
				must("S1-TRANS-01", "S1-TRANS-01", "getNextTask as a method is answered with the bare payload"),
				must("S1-TRANS-02/payload", "S1-TRANS-02", "tools/call of the same name gives the same payload"),
				must("S1-TRANS-02/error", "S1-TRANS-02", "and the same error"),
				must("S1-TRANS-02/structured", "S1-TRANS-02", "structuredContent, when there is one, is that payload"),
			},
			Run: runDirect,
		},
		conformance.Scenario{
			ID: "S1-TRANS-01-COLD", Area: areaCOE, Title: "methods without a handshake", Needs: lines, Until: mcp.LatestSession,
			Checks: []conformance.Check{must("S1-TRANS-01/cold", "S1-TRANS-01", "a method is answered on a line, without a handshake before it")},
			Run:    runCold,
		},
		conformance.Scenario{
			ID: "S1-TRANS-04", Area: areaCOE, Title: "text in pieces", Needs: lines,
			Checks: []conformance.Check{must("S1-TRANS-04", "S1-TRANS-04", "a character whose bytes are written apart arrives whole")},
			Run:    runSplitText,
		},
		conformance.Scenario{
			ID: "S1-TICKET-06", Area: areaCOE, Title: "tickets at the same time", Needs: coeNeeds(toolTicket),
			Checks: []conformance.Check{must("S1-TICKET-06", "S1-TICKET-06", "twenty tickets made at once have twenty ids")},
			Run:    runManyTickets,
		},
		conformance.Scenario{
			ID: "S1-ADMIN-01", Area: areaCOE, Title: "tools of administrators", Needs: coeReading(),
			Checks: []conformance.Check{{
				ID: "S1-ADMIN-01", Title: "clearQueue and resetPlan are not listed unless asked for", Level: conformance.Should, House: conformance.Must, Spec: seed("S1-ADMIN-01"),
			}},
			Run: runAdmin,
		},
	)
}

const orchestratorMissing = "ORCHESTRATOR_NOT_INITIALIZED"

func runDirect(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	r := &tableRun{Trial: t, table: &table{}, s: s, kept: map[string]any{"nonce": ""}}
	ask := func(args members, direct bool) (map[string]any, error) {
		return r.exchange(&step{tool: toolNext, args: args, direct: direct})
	}
	bare, err := ask(nil, true)
	if err != nil {
		return err
	}
	t.Check("S1-TRANS-01", meets(bare, is("payload.success", true)), "the payload as the result", "%s", rawjson.Clip(string(rawjson.Encode(bare)), 300))
	wrapped, err := ask(nil, false)
	if err != nil {
		return err
	}
	t.Check("S1-TRANS-02/payload", wrapped["payload"] != nil && reflect.DeepEqual(bare["payload"], wrapped["payload"]), rawjson.Clip(string(rawjson.Encode(bare["payload"])), 200),
		"%s", rawjson.Clip(string(rawjson.Encode(wrapped["payload"])), 200))
	structured, there := wrapped["structured"]
	t.Check("S1-TRANS-02/structured", !there || reflect.DeepEqual(structured, wrapped["payload"]), "the object in the text", "%s", rawjson.Clip(string(rawjson.Encode(structured)), 200))
	bad := members{"filter": "urgent"}
	if bare, err = ask(bad, true); err != nil {
		return err
	}
	if wrapped, err = ask(bad, false); err != nil {
		return err
	}
	t.Check("S1-TRANS-02/error", bare["error"] != nil && numberAt(bare, "error.code") == numberAt(wrapped, "error.code"), rawjson.Clip(string(rawjson.Encode(bare)), 200),
		"%s", rawjson.Clip(string(rawjson.Encode(wrapped)), 200))
	return nil
}

func runCold(t *conformance.Trial) error {
	s, err := t.Raw()
	if err != nil {
		return err
	}
	a, err := s.Request(t.Ctx, toolNext, map[string]any{"filter": "all"})
	if err == nil && usedUp(outcomeOf(a)) {
		return conformance.ErrUsedUp
	}
	t.Check("S1-TRANS-01/cold", err == nil && meets(outcomeOf(a), is("payload.success", true)), "the payload as the result", "%s", a.OrError(err))
	return nil
}

func runSplitText(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	const words = "Größe 日本 🦊"
	id := s.NewID()
	data := append(s.Message(id, mcp.MethodToolsCall, asAgent("conform/split/"+rand.Text()[:8], toolAsk, members{"question": words})), '\n')
	s.Pending[id] = false
	for len(data) > 0 {
		n := 1
		if data[0] < 0x80 {
			n = max(1, bytes.IndexFunc(data, func(r rune) bool { return r >= 0x80 }))
		}
		if err := writeRaw(t, s, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	a, err := s.Await(t.Ctx, id)
	if err != nil {
		return err
	}
	doc := outcomeOf(a)
	if usedUp(doc) {
		return conformance.ErrUsedUp
	}
	got := textAt(doc, "payload.question")
	t.Check("S1-TRANS-04", got == words, words, "%s", a.Describe())
	return nil
}

// ticketsAtOnce is how many tickets are made at the same time.
const ticketsAtOnce = 20

func runManyTickets(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	agent := "conform/tickets/" + rand.Text()[:8]
	var sent []string
	for i := range ticketsAtOnce {
		id, err := s.Post(t.Ctx, mcp.MethodToolsCall, asAgent(fmt.Sprintf("%s/%d", agent, i/conformance.CallsPerAgent), toolTicket, members{"title": fmt.Sprintf("ticket %d", i)}))
		if err != nil {
			return err
		}
		sent = append(sent, id)
	}
	ids := map[string]bool{}
	var bad wire.Answer
	for _, id := range sent {
		a, err := s.Await(t.Ctx, id)
		if err != nil {
			return err
		}
		doc := outcomeOf(a)
		if usedUp(doc) {
			return conformance.ErrUsedUp
		}
		ticket := textAt(doc, "payload.ticket.id")
		if ticket == "" || ids[ticket] {
			bad = a
		}
		ids[ticket] = true
	}
	t.Check("S1-TICKET-06", len(ids) == ticketsAtOnce && bad.Result == nil, "20 different ids", "%d ids, and %s", len(ids), bad.Describe())
	return nil
}

func runAdmin(t *conformance.Trial) error {
	listed := ""
	for _, tool := range t.Rev.Tools {
		if tool.Name == "clearQueue" || tool.Name == "resetPlan" {
			listed = tool.Name
		}
	}
	t.Check("S1-ADMIN-01", listed == "", "neither of them", "%s is listed", listed)
	return nil
}
