package preflights

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/llm"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/repo"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/task"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// complete writes what a session has settled. The language model is asked
// before the repository is locked: others need not wait for it.
func (s *service) complete(ctx context.Context, call *family.Call, c *clarification) (*completed, error) {
	state, broken := readState(c.root)
	if broken != nil {
		state = &architecture{}
	}
	verdict := c.verdict(state)
	var decision *llm.Decision
	if verdict.ADR {
		if broken != nil {
			return nil, broken
		}
		d, cause, err := s.model.Extract(ctx, c.request(true), c.fellBack)
		switch {
		case errors.Is(err, llm.ErrNothing):
			return nil, failure(codeExtraction, "No decision could be taken from the answers", "Retry with answers that say what was decided, in the same session", nil)
		case err != nil:
			return nil, err
		}
		s.fellBack(ctx, call, c, cause)
		decision = &d
	}
	unlock, err := s.locks.Lock(ctx, c.root)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fileFailure(err)
	}
	defer unlock()
	docs, err := repo.Open(c.root)
	if err != nil {
		return nil, fileFailure(err)
	}
	defer func() { _ = docs.Close() }() // every file in it has been closed
	if err := docs.Sweep(".", adrFolder, archiveFolder); err != nil {
		call.Warn(ctx, "temporary_files_left", slog.String("error", err.Error())) // they harm nobody
	}
	w := &writer{service: s, docs: docs, change: docs.Begin(), session: c}
	if err := w.write(decision); err != nil {
		if undo := w.change.Undo(); undo != nil {
			call.Log().ErrorContext(ctx, "undo_failed", "error", undo.Error())
		}
		return nil, asFault(err)
	}
	done := &completed{Status: "completed", Created: w.created, Archived: w.archived, Summary: w.summary, warning: c.warning()}
	s.locate(done, c)
	return done, nil
}

// locate tells a caller that named no repository where the files are.
func (s *service) locate(done *completed, c *clarification) {
	if c.named {
		return
	}
	done.Repository = c.root
	if s.place.own(c.root) {
		done.Summary += " The files are in a repository of the server, " + c.root + "."
		if s.place.temporary {
			done.Summary += " It is removed when the server stops."
		}
		done.Summary += " Name repo_path, or start the server with --work-dir, to write into yours."
	}
}

// asFault makes sure that what failed while writing is answered in the form of
// the family.
func asFault(err error) error {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, adr.ErrUIDRange) {
		return failure(codeValidation, "No later UID is possible", "Remove the document whose UID lies in the year 9999", nil)
	}
	return fileFailure(err)
}

// writer writes the documents of one session. Its change is undone as a whole.
type writer struct {
	service *service
	docs    *repo.Docs
	change  *repo.Change
	session *clarification

	created  []document
	archived *document
	summary  string
}

// write writes the ADR if there is a decision, archives the old task, then
// writes the new one and the projection (§5.2: everything is judged before the
// first of them). What fails is undone. A process that is killed leaves what it
// has written, and that is not undone by the next: the ADR is complete and
// counts from the moment it is there, others may have read it or built on it,
// and no record is ever removed (S3-IMM-01). The caller got no answer and asks
// again, for the task that is missing; a projection left behind is written by
// the next session of any kind.
func (w *writer) write(decision *llm.Decision) error {
	state, err := loadArchitecture(w.docs)
	if err != nil && decision != nil {
		return err
	}
	old, err := w.oldTask()
	if err != nil {
		return err
	}
	after, err := w.highest(state, old)
	if err != nil {
		return err
	}
	var rec *adr.Record
	if decision != nil {
		if rec, err = w.writeADR(state, decision, after); err != nil {
			return err
		}
	}
	if err := w.archive(old, after); err != nil {
		return err
	}
	if err := w.writeTask(rec, after); err != nil {
		return err
	}
	return w.project(state, rec)
}

// writeADR creates the ADR: the complete snapshot with the decision applied.
func (w *writer) writeADR(state *architecture, d *llm.Decision, after adr.UID) (*adr.Record, error) {
	base, err := state.base(w.docs)
	if err != nil {
		return nil, err
	}
	var rec *adr.Record
	err = w.service.fresh(adr.KindADR, after, func(uid adr.UID) error {
		rec = w.session.record(uid, state.latest, base, d)
		return w.change.Create(path.Join(adrFolder, adr.FileName(uid, rec.Title)), []byte(rec.Format()))
	})
	if err != nil {
		return nil, err
	}
	w.add("adr", path.Join(adrFolder, adr.FileName(rec.UID, rec.Title)), rec.UID)
	return rec, nil
}

// fresh calls create with a new UID, and again with another one when the name
// is taken: a file that is there is never touched (S3-IMM-03).
func (s *service) fresh(kind adr.Kind, after adr.UID, create func(adr.UID) error) error {
	for tries := 1; ; tries++ {
		uid, err := s.uids.Next(kind, time.Now(), after)
		if err != nil {
			return err
		}
		err = create(uid)
		if !errors.Is(err, fs.ErrExist) || tries == 5 {
			return err
		}
	}
}

// previousTask is CURRENT_TASK.md as it was.
type previousTask struct {
	id   task.Identity
	text []byte
}

func (w *writer) oldTask() (*previousTask, error) {
	text, err := w.docs.Read(currentTask)
	if absent(err) {
		return nil, nil //nolint:nilnil // there is none, which is no failure
	}
	if err != nil {
		return nil, err
	}
	id, err := task.ParseIdentity(string(text))
	if err != nil {
		return nil, failure(codeParse, "docs/CURRENT_TASK.md is malformed", "Fix or remove docs/CURRENT_TASK.md by hand",
			map[string]any{"file": path.Join(repo.Folder, currentTask), "reason": err.Error()})
	}
	return &previousTask{id, text}, nil
}

// highest returns the highest UID in the repository, above which a new one
// must be, or the new ADR would not be the latest. Among themselves the new ones
// are in order anyway: they come from one generator.
func (w *writer) highest(state *architecture, old *previousTask) (adr.UID, error) {
	var uid adr.UID
	if state != nil && state.latest != nil {
		uid = state.latest.UID
	}
	if old != nil {
		uid = max(uid, old.id.UID)
	}
	names, err := w.docs.List(archiveFolder)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if archived, ok := adr.FileUID(name); ok {
			uid = max(uid, archived)
		}
	}
	return uid, nil
}

// archive keeps the old task, byte for byte, under its own UID (S3-IMM-02).
// The UID is taken only if somebody put back an archived task by hand and
// changed it: then the archive gets it under a new one.
func (w *writer) archive(old *previousTask, after adr.UID) error {
	if old == nil {
		return nil
	}
	uid := old.id.UID
	name := path.Join(archiveFolder, adr.FileName(uid, old.id.Title))
	err := w.change.Create(name, old.text)
	if errors.Is(err, fs.ErrExist) {
		if kept, rerr := w.docs.Read(name); rerr == nil && bytes.Equal(kept, old.text) {
			err = nil
		} else {
			err = w.service.fresh(adr.KindTask, after, func(fresh adr.UID) error {
				uid = fresh
				name = path.Join(archiveFolder, adr.FileName(uid, old.id.Title))
				return w.change.Create(name, old.text)
			})
		}
	}
	if err != nil {
		return err
	}
	w.archived = &document{Path: path.Join(repo.Folder, name), Type: "task", UID: uid}
	return nil
}

func (w *writer) writeTask(rec *adr.Record, after adr.UID) error {
	uid, err := w.service.uids.Next(adr.KindTask, time.Now(), after)
	if err != nil {
		return err
	}
	t, err := w.session.task(uid, rec)
	if err != nil {
		return err
	}
	if err := w.change.Replace(currentTask, []byte(t.Format())); err != nil {
		return err
	}
	w.add("task", currentTask, "")
	w.summary = "Task created: " + t.Title + "."
	if rec != nil {
		w.summary = strings.Join(rec.Changes, ", ") + ". Decision documented and task created."
	}
	return nil
}

// project writes the projection of a new ADR, or that of the latest one when
// it is missing, since it is safe to delete (§2.4 of S3), or is still that of an
// earlier one, since a process was killed or branches were merged. One that was
// edited stays until the next ADR.
func (w *writer) project(state *architecture, rec *adr.Record) error {
	if rec == nil {
		if state == nil || state.latest == nil {
			return nil
		}
		head, err := w.docs.Head(projectionFile, headBytes)
		if shown := adr.ProjectionUID(string(head)); !absent(err) && (shown == "" || shown >= state.latest.UID) {
			return nil
		}
		rec = state.latest
	}
	if err := w.change.Replace(projectionFile, []byte(rec.Projection())); err != nil {
		return err
	}
	w.add("projection", projectionFile, "")
	return nil
}

func (w *writer) add(kind, name string, uid adr.UID) {
	w.created = append(w.created, document{Path: path.Join(repo.Folder, name), Type: kind, UID: uid})
}
