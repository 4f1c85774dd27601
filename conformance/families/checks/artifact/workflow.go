package artifact

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// workflowNeeds is what scenarios of the whole artifact workflow need. They ask
// for all of its tools, so that a server that has only an add_task of its own is
// left alone.
func workflowNeeds() engine.Needs {
	return engine.Needs{Capability: "tools", Profile: profile.Artifact, Tools: Tools, SideEffects: conformance.SideEffectsAll}
}

// onServices is workflowNeeds for scenarios in which the suite plays the
// services.
func onServices() engine.Needs {
	n := workflowNeeds()
	n.Fixture = surroundings.PlayedServices
	return n
}

// reading is needs with resources, to read documents back.
func reading(needs engine.Needs) engine.Needs {
	needs.Capability = "resources"
	return needs
}

// logging is needs with a look at the log.
func logging(needs engine.Needs) engine.Needs {
	needs.Process = true
	return needs
}

// approval is the result of approve_artifact.
type approval struct {
	Success     bool              `json:"success"`
	ID          string            `json:"artifact_id"`
	Old         string            `json:"old_status"`
	New         string            `json:"new_status"`
	Path        string            `json:"artifact_path"`
	Detected    []string          `json:"sub_artifacts_detected"`
	Created     int               `json:"tasks_created"`
	TaskIDs     []string          `json:"task_ids"`
	Mapping     map[string]string `json:"id_mapping"`
	Reservation string            `json:"reservation_id"`
	Confirmed   *bool             `json:"reservation_confirmed"`
}

// called calls a tool and reads the object in its result.
func called[T any](t *engine.Trial, s *wire.Session, tool string, arguments map[string]any) (T, wire.Answer, error) {
	var out T
	a, err := t.Call(s, tool, arguments)
	if err != nil {
		return out, a, err
	}
	members, err := a.Payload()
	if err != nil {
		return out, a, err
	}
	if err := json.Unmarshal(rawjson.Encode(members), &out); err != nil {
		return out, a, fmt.Errorf("the result: %w", err)
	}
	return out, a, nil
}

func approveArguments(id string) map[string]any {
	return map[string]any{"artifact_id": id, "task_id": TaskID}
}

func approve(t *engine.Trial, s *wire.Session, id string) (approval, wire.Answer, error) {
	return called[approval](t, s, ToolApprove, approveArguments(id))
}

// keep stores documents that the scenario builds on.
func keep(t *engine.Trial, s *wire.Session, documents ...draft) {
	for _, d := range documents {
		done[stored](t, s, ToolStore, storeArguments(d.text()))
	}
	t.Step(s)
}

// family of documents: an approved parent and a draft below it, with ids of
// their own and a body.
func child(t *engine.Trial, parentPrefix, prefix, body string) (parent, d draft) {
	parent = newDraft(unusedID(t, parentPrefix))
	parent.parent, parent.status = "", "Approved"
	d = newDraft(unusedID(t, prefix))
	d.parent, d.body = parent.id, body
	return parent, d
}

// threeStories breaks a PRD down into three, in the order of the alphabet.
const threeStories = "## Decomposition\n\n- HLS-AAA: first\n- HLS-BBB: second, after HLS-AAA\n- HLS-CCC: third\n\n## Dependencies\n\nHLS-CCC needs HLS-BBB.\n"

// storedPRD stores a PRD draft with a body below an approved epic.
func storedPRD(t *engine.Trial, s *wire.Session, body string) draft {
	epic, d := child(t, "EPIC", "PRD", body)
	keep(t, s, epic, d)
	return d
}

// uriOf is the resource of a version of an artifact.
func uriOf(id string, version int) string {
	prefix, _, _ := strings.Cut(id, "-")
	for _, kind := range StoredTypes {
		if kind.Prefix == prefix {
			return fmt.Sprintf("mcp://resources/artifacts/%s/%s_v%d.md", kind.Plural, id, version)
		}
	}
	return ""
}

// readBack reads version 1 of an artifact.
func readBack(t *engine.Trial, s *wire.Session, id string) string {
	return readVersion(t, s, id, 1)
}

func readVersion(t *engine.Trial, s *wire.Session, id string, version int) string {
	a, err := s.Request(t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": uriOf(id, version)})
	var result struct {
		Contents []struct{ Text string } `json:"contents"`
	}
	if err != nil || a.Err != nil || json.Unmarshal(a.Result, &result) != nil || len(result.Contents) != 1 {
		t.Stop(fmt.Errorf("resources/read of %s: %s", uriOf(id, version), a.OrError(err)))
	}
	return result.Contents[0].Text
}

// playing returns the session on the services of the suite, and these, with
// nothing asked and the faults given.
func playing(t *engine.Trial, fault func(restRequest) *RestAnswer) (*wire.Session, *Services) {
	s := t.Shared()
	services := playedFor(t)
	services.begin(fault)
	t.OnFinish(func() { services.begin(nil) })
	return s, services
}

// prerequisite is the name in the data of an error of approve_artifact.
func prerequisite(a wire.Answer) string {
	data, _ := rawjson.Object(a.ErrorData())
	return rawjson.Text(data["prerequisite"])
}

// done calls a tool that the scenario builds on: if it is refused, the scenario ends.
func done[T any](t *engine.Trial, s *wire.Session, tool string, arguments map[string]any) T {
	t.Step(s)
	out, a, err := called[T](t, s, tool, arguments)
	if err != nil {
		t.Stop(fmt.Errorf("%s: %s", tool, a.OrError(err)))
	}
	return out
}

// refused calls a tool and decides a check: the answer is an error with a code, and its message
// matches. An empty pattern matches any.
func refused(t *engine.Trial, s *wire.Session, check, tool string, arguments map[string]any, code int64, pattern string) {
	t.Step(s)
	a, err := t.Call(s, tool, arguments)
	ok := a.HasCode(err, code) && regexp.MustCompile(pattern).MatchString(a.Err.Message)
	t.Check(check, ok, strings.TrimSpace(fmt.Sprintf("error %d %s", code, pattern)), "%s", a.OrError(err))
	t.NoError(err)
}

// saysCode reports whether the answer is an error with a code whose message holds
// all the parts.
func saysCode(a wire.Answer, err error, code int64, parts ...string) bool {
	return a.HasCode(err, code) && !slices.ContainsFunc(parts, func(part string) bool {
		return !strings.Contains(strings.ToLower(a.Err.Message), strings.ToLower(part))
	})
}
