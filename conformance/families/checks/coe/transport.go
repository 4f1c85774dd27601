package coe

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"reflect"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func coeTransportScenarios() []engine.Scenario {
	lines := coeNeeds()
	lines.Transport = conformance.TransportStdio
	return []engine.Scenario{
		{ID: "S1-TRANS-01", Needs: coeNeeds(), Run: runDirect},
		{ID: "S1-TRANS-01-COLD", Starts: 1, Needs: lines, Run: runCold},
		{ID: "S1-TRANS-04", Starts: 1, Needs: lines, Run: runSplitText},
		{ID: "S1-TICKET-06", Needs: coeNeeds(ToolTicket), Run: runManyTickets},
		{ID: "S1-ADMIN-01", Needs: coeReading(), Run: runAdmin},
	}
}

// noOrchestrator keeps a table to servers that were started without an orchestrator.
func noOrchestrator(r *table.Run) (string, error) {
	doc, err := r.Prepare(ToolNext, table.Members{"filter": "all"})
	if err == nil && table.TextAt(doc, "payload.error.code") != "ORCHESTRATOR_NOT_INITIALIZED" {
		return "needs a server started without an orchestrator", nil
	}
	return "", err
}

func runDirect(t *engine.Trial) {
	s := t.Shared()
	r := &table.Run{Trial: t, Table: &table.Table{}, Session: s, Kept: map[string]any{"nonce": ""}}
	ask := func(args table.Members, direct bool) (map[string]any, error) {
		return r.Exchange(&table.Step{Tool: ToolNext, Args: args, Direct: direct})
	}
	bare, err := ask(nil, true)
	t.NoError(err)
	t.Check("S1-TRANS-01", meets(bare, table.Is("payload.success", true)), "the payload as the result", "%s", rawjson.Clip(string(rawjson.Encode(bare)), 300))
	wrapped, err := ask(nil, false)
	t.NoError(err)
	t.Check("S1-TRANS-02/payload", wrapped["payload"] != nil && reflect.DeepEqual(bare["payload"], wrapped["payload"]), rawjson.Clip(string(rawjson.Encode(bare["payload"])), 200),
		"%s", rawjson.Clip(string(rawjson.Encode(wrapped["payload"])), 200))
	structured, there := wrapped["structured"]
	t.Check("S1-TRANS-02/structured", !there || reflect.DeepEqual(structured, wrapped["payload"]), "the object in the text", "%s", rawjson.Clip(string(rawjson.Encode(structured)), 200))
	bad := table.Members{"filter": "urgent"}
	bare, err = ask(bad, true)
	t.NoError(err)
	wrapped, err = ask(bad, false)
	t.NoError(err)
	t.Check("S1-TRANS-02/error", bare["error"] != nil && table.NumberAt(bare, "error.code") == table.NumberAt(wrapped, "error.code"), rawjson.Clip(string(rawjson.Encode(bare)), 200),
		"%s", rawjson.Clip(string(rawjson.Encode(wrapped)), 200))
}

func runCold(t *engine.Trial) {
	s := t.Raw()
	a, err := s.Request(t.Ctx, ToolNext, map[string]any{"filter": "all"})
	if err == nil && table.UsedUp(table.Outcome(a)) {
		t.NoError(engine.ErrUsedUp)
		return
	}
	t.Check("S1-TRANS-01/cold", err == nil && meets(table.Outcome(a), table.Is("payload.success", true)), "the payload as the result", "%s", a.OrError(err))
}

func runSplitText(t *engine.Trial) {
	s := t.Fresh()
	const words = "Größe 日本 🦊"
	id := s.NewID()
	data := append(s.Message(id, mcp.MethodToolsCall, asAgent("conform/split/"+rand.Text()[:8], ToolAsk, table.Members{"question": words})), '\n')
	s.Pending[id] = false
	for len(data) > 0 {
		n := 1
		if data[0] < 0x80 {
			n = max(1, bytes.IndexFunc(data, func(r rune) bool { return r >= 0x80 }))
		}
		t.NoError(talk.WriteRaw(t, s, data[:n]))
		data = data[n:]
	}
	a, err := s.Await(t.Ctx, id)
	t.NoError(err)
	doc := table.Outcome(a)
	if table.UsedUp(doc) {
		t.NoError(engine.ErrUsedUp)
		return
	}
	got := table.TextAt(doc, "payload.question")
	t.Check("S1-TRANS-04", got == words, words, "%s", a.Describe())
}

// ticketsAtOnce is how many tickets are made at the same time.
const ticketsAtOnce = 20

func runManyTickets(t *engine.Trial) {
	s := t.Shared()
	agent := "conform/tickets/" + rand.Text()[:8]
	var sent []string
	for i := range ticketsAtOnce {
		id, err := s.Post(t.Ctx, mcp.MethodToolsCall, asAgent(fmt.Sprintf("%s/%d", agent, i/engine.CallsPerAgent), ToolTicket, table.Members{"title": fmt.Sprintf("ticket %d", i)}))
		t.NoError(err)
		sent = append(sent, id)
	}
	ids := map[string]bool{}
	var bad wire.Answer
	for _, id := range sent {
		a, err := s.Await(t.Ctx, id)
		t.NoError(err)
		doc := table.Outcome(a)
		if table.UsedUp(doc) {
			t.NoError(engine.ErrUsedUp)
			return
		}
		ticket := table.TextAt(doc, "payload.ticket.id")
		if ticket == "" || ids[ticket] {
			bad = a
		}
		ids[ticket] = true
	}
	t.Check("S1-TICKET-06", len(ids) == ticketsAtOnce && bad.Result == nil, "20 different ids", "%d ids, and %s", len(ids), bad.Describe())
}

func runAdmin(t *engine.Trial) {
	listed := ""
	for _, tool := range t.Rev.Tools {
		if tool.Name == "clearQueue" || tool.Name == "resetPlan" {
			listed = tool.Name
		}
	}
	t.Check("S1-ADMIN-01", listed == "", "neither of them", "%s is listed", listed)
}
