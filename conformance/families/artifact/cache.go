package artifact

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// checklistTTL is how long a checklist counts as fresh after its load (S0).
const checklistTTL = 5 * time.Minute

// checklists reads checklists from a file system through a cache. Callers that
// miss at the same time share one load; a failed load is not remembered.
type checklists struct {
	files fs.FS

	mu      sync.Mutex
	loaded  map[string]loadedChecklist
	loading map[string]*checklistLoad
}

type loadedChecklist struct {
	list *checklist
	at   time.Time
}

// checklistLoad is a load in flight. Its results are set before done closes.
type checklistLoad struct {
	done chan struct{}
	list *checklist
	err  error
}

func newChecklists(files fs.FS) *checklists {
	return &checklists{
		files:   files,
		loaded:  make(map[string]loadedChecklist),
		loading: make(map[string]*checklistLoad),
	}
}

func checklistID(t artifactType) string { return t.Name + "_validation_v1" }

// get returns the checklist for documents of type t. Freshness is judged at
// the instant now: an entry is stale from the moment it is checklistTTL old.
func (c *checklists) get(ctx context.Context, now time.Time, t artifactType) (*checklist, error) {
	id := checklistID(t)
	c.mu.Lock()
	if e, ok := c.loaded[id]; ok && now.Sub(e.at) < checklistTTL {
		c.mu.Unlock()
		return e.list, nil
	}
	load, running := c.loading[id]
	if !running {
		load = &checklistLoad{done: make(chan struct{})}
		c.loading[id] = load
	}
	c.mu.Unlock()
	if !running {
		c.load(load, now, t)
	}
	select {
	case <-load.done:
		return load.list, load.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// load runs in the goroutine of the first caller that missed. It reads a local
// file, so it is not worth a goroutine that outlives that caller.
func (c *checklists) load(load *checklistLoad, now time.Time, t artifactType) {
	id := checklistID(t)
	defer func() {
		c.mu.Lock()
		delete(c.loading, id)
		if load.err == nil && load.list != nil {
			c.loaded[id] = loadedChecklist{load.list, now}
		}
		c.mu.Unlock()
		close(load.done)
	}()
	load.err = errors.New("checklist load did not finish") // what waiters get if the next line panics
	load.list, load.err = readChecklist(c.files, id, t.Name)
}

func readChecklist(files fs.FS, id, typeName string) (*checklist, error) {
	data, err := fs.ReadFile(files, id+".json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFound("Checklist not found: " + id)
	case errors.Is(err, fs.ErrPermission):
		return nil, permission(err, "Checklist cannot be read: "+id)
	case err != nil:
		return nil, &family.Error{Code: codeInternal, Message: "Internal error: Checklist cannot be read: " + id, Err: err}
	}
	list, err := parseChecklist(data, typeName)
	if err != nil {
		return nil, &family.Error{Code: codeInternal, Message: "Internal error: Checklist is not valid: " + id + ": " + err.Error(), Err: err}
	}
	return list, nil
}
