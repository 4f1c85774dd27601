// Package table plays scenarios that are tables: calls, each with what its answer must
// hold.
package table

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
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Members is a JSON object the suite sends. A string "$name" in it stands for
// a value of the conversation: one kept from an earlier answer, or one the
// family makes, such as a task of the scenario's own.
type Members map[string]any

// Table is a scenario of calls, one after the other, each with what its answer
// must hold. Most requirements of the seed families are of this form.
type Table struct {
	// ID is the requirement, and the first part of the ids of its checks.
	ID, Area, Title string
	Needs           engine.Needs
	Steps           []Step
	// Suits, when set, says why the server is not one the table is about, ""
	// when it is.
	Suits func(r *Run) (string, error)
	// Make makes the values named in no answer.
	Make func(r *Run, name string) (any, error)
}

// Step is one call and the check its answer decides.
type Step struct {
	// Word is the last part of the check's id; empty for a call that only
	// prepares.
	Word, Title string
	// Requirement is the requirement when it is not that of the table.
	Requirement string
	// Tool is called; empty looks once more at the answer before.
	Tool string
	Args Members
	// Meta is added to the _meta of the call.
	Meta Members
	// Direct calls the method of the tool's name in place of tools/call.
	Direct bool
	Want   []Expectation
	// Keep are values for later steps: their names, and their paths in the
	// answer.
	Keep map[string]string
	// Before does something outside the conversation before the call.
	Before func(r *Run) error
	// House: a server that does not announce our error profiles only should.
	House bool
}

// CheckID is that of the step's check.
func (tb *Table) CheckID(st *Step) string { return tb.requirement(st) + "/" + st.Word }

func (tb *Table) requirement(st *Step) string {
	if st.Requirement != "" {
		return st.Requirement
	}
	return tb.ID
}

// scenario is the table as a scenario.
func (tb Table) scenario() engine.Scenario {
	sc := engine.Scenario{ID: tb.ID, Area: tb.Area, Title: tb.Title, Needs: tb.Needs, Source: &tb, Run: tb.run}
	for i := range tb.Steps {
		st := &tb.Steps[i]
		if st.Word == "" {
			continue
		}
		c := engine.Check{Check: conformance.Check{ID: tb.CheckID(st), Title: st.Title, Level: conformance.Must, Spec: conformance.Spec{Requirement: tb.requirement(st)}}}
		if st.House {
			c.Level, c.ProfileLevel = conformance.Should, conformance.Must
		}
		sc.Checks = append(sc.Checks, c)
	}
	return sc
}

// Run is a table being worked through.
type Run struct {
	*engine.Trial
	Table   *Table
	Session *wire.Session
	Kept    map[string]any
	// Folders are removed at the end.
	Folders []string
}

// KeptStateless says whether the conversation is one of the stateless era. No
// step can keep a value under this name.
const KeptStateless = "stateless era"

// Folder makes a folder of the scenario's own, with its links resolved.
func (r *Run) Folder() (string, error) {
	dir, err := os.MkdirTemp("", "mcp-conformance-")
	if err != nil {
		return "", engine.SuiteError(err)
	}
	r.Folders = append(r.Folders, dir)
	dir, err = filepath.EvalSymlinks(dir)
	return dir, engine.SuiteError(err)
}

// ErrPrerequisite says that what a table builds on is missing.
var ErrPrerequisite = errors.New("what the scenario builds on is missing")

func (tb *Table) run(t *engine.Trial) {
	r := &Run{Trial: t, Table: tb, Session: t.Shared(), Kept: map[string]any{"nonce": rand.Text()[:12], KeptStateless: t.Rev.Stateless()}}
	defer func() {
		for _, dir := range r.Folders {
			_ = os.RemoveAll(dir) // a temporary folder: nothing is lost when it stays
		}
	}()
	if tb.Suits != nil {
		reason, err := tb.Suits(r)
		t.NoError(err)
		if reason != "" {
			r.SkipRest(conformance.SkipControl, reason)
			return
		}
	}
	var last map[string]any
	for i := range tb.Steps {
		var err error
		last, err = r.take(&tb.Steps[i], last)
		if errors.Is(err, ErrPrerequisite) {
			r.SkipRest(conformance.SkipPrerequisite, err.Error())
			return
		}
		t.NoError(err)
	}
}

// take makes the call of a step, decides its check and returns the answer.
func (r *Run) take(st *Step, last map[string]any) (map[string]any, error) {
	doc := last
	if st.Before != nil {
		if err := st.Before(r); err != nil {
			return nil, err
		}
	}
	if st.Tool != "" {
		var err error
		if doc, err = r.Exchange(st); err != nil {
			return nil, err
		}
	}
	want, fault := r.Judge(st, doc)
	switch {
	case st.Word != "":
		r.Check(r.Table.CheckID(st), fault == "", want, "%s", fault)
	case fault != "":
		return nil, fmt.Errorf("%s, which the scenario builds on: %s", st.Tool, fault)
	}
	for name, path := range st.Keep {
		if v, there := Lookup(doc, path); there {
			r.Kept[name] = v
		}
	}
	return doc, nil
}

// Exchange makes the call of a step.
func (r *Run) Exchange(st *Step) (map[string]any, error) {
	args, err := r.fill(map[string]any(st.Args))
	if err != nil {
		return nil, err
	}
	if st.Args == nil {
		args = map[string]any{}
	}
	r.Step(r.Session)
	var a wire.Answer
	if st.Direct {
		a, err = r.Session.Request(r.Ctx, st.Tool, r.direct(st, args))
	} else {
		a, err = r.Call(r.Session, st.Tool, args, st.Meta)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", st.Tool, err)
	}
	doc := Outcome(a)
	if UsedUp(doc) {
		return nil, engine.ErrUsedUp
	}
	return doc, nil
}

// direct returns the params of a tool called as a method: its arguments, with the
// name of the agent that also calls it as a tool.
func (r *Run) direct(st *Step, args any) any {
	members, ok := args.(map[string]any)
	agent := r.Agent(st.Tool)
	if !ok || agent == "" {
		return args
	}
	out := maps.Clone(members)
	out["_meta"] = map[string]any{"agentName": agent}
	return out
}

// Prepare makes a call that builds a value, and returns its answer.
func (r *Run) Prepare(tool string, args Members) (map[string]any, error) {
	return r.Exchange(&Step{Tool: tool, Args: args})
}

// Judge returns what was expected and how the answer breaks it, "" if it does
// not.
func (r *Run) Judge(st *Step, doc map[string]any) (want, fault string) {
	for _, e := range st.Want {
		v, there := Lookup(doc, e.Path)
		if e.Holds(v, there, r.Kept) {
			continue
		}
		got := "absent"
		if there {
			got = rawjson.Clip(string(rawjson.Encode(v)), 200)
		}
		want = e.Want
		if e.Path != "" {
			want = e.Path + ": " + e.Want
			got = e.Path + " is " + got
		}
		if e.Path != "" && !strings.HasPrefix(e.Path, "error") {
			got += ", in " + rawjson.Clip(string(rawjson.Encode(doc)), 300)
		}
		return want, got
	}
	return want, ""
}

// fill replaces the names in a value.
func (r *Run) fill(v any) (any, error) {
	switch v := v.(type) {
	case Members:
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
			return strings.ReplaceAll(v, "$nonce", r.Kept["nonce"].(string)), nil //nolint:forcetypeassert // set by run
		}
		return r.Value(name)
	}
	return v, nil
}

// Value returns what a name stands for.
func (r *Run) Value(name string) (any, error) {
	if v, there := r.Kept[name]; there {
		return v, nil
	}
	if r.Table.Make == nil {
		return nil, fmt.Errorf("%w: no answer before had %s", ErrPrerequisite, name)
	}
	v, err := r.Table.Make(r, name)
	if err != nil {
		return nil, err
	}
	r.Kept[name] = v
	return v, nil
}

// Outcome reads an answer for the paths of expectations: error of a JSON-RPC
// error; of a result text, isError, structured and the payload, which is the
// JSON in the text or, of a direct method, the result itself.
func Outcome(a wire.Answer) map[string]any {
	doc := map[string]any{}
	if a.Err != nil {
		doc["error"] = Decoded(rawjson.Encode(a.Err))
		return doc
	}
	result, isObject := rawjson.Object(a.Result)
	var content []struct{ Type, Text string }
	if !isObject || json.Unmarshal(result["content"], &content) != nil {
		doc["payload"] = Decoded(a.Result)
		return doc
	}
	doc["isError"] = string(result["isError"]) == "true"
	if structured, there := result["structuredContent"]; there {
		doc["structured"] = Decoded(structured)
	}
	if len(content) > 0 && content[0].Type == "text" {
		doc["text"] = content[0].Text
		if json.Valid([]byte(content[0].Text)) {
			doc["payload"] = Decoded([]byte(content[0].Text))
		}
	}
	return doc
}

// Decoded returns a JSON value as Go has it.
func Decoded(raw []byte) any {
	var v any
	_ = json.Unmarshal(raw, &v) // was read as JSON before
	return v
}

// Scenarios makes scenarios of tables.
func Scenarios(list ...Table) []engine.Scenario {
	var out []engine.Scenario
	for _, tb := range list {
		out = append(out, tb.scenario())
	}
	return out
}

// With returns args with some members more, or others.
func (m Members) With(more Members) Members {
	out := maps.Clone(m)
	maps.Copy(out, more)
	return out
}

// Without returns args that lack a member.
func (m Members) Without(name string) Members {
	out := maps.Clone(m)
	delete(out, name)
	return out
}

// UsedUp reports whether an answer refuses a call for that reason (tools.md
// §3.5).
func UsedUp(doc map[string]any) bool {
	return TextAt(doc, "error.data.scope") == "global" || TextAt(doc, "payload.error.details.scope") == "global"
}
