package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// maxTaskArtifact is how long the id of an artifact in the queue may be: the
// column of S0's table has 20 characters.
const maxTaskArtifact = 20

// taskChecker judges tasks by the eight rules of tools.md §2.5, in their
// order; the first that fails wins, and what is on disk beats what a task says.
type taskChecker struct {
	store    *store
	research research
	call     *family.Call
	// approving is the artifact whose approval makes the tasks. It is Approved on
	// disk and has an open intent, which for anybody else means not yet.
	approving string
}

func (c *taskChecker) check(ctx context.Context, tasks []rest.Task) error {
	root, err := c.store.open(c.store.base)
	if err != nil {
		return diskError(err)
	}
	defer func() { _ = root.Close() }()
	for i := range tasks {
		if err := c.task(ctx, root, &tasks[i], fmt.Sprintf("tasks[%d]", i)); err != nil {
			return err
		}
	}
	return unique(tasks)
}

func (c *taskChecker) task(ctx context.Context, root folder, t *rest.Task, at string) error {
	// Rule 1.
	if traverses(t.ArtifactID) {
		_, err := checkID(ctx, c.call, at+".artifact_id", t.ArtifactID)
		return err
	}
	if !idPattern.MatchString(t.ArtifactID) || len(t.ArtifactID) > maxTaskArtifact {
		return family.Invalid(at+".artifact_id", "pattern", "Invalid artifact_id format: %s", quoted(t.ArtifactID))
	}
	if _, err := typeOf(t.ArtifactID); err != nil {
		return err
	}
	// Rules 2 to 4.
	g, ok := findGenerator(t.Generator)
	if !ok {
		return family.Invalid(at+".generator", "unknown", "Unknown generator: %s", quoted(t.Generator))
	}
	if len(t.Inputs) == 0 {
		return family.Invalid(at+".inputs", "length", "inputs list must contain at least one GeneratorInput")
	}
	for _, name := range g.Mandatory {
		if !slices.ContainsFunc(t.Inputs, func(in rest.Input) bool { return in.Name == name && in.Classification == mandatory }) {
			return family.Invalid(at+".inputs", "missing", "Mandatory input '%s' missing for task %s", name, t.ArtifactID)
		}
	}
	// Rules 5 and 6 for every input, then rule 7.
	found := make([]inputFile, len(t.Inputs))
	for i, in := range t.Inputs {
		field := fmt.Sprintf("%s.inputs[%d]", at, i)
		if !strings.HasPrefix(in.MCPResourceURI, "mcp://resources/") {
			return family.Invalid(field+".mcp_resource_uri", "format", "Invalid resource_uri format")
		}
		if traversesPath(strings.TrimPrefix(in.MCPResourceURI, "mcp://")) {
			c.call.Warn(ctx, "Path traversal attempt detected", slog.String("artifact_id", quoted(in.MCPResourceURI)))
			return traversal("Resource name", in.MCPResourceURI)
		}
		var err error
		if found[i], err = c.find(ctx, root, in, field); err != nil {
			return err
		}
	}
	for i, in := range t.Inputs {
		if err := c.status(root, found[i], in, fmt.Sprintf("%s.inputs[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

// inputFile is where an input was found, a stored artifact or a research
// document with its text, and the URI it is read at.
type inputFile struct {
	place    place
	research []byte
	uri      string
}

// find looks for the file of an input (rule 6).
func (c *taskChecker) find(ctx context.Context, root folder, in rest.Input, field string) (f inputFile, err error) {
	if traversesPath(in.ResourcePath) {
		c.call.Warn(ctx, "Path traversal attempt detected", slog.String("artifact_id", quoted(in.ResourcePath)))
		return f, traversal("Resource path", in.ResourcePath)
	}
	missing := family.Invalid(field+".resource_path", "not_found", "Input file not found: %s", quoted(path.Base(in.ResourcePath)))
	missing.Data["resource_path"] = quoted(in.ResourcePath)
	rest, ok := strings.CutPrefix(in.ResourcePath, pathRoot)
	dir, file, cut := strings.Cut(rest, "/")
	if !ok || !cut {
		return f, missing
	}
	if dir == researchDir {
		f.uri = resourceRoot + researchDir + "/" + file
		f.research, err = c.research.read(c.store, file)
		if errors.Is(err, fs.ErrNotExist) {
			return f, missing
		}
		return f, err
	}
	p, ok := parsePlace(dir, file)
	if !ok {
		return f, missing
	}
	p, exists, err := c.store.locate(root, p)
	if err == nil && !exists {
		return f, missing
	}
	f.place, f.uri = p, p.uri()
	return f, err
}

// status asks the disk whether an input may be worked from (rule 7). What the
// task claims must hold as well, and be about the file it names: the generator
// reads the URI, which nothing else vouches for.
func (c *taskChecker) status(root folder, f inputFile, in rest.Input, field string) error {
	if in.MCPResourceURI != f.uri {
		return family.Invalid(field+".mcp_resource_uri", "mismatch", "Input mcp_resource_uri %s is not that of its resource_path",
			quoted(in.MCPResourceURI))
	}
	if f.place.ID == "" {
		for _, status := range []string{in.Status, researchStatus(f.research)} {
			if status != statusFinalized {
				return family.Invalid(field+".status", "not_finalized",
					"Research input '%s' must have status='Finalized' (current status: %s)", quoted(in.Name), quoted(status))
			}
		}
		return nil
	}
	if in.ArtifactID != f.place.ID || in.ArtifactType != f.place.Type.Name {
		return family.Invalid(field+".artifact_id", "mismatch", "Input artifact %s of type %s is not what its resource_path names",
			quoted(in.ArtifactID), quoted(in.ArtifactType))
	}
	approved, err := c.store.approved(root, f.place, c.approving)
	if err != nil {
		return err
	}
	if !approved || in.Status != statusApproved {
		return family.Invalid(field+".status", "not_approved", "Input artifact %s not approved", in.ArtifactID)
	}
	return nil
}

// approved reports whether the version at p is Approved for good: an approval
// that is still open can be taken back. The one of own is the caller's.
func (s *store) approved(root folder, p place, own string) (bool, error) {
	stored, err := readMetadata(root, p)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		return false, nil // lost or damaged metadata approve nothing
	}
	if stored.Status != statusApproved || p.ID == own {
		return stored.Status == statusApproved, nil
	}
	open, err := isFile(root, intentFile(p.ID))
	return err == nil && !open, err
}

// unique is rule 8.
func unique(tasks []rest.Task) error {
	count := make(map[string]int, len(tasks))
	var twice []string
	for _, t := range tasks {
		if count[t.ArtifactID]++; count[t.ArtifactID] == 2 {
			twice = append(twice, t.ArtifactID)
		}
	}
	if len(twice) == 0 {
		return nil
	}
	e := family.Invalid("tasks", "duplicate", "Duplicate artifact_id in batch")
	e.Data["artifact_ids"] = twice
	return e
}

// traversesPath is [traverses] for what is a path and may have slashes inside.
func traversesPath(p string) bool {
	return slices.ContainsFunc(strings.Split(p, "/"), traverses) || strings.HasPrefix(p, "/")
}
