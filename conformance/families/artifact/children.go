package artifact

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// A group is the sub-artifacts of one type that an approval makes tasks for.
type group struct {
	of           artifactType
	placeholders []string
	// fixed are the ids of a group that needs no reservation.
	fixed []string
}

// plan is the groups of one artifact.
type plan []group

func (p plan) found() []string {
	out := []string{}
	for _, g := range p {
		out = append(out, g.placeholders...)
	}
	return out
}

// findChildren finds what an artifact is broken down into: an epic into the
// one PRD of its number, which needs no reservation; anything else into what
// its placeholders name. Placeholders of other types are not its own, and stay.
// A word that only looks like a placeholder of its own is an error that names it
// and its line.
func findChildren(p place, text string) (plan, error) {
	var out plan
	var unclear []lookAlike
	total := 0
	for _, name := range children(p.Type) {
		t, ok := typeNamed(name)
		if !ok {
			continue
		}
		g := group{of: t}
		var alike []lookAlike
		g.placeholders, alike = placeholders(text, t.Prefix)
		unclear = append(unclear, alike...)
		n := len(g.placeholders)
		if p.Type.Name == "epic" {
			_, number, _ := strings.Cut(p.ID, "-")
			g.fixed = []string{t.Prefix + "-" + number}
			if n > 1 {
				return nil, tooMany(p.ID, n, t.Prefix, "an epic becomes one "+t.Prefix)
			}
			n = 1
		}
		if n == 0 {
			continue
		}
		if n > maxRange {
			return nil, tooMany(p.ID, n, t.Prefix, "at most 100 ids can be reserved at once")
		}
		if total += n; total > maxTasks {
			return nil, tooMany(p.ID, total, "sub-artifact", "at most 100 tasks can be added at once")
		}
		out = append(out, g)
	}
	if len(unclear) > 0 {
		e := family.Invalid("artifact_id", "undefined_placeholders", "Artifact %s cannot be approved: %s", p.ID, notDefined(unclear))
		e.Data["artifact_id"], e.Data["undefined"] = p.ID, unclear
		return nil, e
	}
	return out, nil
}

func tooMany(id string, n int, kind, why string) *family.Error {
	e := family.Invalid("artifact_id", "placeholders", "Artifact %s has %d %s placeholders: %s", id, n, kind, why)
	e.Data["artifact_id"], e.Data["count"] = id, n
	return e
}

// resolve works out the tasks of the sub-artifacts with all their inputs, and
// checks them as add_task does: by now the artifact is Approved on disk.
func (a *approval) resolve(ctx context.Context, parent place, call *family.Call) error {
	for _, c := range a.it.Children {
		t, ok := typeNamed(c.Type)
		if !ok {
			continue
		}
		task, err := a.task(ctx, c.ID, generatorFor(t), parent)
		if err != nil {
			return err
		}
		a.it.Tasks = append(a.it.Tasks, task)
	}
	describe(a.it.Tasks)
	if len(a.it.Tasks) == 0 {
		return nil
	}
	check := taskChecker{store: a.store, research: a.queue.research, call: call, approving: parent.ID}
	if err := check.check(ctx, a.it.Tasks); err != nil {
		return err
	}
	a.event(ctx, "generator_inputs_resolved", slog.Int("tasks", len(a.it.Tasks)))
	return nil
}

func (a *approval) task(ctx context.Context, id string, g generator, parent place) (rest.Task, error) {
	task := rest.Task{ArtifactID: id, Generator: g.Name(), Status: "pending", TaskID: a.it.Workflow}
	for _, name := range g.Mandatory {
		if name == parent.Type.Name { // another one is missed by the check
			task.Inputs = append(task.Inputs, rest.Input{
				Name: name, Classification: mandatory, ArtifactType: name, ArtifactID: parent.ID,
				ResourcePath: parent.resourcePath(), MCPResourceURI: parent.uri(), Status: statusApproved,
			})
		}
	}
	for _, name := range g.Recommended {
		file := a.queue.research.files[name]
		data, err := a.queue.research.read(a.store, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // recommended only
		}
		if err != nil {
			return task, err
		}
		if status := researchStatus(data); status != statusFinalized {
			a.log.LogAttrs(ctx, slog.LevelWarn, "research_not_finalized", slog.String("input", name), slog.String("status", quoted(status)))
			continue
		}
		task.Inputs = append(task.Inputs, rest.Input{
			Name: name, Classification: recommended, ArtifactType: researchDir, ArtifactID: "N/A",
			ResourcePath:   pathRoot + researchDir + "/" + file,
			MCPResourceURI: resourceRoot + researchDir + "/" + file, Status: statusFinalized,
		})
	}
	return task, nil
}
