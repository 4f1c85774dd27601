// Package families makes the five families of tools that the reference server serves
// besides its own: artifact, coe, docling, preflights and assistant, 29 tools in all.
// The program is cmd/refserver; in a test the server runs in the test's process.
package families

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Options configures a server with the five families. The zero value serves them on a
// fresh temporary folder that [server.Server.Close] removes.
type Options struct {
	// Options are those of every server. [New] sets Makers and Outside.
	server.Options
	// ArtifactsDir is ARTIFACTS_BASE_DIR: where store_artifact writes, instead
	// of DataDir/artifacts.
	ArtifactsDir string
	// ChecklistDir is VALIDATION_RESOURCES_DIR: where validate_artifact reads
	// its checklists, instead of the built-in ones.
	ChecklistDir string
	// Services are the two services that the artifact family uses.
	Services ServiceOptions
	// DatabaseURL is DATABASE_URL, the PostgreSQL database of tasks, ids and generated
	// artifacts. The default is an SQLite file in the data folder.
	DatabaseURL string
	// Durable makes SQLite wait for the disk at every commit.
	Durable bool
	// PluralDirs stores artifacts in prds instead of prd; they are found in either.
	PluralDirs bool
	// ResearchDir is RESEARCH_DIR: the research documents that approvals add to
	// tasks. The default is the folder research below the artifacts.
	ResearchDir string
	// UndoApprovals serves undo_approval, which takes an approval back while it has
	// had no effect.
	UndoApprovals bool
	// Deprecated serves tools that others have replaced.
	Deprecated bool
	// AllowFaultInjection serves the tools that make the server fail on purpose.
	AllowFaultInjection bool
	// COE, Docling, Preflights and Assistant are the options of these families. The
	// server supplies the folders, stores, addresses and loggers that they lack.
	COE        coe.Options
	Docling    docling.Options
	Preflights preflights.Options
	Assistant  assistant.Options
}

// ServiceOptions configure the Task Tracking and ID Management services.
type ServiceOptions struct {
	// TasksURL and IDsURL are TASK_TRACKING_API_URL and ID_MANAGEMENT_API_URL.
	// If one is empty, the server starts both services.
	TasksURL, IDsURL string
	// TasksAddr and IDsAddr are the addresses that the started services listen on. The
	// default is a free loopback port.
	TasksAddr, IDsAddr string
	// APIKey is API_KEY. The started services require it, and calls send it.
	APIKey string
	// ProjectID is PROJECT_ID, the project of approvals.
	ProjectID string
	// Reservation is RESERVATION_EXPIRATION_MINUTES. The default is 15 minutes.
	Reservation time.Duration
}

// New returns a server that can serve every family. The caller closes it. An unknown
// family and a data folder that cannot be made are errors.
func New(o Options) (*server.Server, error) {
	b := &backing{Options: o}
	o.Options.Outside = !o.local()
	o.Options.Makers = b.makers()
	return server.New(o.Options)
}

// Names returns the families that a server serves over stdio by default, HTTPNames
// those that cmd/refserver serves over HTTP by default, which are all of them.
func Names() []string { return server.Names(new(backing).makers(), false) }

// HTTPNames is described at [Names].
func HTTPNames() []string { return server.Names(allMakers(), true) }

// Check returns an error that lists the known families if names is empty or has an
// unknown one.
func Check(names []string) error { return server.CheckFamilies(allMakers(), names) }

func allMakers() []server.Maker { return slices.Concat(new(backing).makers(), server.Makers()) }

// makers is the table of families, in the order of lists.
func (b *backing) makers() []server.Maker {
	return []server.Maker{
		{Name: artifact.Name, Make: b.artifact},
		{Name: coe.Name, Make: b.coe},
		{Name: docling.Name, Make: func(*server.Setup) (*family.Family, error) { return docling.New(b.Docling) }},
		{Name: preflights.Name, Make: b.preflights},
		{Name: assistant.Name, Make: b.assistant},
	}
}

func (b *backing) artifact(s *server.Setup) (*family.Family, error) {
	base := b.ArtifactsDir
	if base == "" {
		base = filepath.Join(s.DataDir(), "artifacts")
	}
	tasksURL, idsURL, err := b.services(s)
	if err != nil {
		return nil, err
	}
	return artifact.New(artifact.Options{
		BaseDir: base, ChecklistDir: b.ChecklistDir, Deprecated: b.Deprecated, Undo: b.UndoApprovals,
		PluralDirs: b.PluralDirs, ResearchDir: b.ResearchDir,
		TasksURL: tasksURL, IDsURL: idsURL, APIKey: b.Services.APIKey, ProjectID: b.Services.ProjectID, Logger: s.Log(),
	})
}

func (b *backing) coe(s *server.Setup) (*family.Family, error) {
	o := b.COE
	if o.DataDir == "" {
		o.DataDir = filepath.Join(s.DataDir(), coe.Name)
	}
	o.Logger = s.Log()
	o.AllowFaultInjection, o.Durable = b.AllowFaultInjection, b.Durable
	o.SessionRuns = s.SessionRuns
	return coe.New(o)
}

func (b *backing) preflights(s *server.Setup) (*family.Family, error) {
	o := b.Preflights
	if o.DataDir == "" {
		o.DataDir, o.Temporary = filepath.Join(s.DataDir(), preflights.Name), s.Temporary()
	}
	o.Logger = s.Log()
	return preflights.New(o)
}

func (b *backing) assistant(s *server.Setup) (*family.Family, error) {
	o := b.Assistant
	if o.Store == nil {
		st, err := b.store(s)
		if err != nil {
			return nil, err
		}
		o.Store = st
	}
	if o.BaseURL == nil {
		o.BaseURL = s.BaseURL
	}
	o.Bearer, o.Logger = s.Bearer(), s.Log()
	return assistant.New(o)
}
