package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// An approval changes two files and two services, and may end at any moment:
// the process is killed, the disk is full, an answer is lost. So that it is
// never half done (S0-APPROVE-26), what it is about to do is written down, on
// the disk before the first change, and taken away after the last.
//
// What can be taken back, and what cannot:
//
//   - The two files can: the intent holds their bytes as they were. No store
//     and no other approval changes them meanwhile, because both take the lock
//     of the artifact and settle an intent they find first.
//   - A reservation needs no taking back. It expires unless it is confirmed, and
//     its ids are given to nobody else, confirmed or not (C-14).
//   - Tasks cannot: S0's service has no way to remove one, and a worker may have
//     it by then. But it adds a batch as a whole or not at all, and once for each
//     Idempotency-Key.
//
// So the batch of tasks is the point of no return, and the intent has two
// stages. While it is [prepared], nobody has been asked for tasks: a process that finds
// the intent restores the bytes, and the artifact is the draft it was. Before
// the request goes out the intent is rewritten as [sending], with the key and
// the tasks. From then on the tasks may exist, whatever this process saw of the
// answer, and a request of a process that was killed may even arrive later. To
// look whether they exist, and to undo if not, would race with that request. To
// ask again with the same key does not: the service answers for both, and
//
//   - if it says yes, the tasks exist (since now or since then) and the approval
//     is carried to its end: both files as approved, the reservation confirmed;
//   - if it refuses the batch, they do not and never will: the bytes are restored;
//     unless the refusal is that the tasks are there, because it has forgotten the
//     key, which looking for them tells;
//   - if it does not answer, nobody knows. The bytes are restored, because an
//     artifact is a draft until its approval is certain, and the intent stays
//     for the next call or start, which asks again.
//
// A service keeps a key for a time only. After that a second request could add
// the tasks a second time, but then no first one can be on its way any more, and
// looking for the tasks is enough: their ids were reserved for them alone, and
// they carry the workflow they belong to.
//
// An approval that makes no tasks has no second stage: it is done when its
// intent is gone. While an intent is there, the artifact does not count as
// Approved for anybody else, neither as a parent nor as an input, whatever its
// files say at that moment.
type intent struct {
	Stage      stage  `json:"stage"`
	ArtifactID string `json:"artifact_id"`
	Version    int    `json:"version"`
	Dir        string `json:"dir"`
	// Workflow is the task_id of the call, which later requests and log lines
	// carry on.
	Workflow string   `json:"task_id"`
	Saved    contents `json:"saved"`
	Approved contents `json:"approved"`
	// Mapping is from placeholders to ids; Children are all sub-artifacts in order.
	Mapping      map[string]string `json:"id_mapping"`
	Children     []child           `json:"sub_artifacts"`
	Reservations []string          `json:"reservation_ids"`

	Project string      `json:"project_id,omitempty"`
	Key     string      `json:"idempotency_key,omitempty"`
	SentAt  time.Time   `json:"sent_at,omitzero"`
	Tasks   []rest.Task `json:"tasks,omitempty"`
	// TaskIDs are the service's ids of the tasks, in the order of Children, once
	// the approval is done: an undo removes them.
	TaskIDs []string `json:"task_ids,omitempty"`
}

// stage is how far an approval may have come.
type stage string

const (
	prepared stage = "prepared"
	sending  stage = "sending"
	undoing  stage = "undoing" // of the record of an approval, and of its undo
)

// contents are the bytes of a version on disk. No metadata is nil: the file was
// not there.
type contents struct {
	Document []byte `json:"document"`
	Metadata []byte `json:"metadata"`
}

// A child is an artifact to be made from the approved one.
type child struct {
	ID   string `json:"artifact_id"`
	Type string `json:"artifact_type"`
}

const intentSuffix = ".intent.json"

func intentFile(id string) string { return stateDir + "/" + id + intentSuffix }

// where returns the place of the version the intent is about.
func (it *intent) where() (place, error) {
	t, err := typeOf(it.ArtifactID)
	if err != nil {
		return place{}, err
	}
	return place{Type: t, ID: it.ArtifactID, Version: it.Version, Dir: it.Dir}, nil
}

// save writes the intent, so that it outlives a crash from here on.
func (it *intent) save(root folder) error {
	data, err := json.Marshal(it)
	if err != nil {
		return err
	}
	return writeAtomic(root, intentFile(it.ArtifactID), data)
}

// drop takes the intent away: the approval is over, one way or the other.
func (it *intent) drop(root folder) error {
	if err := root.Remove(intentFile(it.ArtifactID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(root, stateDir)
}

// readIntent returns the open intent of an artifact, or nil.
func readIntent(root folder, id string) (*intent, error) {
	data, err := readFile(root, intentFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diskError(err)
	}
	it, err := parseIntent(data, id)
	if err != nil {
		return nil, damagedIntent(id, err)
	}
	return it, nil
}

// parseIntent reads the intent of an artifact. It decides which files are
// written: nothing in it is taken on trust.
func parseIntent(data []byte, id string) (*intent, error) {
	var it intent
	if err := json.Unmarshal(data, &it); err != nil {
		return nil, err
	}
	p, err := it.where()
	switch {
	case err != nil || it.ArtifactID != id:
		return nil, fmt.Errorf("names %q", quoted(it.ArtifactID))
	case it.Version < 1 || it.Version > maxVersion || !slices.Contains([]string{p.Type.Name, p.Type.Plural}, it.Dir):
		return nil, errors.New("no place of an artifact")
	case !slices.Contains([]stage{prepared, sending, undoing}, it.Stage), it.Saved.Document == nil, it.Approved.Document == nil:
		return nil, errors.New("incomplete")
	case it.Stage == undoing && len(it.TaskIDs) != 0 && len(it.TaskIDs) != len(it.Children):
		return nil, errors.New("not one task for each sub-artifact")
	}
	return &it, nil
}

// damagedIntent is what an intent that nobody can follow is answered with. It
// came from elsewhere, or the disk lost it: a person has to look, and is told
// where.
func damagedIntent(id string, cause error) *family.Error {
	return &family.Error{
		Code: codeInternal,
		Message: "Internal error: the record of the open approval of " + id + " is damaged; the artifact is blocked until " +
			intentFile(id) + " is repaired or removed",
		Data: map[string]any{"reason": "intent_damaged", "artifact_id": id},
		Err:  fmt.Errorf("intent of %s: %w", id, cause),
	}
}

// intentName finds intents by their file names, and those a kill left half
// written, under the name writeAtomic gives them first.
var intentName = regexp.MustCompile(`^\.?([A-Z]+-[0-9]{3,})` + regexp.QuoteMeta(intentSuffix) + `(?:\.tmp)?$`)

// openIntents lists the artifacts whose approval is open, of this process or
// of another, alive or not.
func openIntents(root folder) (ids []string, err error) {
	names, err := list(root, stateDir)
	for _, name := range names {
		if m := intentName.FindStringSubmatch(name); m != nil && len(m[1]) <= maxID {
			ids = append(ids, m[1])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// sweep removes what a kill left half written of an intent. Without the whole
// of it nothing had been changed.
func sweep(root folder, id string) error {
	err := root.Remove(tempName(intentFile(id)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// restoreSaved makes the files what they were before the approval.
func (it *intent) restoreSaved(root folder) error { return it.put(root, it.Saved) }

// writeApproved makes the files what they are after it.
func (it *intent) writeApproved(root folder) error { return it.put(root, it.Approved) }

func (it *intent) put(root folder, c contents) error {
	p, err := it.where()
	if err != nil {
		return err
	}
	if err := writeAtomic(root, p.document(), c.Document); err != nil {
		return err
	}
	if c.Metadata != nil {
		return writeAtomic(root, p.metadata(), c.Metadata)
	}
	if err := root.Remove(p.metadata()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
