package base

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// echoPrompt is the official fixture that repeats what it is given. A prompt
// changes nothing, so it needs no permission.
const echoPrompt = "test_prompt_with_arguments"

// TextCases are texts that come to harm in careless hands: what is sent, as
// JSON has it, and what it is.
var TextCases = []struct{ Word, spelled string }{
	{"emoji", `"🦊👩‍👩‍👧‍👦"`},
	{"escaped", `"\ud83e\udd8a"`},
	{"nul", `"a\u0000b"`},
	{"controls", `"\u0001\b\f\n\r\t\u001f\u007f"`},
	{"separators", `"a` + "\u2028b\u2029" + `c"`},
	{"forms", `"` + "\u00e9 e\u0301 \ufb01" + `"`},
	{"markup", `"<a href='x'>&amp;</a> \\ \/ \""`},
	{"bidi", `"` + "\u202e\u200f\u200b\u200d\ufeff" + `"`},
	{"edges", `"  \t text \n "`},
	{"digits", `"1e3"`},
}

func textScenarios() []engine.Scenario {
	return []engine.Scenario{{ID: "RPC-01-TEXT", Needs: engine.Needs{Capability: "prompts"}, Run: runTexts}}
}

func runTexts(t *engine.Trial) {
	s := t.Fresh()
	a, err := s.Request(t.Ctx, mcp.MethodPromptsList, nil)
	t.NoError(err)
	var listed struct{ Prompts []struct{ Name string } }
	_ = json.Unmarshal(a.Result, &listed) // what is no list has none
	if !slices.ContainsFunc(listed.Prompts, func(p struct{ Name string }) bool { return p.Name == echoPrompt }) {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipNoFixture, "no prompt "+echoPrompt)
		}
		return
	}
	for _, c := range TextCases {
		t.Step(s)
		got, err := echo(t, s, json.RawMessage(c.spelled))
		if err != nil {
			t.Fail("RPC-01/text-"+c.Word, c.spelled, "%s", err.Error())
			t.Stop(err)
		}
		want := rawjson.Text(json.RawMessage(c.spelled))
		t.Check("RPC-01/text-"+c.Word, strings.Contains(got, want), fmt.Sprintf("%q", want), "%q", rawjson.Clip(got, 200))
	}
	t.Step(s)
	large := strings.Repeat("0123456789abcdef", 1<<16)
	got, err := echo(t, s, rawjson.Encode(large))
	if err != nil {
		got = err.Error()
	}
	t.Check("RPC-01/text-large", strings.Contains(got, large), "1,048,576 bytes of text", "%d bytes that begin %q", len(got), rawjson.Clip(got, 40))
	for _, each := range [][2]string{{"RPC-01/text-lone", `"a\ud83ez"`}, {"RPC-01/text-bytes", "\"a\xff\xfez\""}} {
		check, spelled := each[0], each[1]
		t.Step(s)
		id := s.NewID()
		data := s.Message(id, mcp.MethodPromptsGet, echoParams(json.RawMessage(`"PLACE"`)))
		s.Pending[id] = false                                                                       // the message may not be readable, and is a request
		_, _ = talk.Refusal(t, s, id, []byte(strings.Replace(string(data), `"PLACE"`, spelled, 1))) // any answer will do
		talk.Alive(t, check, s)
	}
}

func echoParams(value json.RawMessage) map[string]any {
	return map[string]any{"name": echoPrompt, "arguments": map[string]any{"arg1": value, "arg2": "-"}}
}

// echo has the prompt repeat a text and returns all it says.
func echo(t *engine.Trial, s *wire.Session, value json.RawMessage) (string, error) {
	a, err := s.Request(t.Ctx, mcp.MethodPromptsGet, echoParams(value))
	if err != nil {
		return "", err
	}
	var result struct {
		Messages []struct{ Content struct{ Text string } }
	}
	if readable := a.Err == nil && json.Unmarshal(a.Result, &result) == nil; !readable {
		return a.Describe(), nil
	}
	var out strings.Builder
	for _, m := range result.Messages {
		out.WriteString(m.Content.Text)
	}
	return out.String(), nil
}
