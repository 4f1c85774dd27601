package artifact

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// prdText is a PRD that meets every automated criterion of the catalogue, with
// placeholder ids of stories, as a draft may have them.
//
//go:embed fixtures/prd-006.md
var prdText string

const (
	idPRD = "PRD-006"
	// PRDSection is a section only one criterion asks for.
	PRDSection = "Risks"
	TaskID     = "7c3f4ad2-52f1-4b0e-9c1d-3b3f0f7d2a10"
)

func prd() string { return prdText }

// prdWithout returns the PRD without one section.
func prdWithout(section string) string {
	before, rest, _ := strings.Cut(prdText, "\n## "+section+"\n")
	_, after, _ := strings.Cut(rest, "\n## ")
	return before + "\n## " + after
}

func validateArguments(content, id string) map[string]any {
	return map[string]any{"artifact_content": content, "artifact_id": id, "task_id": TaskID}
}

func storeArguments(content string) map[string]any {
	return map[string]any{"artifact_content": content, "task_id": TaskID}
}

// draft describes a document for store_artifact. Empty fields are left out of
// its metadata.
type draft struct {
	id, title, status, version, parent string
	body                               string
}

// newDraft returns a document that can be stored.
func newDraft(id string) draft {
	return draft{id: id, title: "Größe matters: 日本 🦊", status: "Draft", parent: "PRD-006"}
}

// text renders the document, longer than the 100 characters a document has.
func (d draft) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: a document of the conformance suite\n\n## Metadata\n\n", d.id)
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- **%s:** %s\n", name, value)
		}
	}
	field("Story ID", d.id)
	if d.title != "" {
		field("Title", `"`+d.title+`"`)
	}
	if d.status != "" {
		field("Status", `"`+d.status+`"`)
	}
	field("Version", d.version)
	field("Parent PRD", d.parent)
	b.WriteString("\n## Description\n\nThis document was written by the conformance suite. It holds nothing of value: ÄÖÜ ✓ 🦊.\n\n")
	b.WriteString(d.body)
	return b.String()
}

// StoredTypes are the types of artifacts: the prefix of their ids, the folder
// they are stored in and the one their resources are named by.
var StoredTypes = []struct{ Prefix, Folder, Plural string }{
	{"VIS", "product_vision", "product_visions"},
	{"INIT", "initiative", "initiatives"},
	{"EPIC", "epic", "epics"},
	{"PRD", "prd", "prds"},
	{"HLS", "hls", "hls"},
	{"US", "backlog_story", "backlog_stories"},
	{"SPEC", "tech_spec", "tech_specs"},
	{"ADR", "adr", "adrs"},
	{"SPIKE", "spike", "spikes"},
	{"TASK", "task", "tasks"},
}

// Criterion is one line of a checklist.
type Criterion struct {
	ID               string   `json:"id"`
	Category         string   `json:"category"`
	Description      string   `json:"description"`
	ValidationType   string   `json:"validation_type"`
	CheckType        string   `json:"check_type,omitempty"`
	RequiredSections []string `json:"required_sections,omitempty"`
}

// SectionCriterion is the criterion that a section is there.
func SectionCriterion(id, section string) Criterion {
	return Criterion{
		ID: id, Category: "content_quality", Description: "The section " + section + " is there",
		ValidationType: "automated", CheckType: "template_sections", RequiredSections: []string{section},
	}
}

// mixedChecklist has a criterion of each kind, one of a kind nobody knows
// among them when unknown is set.
func mixedChecklist(artifactType string, unknown bool) []byte {
	criteria := []Criterion{
		SectionCriterion("CQ-01", "Metadata"),
		SectionCriterion("CQ-02", "Description"),
		{ID: "CQ-03", Category: "content_quality", Description: "An agent finds the document clear", ValidationType: "agent"},
		{ID: "CQ-04", Category: "content_quality", Description: "A person signed the document", ValidationType: "manual"},
	}
	if unknown {
		criteria = append(criteria, Criterion{
			ID: "CC-01", Category: "consistency", Description: "A check of a later version",
			ValidationType: "automated", CheckType: "no_such_check",
		})
	}
	return rawjson.Encode(map[string]any{"artifact_type": artifactType, "version": 1, "criteria": criteria})
}

// The checklists of the suite. Each is for one type, so that the scenarios
// that change a file do not meet.
const (
	checklistMixed   = "backlog_story_validation_v1" // every kind of criterion
	checklistUnknown = "spike_validation_v1"         // one unknown check
	checklistBroken  = "hls_validation_v1"           // no JSON, mended by the scenario
	checklistWrong   = "task_validation_v1"          // JSON that is no checklist
	checklistCached  = "epic_validation_v1"          // taken away by the scenario
	checklistHidden  = "initiative_validation_v1"    // made unreadable by the scenario
)

// WriteChecklists fills a folder with the checklists of the suite. There is
// none for ADRs.
func WriteChecklists(dir string) error {
	for name, data := range map[string][]byte{
		checklistMixed:   mixedChecklist("backlog_story", false),
		checklistUnknown: mixedChecklist("spike", true),
		checklistBroken:  []byte(`{"artifact_type": "hls", "criteria": [`),
		checklistWrong:   []byte(`{"artifact_type": "task", "version": 1, "criteria": [{"id": 7}]}`),
		checklistCached:  mixedChecklist("epic", false),
		checklistHidden:  mixedChecklist("initiative", false),
	} {
		if err := writeFile(dir, name+".json", data); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file of the suite whole: a server never reads half of it.
func writeFile(dir, name string, data []byte) error {
	tmp := filepath.Join(dir, "."+name+".suite")
	if err := os.WriteFile(tmp, data, 0o644); err != nil { //nolint:gosec // the server may be another user
		return engine.SuiteError(err)
	}
	return engine.SuiteError(os.Rename(tmp, filepath.Join(dir, name)))
}

// verdict is the result of validate_artifact.
type verdict struct {
	Passed  *bool           `json:"passed"`
	Rate    string          `json:"automated_pass_rate"`
	Agent   *int            `json:"agent_review_required"`
	Results []verdictResult `json:"results"`
}

type verdictResult struct {
	ID             string          `json:"id"`
	Category       string          `json:"category"`
	Passed         json.RawMessage `json:"passed"`
	ValidationType string          `json:"validation_type"`
	Details        string          `json:"details"`
	AgentReview    bool            `json:"requires_agent_review"`
}

func (v verdict) passed() bool { return v.Passed != nil && *v.Passed }

// describe says in a line what the verdict is.
func (v verdict) describe() string {
	agent := "absent"
	if v.Agent != nil {
		agent = fmt.Sprint(*v.Agent)
	}
	return fmt.Sprintf("passed %v, automated_pass_rate %q, agent_review_required %s, %d results", v.passed(), v.Rate, agent, len(v.Results))
}

// with returns the first result the function takes.
func (v verdict) with(want func(verdictResult) bool) (verdictResult, bool) {
	for _, r := range v.Results {
		if want(r) {
			return r, true
		}
	}
	return verdictResult{}, false
}

// logLines returns the lines of standard error that are JSON objects.
func logLines(stderr string) []map[string]json.RawMessage {
	var lines []map[string]json.RawMessage
	for line := range strings.SplitSeq(stderr, "\n") {
		if members, ok := rawjson.Object(json.RawMessage(strings.TrimSpace(line))); ok {
			lines = append(lines, members)
		}
	}
	return lines
}
