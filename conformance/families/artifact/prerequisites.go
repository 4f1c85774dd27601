package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// A draft is the version of an artifact that is to be approved, as it is on
// disk.
type draft struct {
	place  place
	files  contents
	stored *storedMetadata
}

// loadDraft reads the current version of an artifact and checks the four
// prerequisites in their order (tools.md §2.4). Nothing has been changed when
// one fails.
func (s *store) loadDraft(root folder, t artifactType, id string) (*draft, error) {
	p, exists, err := s.current(root, t, id)
	if err != nil {
		return nil, diskError(err)
	}
	if !exists {
		return nil, unmet(artifactExists, id, "Resource not found: Artifact %s not found", id)
	}
	d, err := s.readDraft(root, p)
	if err != nil {
		return nil, err
	}
	switch status := d.stored.Status; {
	case status == statusDraft:
	case status == "In Review":
		return nil, unmet(draftStatus, id, "Artifact %s is not a Draft (status: %s)", id, status)
	default:
		return nil, unmet(draftStatus, id, "Artifact %s already approved", id)
	}
	if err := s.parentApproved(root, d); err != nil {
		return nil, err
	}
	if n := blockingQuestions(string(d.files.Document)); n > 0 {
		plural := "s"
		if n == 1 {
			plural = ""
		}
		e := unmet(openQuestions, id, "Artifact has %d open question%s requiring resolution", n, plural)
		e.Data["open_questions"] = n
		return nil, e
	}
	return d, nil
}

// readDraft reads document and metadata. Where the metadata file is lost or
// damaged, as a crash of a store between its two writes leaves it, the
// document's own section stands in for it.
func (s *store) readDraft(root folder, p place) (*draft, error) {
	d := &draft{place: p}
	var err error
	if d.files.Document, err = readFile(root, p.document()); err != nil {
		return nil, diskError(err)
	}
	d.files.Metadata, err = readFile(root, p.metadata())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diskError(err)
	}
	var stored storedMetadata
	if json.Unmarshal(d.files.Metadata, &stored) == nil && stored.ArtifactID == p.ID && stored.Version == p.Version {
		d.stored = &stored
		return d, nil
	}
	m, err := readSection(string(d.files.Document))
	if err != nil {
		return nil, err
	}
	if m.ID != p.ID || m.Version != p.Version {
		return nil, badField("artifact_id", fmt.Sprintf("names %s v%d in the file of %s", m.ID, m.Version, p.stem()))
	}
	d.stored = m.stored(s.path(p), len(d.files.Document))
	return d, nil
}

// parentApproved is prerequisite 3. A parent that is not there fails it too.
func (s *store) parentApproved(root folder, d *draft) error {
	if d.stored.ParentID == nil {
		return nil
	}
	parent := *d.stored.ParentID
	e := unmet(parentApproved, d.place.ID, "Parent %s must be approved first", quoted(parent))
	e.Data["parent_id"] = quoted(parent)
	e.Data["summary"] = "Parent " + quoted(parent) + " not approved"
	if !idPattern.MatchString(parent) || len(parent) > maxID {
		return e
	}
	t, err := typeOf(parent)
	if err != nil {
		return e
	}
	p, exists, err := s.current(root, t, parent)
	if err != nil {
		return diskError(err)
	}
	if !exists {
		return e
	}
	approved, err := s.approved(root, p, "")
	if err != nil {
		return diskError(err)
	}
	if !approved {
		return e
	}
	return nil
}

// A prerequisite is what must hold before an approval, by its name in
// error.data.
type prerequisite string

const (
	artifactExists prerequisite = "artifact_exists"
	draftStatus    prerequisite = "status_draft"
	parentApproved prerequisite = "parent_approved"
	openQuestions  prerequisite = "open_questions"
)

// event is the name of the log line that says it does not hold (S0).
func (p prerequisite) event() string {
	switch p {
	case artifactExists:
		return "artifact_not_found"
	case draftStatus:
		return "already_approved"
	case parentApproved:
		return "parent_not_approved"
	default:
		return "blocking_open_questions"
	}
}

// unmet is the error of a prerequisite that does not hold.
func unmet(p prerequisite, id, format string, args ...any) *family.Error {
	e := &family.Error{
		Code: family.CodeServer, Message: fmt.Sprintf(format, args...),
		Data: map[string]any{"prerequisite": p, "artifact_id": id},
	}
	if p == artifactExists {
		e.Code = family.CodeNotFound
	}
	return e
}

// blocking are the markers of questions that must be answered first. Others,
// such as [REQUIRES TECH LEAD], may be answered later.
var blocking = regexp.MustCompile(`\[REQUIRES (?:SPIKE|ADR)\b[^\]]*\]`)

// blockingQuestions counts the blocking markers in the Open Questions section:
// up to the next heading of its level or above.
func blockingQuestions(text string) int {
	count, inside := 0, 0
	for _, l := range prose(text) {
		if level, name := parseHeading(l); level > 0 {
			if inside > 0 && level <= inside {
				inside = 0
			}
			if inside == 0 && strings.HasPrefix(normalHeading(name), "open question") {
				inside = level
			}
		}
		if inside > 0 {
			count += len(blocking.FindAllString(l, -1))
		}
	}
	return count
}
