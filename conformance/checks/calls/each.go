package calls

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	quick      = time.Second // an answer that took less is no slow tool's
	mostDeaths = 3           // of a server in one scenario, after which no other call is made
)

// each calls the tools one after another and judges what comes.
type each struct {
	t *engine.Trial
	s *wire.Session
	verdicts
	quick    map[string][]map[string]float64 // the numbers that tools had when they answered quickly
	given    map[string]bool                 // tools that are not called any more
	works    map[string]call                 // the last success of each tool
	ended    []answered                      // of this session
	calls    int
	previous *call // the last one that was answered
	// silent is a call that had no answer, of a tool that may be slow.
	silent   string
	unheard  []conformance.Frame // its messages
	followed int                 // links
	deaths   int
	judges   map[string]func(json.RawMessage) string // by tool, of its outputSchema
}

func newEach(t *engine.Trial) *each {
	return &each{t: t, s: t.Shared(), verdicts: verdicts{}, quick: map[string][]map[string]float64{}, given: map[string]bool{}, works: map[string]call{}, judges: map[string]func(json.RawMessage) string{}}
}

// learn calls tools without a verdict if no scenario has called them, in a run of a few checks.
func learn(t *engine.Trial, all []wire.Tool) {
	if !t.Rev.HasCalled() {
		newEach(t).calm(all, budget(t))
	}
}

// calm calls the tools that destroy nothing, and returns them.
func (e *each) calm(all []wire.Tool, over func() bool) []wire.Tool {
	learnOffers(e.t, e.s)
	calm := slices.DeleteFunc(slices.Clone(all), destroys)
	e.rounds(calm, over)
	for _, tool := range calm {
		e.guess(tool, over)
	}
	return calm
}

func runEach(t *engine.Trial) {
	all := tools(t)
	if len(all) == 0 {
		return
	}
	e := newEach(t)
	over := budget(t)
	calm := e.calm(all, over)
	rest := slices.DeleteFunc(all, func(tool wire.Tool) bool { return !destroys(tool) })
	e.rounds(rest, over)
	for _, tool := range rest {
		e.guess(tool, over)
	}
	for _, tool := range calm {
		e.bare(tool, over)
	}
	e.after()
	if one := e.verdicts["CALL-01/answered"]; e.silent != "" && (one == nil || one.fault == "") {
		e.blame("CALL-01/in-time", "an answer within "+t.Rev.Opts.Answer.String(), e.silent, e.unheard)
	}
	e.decide(t, "no call gave an occasion")
}

// rounds calls the tools with what their schemas allow, each of them once even when the time is over.
// A gentle run makes no more calls than that.
func (e *each) rounds(all []wire.Tool, over func() bool) {
	calls := inRounds(e.t, all)
	if e.t.Rev.Gentle() {
		calls = first(calls, len(all))
	}
	for i, c := range calls {
		if !e.ends(c.tool) && (i < len(all) || !over()) {
			e.call(c)
		}
	}
}

// guess calls a tool with values that the server has returned: a fault may be that of one record.
func (e *each) guess(tool wire.Tool, over func() bool) {
	for _, guess := range e.t.Rev.Guesses(tool) {
		if _, works := e.works[tool.Name]; works && (destroys(tool) || e.t.Rev.Gentle()) { // one record less is enough
			break
		}
		if e.ends(tool) || over() {
			return
		}
		e.call(call{tool: tool, args: guess})
	}
	if c, works := e.works[tool.Name]; works && !destroys(tool) && !e.t.Rev.Gentle() {
		for _, variant := range e.t.Rev.Variants(tool, c.args) {
			if e.ends(tool) || over() {
				return
			}
			e.call(call{tool: tool, args: variant})
		}
	}
	// What a call has changed may be a fault of the same call later, such as a second loan of a book.
	if c, works := e.works[tool.Name]; works && !tool.Annotations.ReadOnlyHint && !e.ends(tool) && !over() {
		e.call(c)
	}
}

// bare calls a tool that needs no arguments without the member.
func (e *each) bare(tool wire.Tool, over func() bool) {
	c, works := e.works[tool.Name]
	if !works || string(c.args.JSON) != "{}" || e.ends(tool) || over() || e.t.Rev.Gentle() {
		return
	}
	e.t.Step(e.s)
	a, err := e.t.Call(e.s, tool.Name, nil)
	if wire.IsLost(err) {
		e.fresh()
	}
	ok := err == nil && (succeeded(a) || a.IsInputRequired())
	if err == nil && !ok { // it may work only once
		again, err := ask(e.t, e.s, c, nil)
		ok = err != nil || !succeeded(again)
	}
	e.see(e.t, "CALL-01/bare", ok, "the result that it has with arguments {}", "%s without arguments: %s", tool.Name, a.OrError(err))
}

// ends reports whether a tool is not called any more.
func (e *each) ends(tool wire.Tool) bool { return e.given[tool.Name] || e.deaths >= mostDeaths }

// destroys reports whether a tool may remove what other calls need. Such tools are called last.
func destroys(tool wire.Tool) bool {
	if tool.Annotations.ReadOnlyHint {
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(tool.Name), func(r rune) bool { return !unicode.IsLetter(r) })
	verbs := []string{"delete", "remove", "clear", "reset", "purge", "drop", "destroy", "cancel", "wipe"}
	return tool.Annotations.DestructiveHint || slices.ContainsFunc(words, func(w string) bool {
		return slices.ContainsFunc(verbs, func(verb string) bool { return strings.HasPrefix(w, verb) })
	})
}

// call makes one call and judges its answer, and the progress that came before it. The tokens are
// texts and numbers, in turns.
func (e *each) call(c call) {
	e.calls++
	var token any = "call-" + strconv.Itoa(e.calls)
	if e.calls%2 == 0 {
		token = 1000 + e.calls
	}
	c.heavy = len(e.quick[c.tool.Name]) > 0 && !e.asMuch(c)
	e.s.AwaitTurn(e.t.Ctx)
	began, had := time.Now(), len(e.s.Unsolicited)
	a, err := ask(e.t, e.s, c, token)
	took := time.Since(began)
	if errors.Is(err, wire.ErrLate) {
		e.late(c)
		return
	}
	if wire.IsLost(err) {
		e.lost(c, err)
		return
	}
	e.previous = &c
	if took < quick {
		var numbers map[string]float64 // none when it has refused them
		if succeeded(a) {
			numbers = numbersIn(c.args.JSON)
		}
		e.quick[c.tool.Name] = append(e.quick[c.tool.Name], numbers)
	}
	e.given[c.tool.Name] = e.t.Rev.IsSlow(c.tool.Name) // one call of a slow tool is enough
	e.see(e.t, "CALL-01/answered", err == nil, "an answer", "%s: %s", c, a.OrError(err))
	if err != nil {
		return
	}
	if succeeded(a) {
		e.works[c.tool.Name] = c
		fault := errorText(a)
		e.see(e.t, "CALL-01/error-text", fault == "", "isError: true", "%s: %s", c, fault)
	}
	e.see(e.t, "CALL-01/alive", true, "", "")
	e.see(e.t, "CALL-01/in-time", true, "", "")
	if c.args.Example {
		e.see(e.t, "CALL-01/examples", a.Err == nil && succeeded(a) || a.IsInputRequired(), "a result without isError", "%s: %s", c, a.Describe())
	}
	e.refusal(c, a)
	e.structure(c, a)
	e.links(c, a)
	e.unasked(c, had)
	came, last := e.progress(e.t, e.s, c, had, token, e.ended)
	reports := came > 0
	if one := e.verdicts["CALL-03/increases"]; reports && succeeded(a) && one != nil && one.fault == "" {
		e.t.Rev.NoteReports(c.tool.Name, c.args)
	}
	e.ended = append(e.ended, answered{token: string(rawjson.Encode(token)), tool: c.tool.Name, last: last, asked: slices.Clip(first(e.t.Trace.Since(e.t.EvidenceFrom), 1))})
	if one := e.verdicts["CALL-03/none"]; reports && took < quick && one == nil {
		had = len(e.s.Unsolicited)
		if _, err := ask(e.t, e.s, c, nil); err == nil {
			e.progress(e.t, e.s, c, had, nil, e.ended)
		}
	}
}

// fresh replaces the session.
func (e *each) fresh() { e.s, e.ended = e.t.Fresh(), nil }

// abandon replaces the session, which nobody uses again: the server may still be at work, and send
// progress.
func (e *each) abandon() {
	e.t.Rev.CloseShared()
	if !e.s.Closed {
		e.s.Close()
	}
	e.fresh()
}

// refusal judges the error that a call ended with.
func (e *each) refusal(c call, a wire.Answer) {
	own := a.Err != nil
	if own {
		switch a.Err.Code {
		case mcp.CodeMissingRequiredClientCapability, mcp.CodeURLElicitationRequired, wire.CodeHeader:
			return // about the client
		case wire.CodeMethodNotFound:
			e.see(e.t, "CALL-01/known", false, "the tool that is listed", "%s: %s", c, a.Describe())
			return
		case wire.CodeInvalidParams:
			e.see(e.t, "CALL-01/accepts", false, "no refusal of arguments that the inputSchema allows", "%s: %s", c, a.Describe())
			return
		}
	}
	e.see(e.t, "CALL-01/known", true, "", "")
	e.see(e.t, "CALL-01/accepts", true, "", "")
	e.see(e.t, "CALL-01/is-error", !own, "a result with isError", "%s: %s", c, a.OrError(nil))
}

// errorText returns the text of a result that looks like an error, "" if it does not.
func errorText(a wire.Answer) string {
	result, _ := rawjson.Object(a.Result)
	texts := textsOf(result["content"])
	if len(texts) != 1 {
		return ""
	}
	for _, start := range []string{"Error:", "ERROR:", "error:", "Exception:", "Traceback (most recent call last)"} {
		if strings.HasPrefix(texts[0], start) {
			return rawjson.Clip(texts[0], 160)
		}
	}
	return ""
}

// structure judges the structured content of a result.
func (e *each) structure(c call, a wire.Answer) {
	if !succeeded(a) || !e.s.Opened.Revision.AtLeast(mcp.Version2025_06_18) {
		return
	}
	result, _ := rawjson.Object(a.Result)
	content, there := result["structuredContent"]
	if schema := c.tool.Members["outputSchema"]; rawjson.IsObject(schema) {
		judge := e.judges[c.tool.Name]
		if judge == nil {
			judge = fixture.Judge(schema)
			e.judges[c.tool.Name] = judge
		}
		e.see(e.t, "CALL-01/structured", there, "structuredContent that matches the outputSchema", "%s: no structuredContent", c)
		if there {
			fault := judge(content)
			e.see(e.t, "CALL-01/structured", fault == "", "structuredContent that matches the outputSchema", "%s: %s: %s", c, rawjson.Clip(string(content), 120), fault)
			fault = formatFault(schema, content, 0)
			e.see(e.t, "CALL-01/formats", fault == "", "texts of the formats that the outputSchema names", "%s: %s", c, fault)
		}
	}
	if there && string(content) != "null" {
		texts := textsOf(result["content"])
		e.see(e.t, "CALL-01/mirror", mirrors(texts, content), "a text block with the same JSON",
			"%s: structuredContent %s, texts %s", c, rawjson.Clip(string(content), 120), rawjson.Clip(fmt.Sprintf("%q", texts), 160))
	}
}

// textsOf returns the texts of a content list.
func textsOf(content json.RawMessage) []string {
	var blocks []wire.ListEntry
	_ = json.Unmarshal(content, &blocks) // another check judges it
	texts := []string{}
	for _, b := range blocks {
		if rawjson.Text(b["type"]) == "text" {
			texts = append(texts, rawjson.Text(b["text"]))
		}
	}
	return texts
}

// mirrors reports whether one of the texts is the JSON of structured content. SDKs wrap what is no
// object as {"result": …}, and their texts have the value alone, or one text for each element.
func mirrors(texts []string, content json.RawMessage) bool {
	members, _ := rawjson.Object(content)
	wrapped, isWrapped := members["result"]
	isWrapped = isWrapped && len(members) == 1
	for _, text := range texts {
		raw := json.RawMessage(text)
		if sameJSON(raw, content) || isWrapped && (sameJSON(raw, wrapped) || text == rawjson.Text(wrapped)) {
			return true
		}
	}
	var list []json.RawMessage
	return isWrapped && json.Unmarshal(wrapped, &list) == nil && len(list) == len(texts)
}

// late handles a call without an answer. A tool that may be slow is not called again, and larger
// numbers than it had may mean more work. One that has answered quickly gets the same call once
// more: twice without an answer is no slowness.
func (e *each) late(c call) {
	if c.endless() || c.heavy {
		e.abandon()
		return
	}
	e.given[c.tool.Name] = len(e.quick[c.tool.Name]) == 0
	fault := fmt.Sprintf("%s: no answer in %s", c, e.s.Timeout)
	frames := e.t.Trace.Since(e.t.EvidenceFrom)
	_, gone := e.s.Ping(e.t.Ctx)
	e.abandon()
	if gone != nil {
		e.again(c, fault+", nor to a ping after it", frames)
		return
	}
	if !e.asMuch(c) || e.t.Rev.Gentle() {
		e.silent, e.unheard = fault, frames
		return
	}
	a, err := ask(e.t, e.s, c, nil)
	if errors.Is(err, wire.ErrLate) {
		e.see(e.t, "CALL-01/answered", false, "an answer", "%s, twice, and at once with other arguments", fault)
		e.abandon()
		return
	}
	e.see(e.t, "CALL-01/answered", err == nil, "an answer", "%s: %s", c, a.OrError(err))
}

// asMuch reports whether a tool was quick with numbers that were no smaller than those of a call.
func (e *each) asMuch(c call) bool {
	numbers := numbersIn(c.args.JSON)
	return slices.ContainsFunc(e.quick[c.tool.Name], func(quick map[string]float64) bool {
		for name, number := range numbers {
			if had, there := quick[name]; !there || had < number {
				return false
			}
		}
		return true
	})
}

// numbersIn returns the numbers among the members of arguments, by their names.
func numbersIn(arguments json.RawMessage) map[string]float64 {
	numbers := map[string]float64{}
	members, _ := rawjson.Object(arguments)
	for name, member := range members {
		var number float64
		if json.Unmarshal(member, &number) == nil && number != 0 {
			numbers[name] = number
		}
	}
	return numbers
}

// lost handles a call with which the server was lost.
func (e *each) lost(c call, err error) {
	frames := append(e.t.Trace.Since(e.t.EvidenceFrom), e.t.Exited()...)
	fault := fmt.Sprintf("%s: %v", c, err)
	e.fresh()
	e.again(c, fault, frames)
}

// again makes a call once more with which the server was lost: lost twice, and there without it,
// it was lost because of the call. If it is not lost again, it may have been lost because of the
// call before, a moment later.
func (e *each) again(c call, fault string, frames []conformance.Frame) {
	if e.t.Rev.Gentle() { // it may have ended a server that others use
		e.t.Inconclusive("CALL-01/alive", fault+"; --gentle does not make the call again")
		e.t.Stop(wire.ErrNoAnswer)
	}
	e.deaths++
	e.given[c.tool.Name] = true
	if _, err := ask(e.t, e.s, c, nil); wire.IsLost(err) {
		e.fresh()
		e.fatal(fault+", twice", frames)
		return
	}
	e.blamePrevious()
}

// blamePrevious makes the call before the loss once more, and looks whether the server is lost a
// moment later.
func (e *each) blamePrevious() {
	c := e.previous
	if c == nil || e.t.Rev.Gentle() {
		return
	}
	if _, err := ask(e.t, e.s, *c, nil); err != nil {
		return
	}
	e.t.NoError(wire.Pause(e.t.Ctx, quick))
	if _, err := e.s.Ping(e.t.Ctx); wire.IsLost(err) {
		e.given[c.tool.Name] = true
		frames := append(e.t.Trace.Since(e.t.EvidenceFrom), e.t.Exited()...)
		fault := fmt.Sprintf("%s: it was answered, and a moment later %v", c, err)
		e.fresh()
		e.fatal(fault+", twice", frames)
	}
}

// fatal fails the check of servers that are lost with a call.
func (e *each) fatal(fault string, frames []conformance.Frame) {
	e.blame("CALL-01/alive", "a server that answers other requests after the call", fault, frames)
}
