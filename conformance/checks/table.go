package checks

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// members is a JSON object the suite sends. A string "$name" in it stands for
// a value of the conversation: one kept from an earlier answer, or one the
// family makes, such as a task of the scenario's own.
type members map[string]any

// table is a scenario of calls, one after the other, each with what its answer
// must hold. Most requirements of the seed families are of this form.
type table struct {
	// id is the requirement, and the first part of the ids of its checks.
	id, area, title string
	needs           conformance.Needs
	steps           []step
	// suits, when set, says why the server is not one the table is about, ""
	// when it is.
	suits func(r *tableRun) (string, error)
	// make makes the values named in no answer.
	make func(r *tableRun, name string) (any, error)
}

// step is one call and the check its answer decides.
type step struct {
	// word is the last part of the check's id; empty for a call that only
	// prepares.
	word, title string
	// req is the requirement when it is not that of the table.
	req string
	// tool is called; empty looks once more at the answer before.
	tool string
	args members
	// meta is added to the _meta of the call.
	meta members
	// direct calls the method of the tool's name in place of tools/call.
	direct bool
	want   []expectation
	// keep are values for later steps: their names, and their paths in the
	// answer.
	keep map[string]string
	// before does something outside the conversation before the call.
	before func(r *tableRun) error
	// house: a server that does not announce our error profiles only should.
	house bool
}

// checkID is that of the step's check.
func (tb *table) checkID(st *step) string { return tb.requirement(st) + "/" + st.word }

func (tb *table) requirement(st *step) string {
	if st.req != "" {
		return st.req
	}
	return tb.id
}

// scenario is the table as a scenario.
func (tb table) scenario() conformance.Scenario {
	sc := conformance.Scenario{ID: tb.id, Area: tb.area, Title: tb.title, Needs: tb.needs, Source: &tb, Run: tb.run}
	for i := range tb.steps {
		st := &tb.steps[i]
		if st.word == "" {
			continue
		}
		c := must(tb.checkID(st), tb.requirement(st), st.title)
		if st.house {
			c.Level, c.House = conformance.Should, conformance.Must
		}
		sc.Checks = append(sc.Checks, c)
	}
	return sc
}

// tableRun is a table being worked through.
type tableRun struct {
	*conformance.Trial
	table *table
	s     *wire.Session
	kept  map[string]any
	// folders are removed at the end.
	folders []string
}

// keptStateless says whether the conversation is one of the stateless era. No
// step can keep a value under this name.
const keptStateless = "stateless era"

// folder makes a folder of the scenario's own, with its links resolved.
func (r *tableRun) folder() (string, error) {
	dir, err := os.MkdirTemp("", "mcp-conformance-")
	if err != nil {
		return "", conformance.Ours(err)
	}
	r.folders = append(r.folders, dir)
	dir, err = filepath.EvalSymlinks(dir)
	return dir, conformance.Ours(err)
}

// errPrerequisite: what a table builds on is not there.
var errPrerequisite = errors.New("what the scenario builds on is missing")

func (tb *table) run(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	r := &tableRun{Trial: t, table: tb, s: s, kept: map[string]any{"nonce": rand.Text()[:12], keptStateless: t.Rev.Stateless()}}
	defer func() {
		for _, dir := range r.folders {
			_ = os.RemoveAll(dir) // a temporary folder: nothing is lost when it stays
		}
	}()
	if tb.suits != nil {
		reason, err := tb.suits(r)
		if err != nil {
			return err
		}
		if reason != "" {
			r.skipRest(conformance.SkipControl, reason)
			return nil
		}
	}
	var last map[string]any
	for i := range tb.steps {
		last, err = r.take(&tb.steps[i], last)
		if errors.Is(err, errPrerequisite) {
			r.skipRest(conformance.SkipPrerequisite, err.Error())
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// skipRest skips what is not decided yet.
func (r *tableRun) skipRest(reason conformance.SkipReason, detail string) {
	for _, c := range r.Scenario.Checks {
		r.Skip(c.ID, reason, detail)
	}
}

// take makes the call of a step, decides its check and returns the answer.
func (r *tableRun) take(st *step, last map[string]any) (map[string]any, error) {
	doc := last
	if st.before != nil {
		if err := st.before(r); err != nil {
			return nil, err
		}
	}
	if st.tool != "" {
		var err error
		if doc, err = r.exchange(st); err != nil {
			return nil, err
		}
	}
	want, fault := r.judge(st, doc)
	switch {
	case st.word != "":
		r.Check(r.table.checkID(st), fault == "", want, "%s", fault)
	case fault != "":
		return nil, fmt.Errorf("%s, which the scenario builds on: %s", st.tool, fault)
	}
	for name, path := range st.keep {
		if v, there := lookup(doc, path); there {
			r.kept[name] = v
		}
	}
	return doc, nil
}

// exchange makes the call of a step.
func (r *tableRun) exchange(st *step) (map[string]any, error) {
	args, err := r.fill(map[string]any(st.args))
	if err != nil {
		return nil, err
	}
	if st.args == nil {
		args = map[string]any{}
	}
	r.Step(r.s)
	var a wire.Answer
	if st.direct {
		a, err = r.s.Request(r.Ctx, st.tool, args)
	} else {
		a, err = r.Call(r.s, st.tool, args, st.meta)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", st.tool, err)
	}
	doc := outcomeOf(a)
	if usedUp(doc) {
		return nil, conformance.ErrUsedUp
	}
	return doc, nil
}

// prepare makes a call that builds a value, and returns its answer.
func (r *tableRun) prepare(tool string, args members) (map[string]any, error) {
	return r.exchange(&step{tool: tool, args: args})
}

// judge returns what was expected and how the answer breaks it, "" if it does
// not.
func (r *tableRun) judge(st *step, doc map[string]any) (want, fault string) {
	for _, e := range st.want {
		v, there := lookup(doc, e.path)
		if e.holds(v, there, r.kept) {
			continue
		}
		got := "absent"
		if there {
			got = rawjson.Clip(string(rawjson.Encode(v)), 200)
		}
		want = e.want
		if e.path != "" {
			want = e.path + ": " + e.want
			got = e.path + " is " + got
		}
		if e.path != "" && !strings.HasPrefix(e.path, "error") {
			got += ", in " + rawjson.Clip(string(rawjson.Encode(doc)), 300)
		}
		return want, got
	}
	return want, ""
}

// fill replaces the names in a value.
func (r *tableRun) fill(v any) (any, error) {
	switch v := v.(type) {
	case members:
		return r.fill(map[string]any(v))
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			filled, err := r.fill(inner)
			if err != nil {
				return nil, err
			}
			out[name] = filled
		}
		return out, nil
	case []any:
		out := slices.Clone(v)
		for i := range out {
			filled, err := r.fill(out[i])
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	case string:
		name, isName := strings.CutPrefix(v, "$")
		if !isName {
			return strings.ReplaceAll(v, "$nonce", r.kept["nonce"].(string)), nil //nolint:forcetypeassert // set by run
		}
		return r.value(name)
	}
	return v, nil
}

// value returns what a name stands for.
func (r *tableRun) value(name string) (any, error) {
	if v, there := r.kept[name]; there {
		return v, nil
	}
	if r.table.make == nil {
		return nil, fmt.Errorf("%w: no answer before had %s", errPrerequisite, name)
	}
	v, err := r.table.make(r, name)
	if err != nil {
		return nil, err
	}
	r.kept[name] = v
	return v, nil
}

// outcomeOf reads an answer for the paths of expectations: error of a JSON-RPC
// error; of a result text, isError, structured and the payload, which is the
// JSON in the text or, of a direct method, the result itself.
func outcomeOf(a wire.Answer) map[string]any {
	doc := map[string]any{}
	if a.Err != nil {
		doc["error"] = decoded(rawjson.Encode(a.Err))
		return doc
	}
	result, isObject := rawjson.Object(a.Result)
	var content []struct{ Type, Text string }
	if !isObject || json.Unmarshal(result["content"], &content) != nil {
		doc["payload"] = decoded(a.Result)
		return doc
	}
	doc["isError"] = string(result["isError"]) == "true"
	if structured, there := result["structuredContent"]; there {
		doc["structured"] = decoded(structured)
	}
	if len(content) > 0 && content[0].Type == "text" {
		doc["text"] = content[0].Text
		if json.Valid([]byte(content[0].Text)) {
			doc["payload"] = decoded([]byte(content[0].Text))
		}
	}
	return doc
}

func decoded(raw []byte) any {
	var v any
	_ = json.Unmarshal(raw, &v) // was read as JSON before
	return v
}

// tables makes scenarios of tables.
func tables(list ...table) []conformance.Scenario {
	var out []conformance.Scenario
	for _, tb := range list {
		out = append(out, tb.scenario())
	}
	return out
}

// with returns args with some members more, or others.
func (m members) with(more members) members {
	out := maps.Clone(m)
	maps.Copy(out, more)
	return out
}

// without returns args that lack a member.
func (m members) without(name string) members {
	out := maps.Clone(m)
	delete(out, name)
	return out
}

// usedUp reports whether an answer refuses a call for that reason (tools.md
// §3.5).
func usedUp(doc map[string]any) bool {
	return textAt(doc, "error.data.scope") == "global" || textAt(doc, "payload.error.details.scope") == "global"
}
