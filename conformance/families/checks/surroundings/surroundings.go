// Package surroundings prepares what the checks of the tool families need around a
// server: folders that the suite shares with it, and REST services that the suite plays.
package surroundings

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Key is the name of [Fixtures] in the fixtures of conformance.Options.
const Key = "families"

// Settings of servers that offer the families.
const (
	EnvArtifacts  = "ARTIFACTS_BASE_DIR"
	EnvChecklists = "VALIDATION_RESOURCES_DIR"
	EnvInputs     = "DOCLING_INPUT_ROOTS"
	envSession    = "REFSERVER_SESSION_TOKEN"
)

// The fixtures that scenarios may need.
const (
	// Artifacts: the suite can look at the folder in which the server stores artifacts.
	Artifacts = "artifacts"
	// Checklists: the suite chooses the folder of the server's checklists.
	Checklists = "checklists"
	// PlayedServices: the suite plays the REST services of the server. It sees their
	// requests and can make them fail.
	PlayedServices = "services"
	// REST: the suite can reach the REST services of the server.
	REST = "rest"
)

// Fixtures are the folders the suite shares with the server under test. For a program the
// run makes the folders and names them in its environment. For other servers the caller
// may name them.
type Fixtures struct {
	// Artifacts is the folder the server stores artifacts in.
	Artifacts string
	// Checklists is a folder of checklists the server uses in place of its
	// own. The suite writes its checklists there.
	Checklists string
	// TasksURL and IDsURL are the addresses of the server's Task Tracking and ID
	// Management services. If they are empty, the suite reads them from the line
	// "services_started" in the log of the program. APIKey is the bearer token of
	// both services, empty for none.
	TasksURL, IDsURL, APIKey string
	// Inputs is a folder the server converts documents from. The suite writes
	// into it.
	Inputs string
	// SessionToken is a session token that save_artifact takes.
	SessionToken string
	// ConcurrentWrites is how often a document is written while others read it; 0 means 200.
	ConcurrentWrites int
	// ReadStored reads a file that the server stored; nil means os.ReadFile.
	ReadStored func(name string) ([]byte, error)
	// PermissionsEnforced reports whether file permissions stop this process and the
	// programs that it starts; root ignores them. Nil means that the run finds out.
	PermissionsEnforced *bool
}

// Services are the services that the suite plays for one program.
type Services interface {
	// Environ returns their addresses for the program, as KEY=value.
	Environ() []string
	// Close ends them.
	Close()
}

// Setup is what the families bring to the surroundings.
type Setup struct {
	// Tools are the tools that use any of it: a program that lists one of them, which
	// may be called, is started with the environment of the fixtures.
	Tools []string
	// Fill writes the suite's checklists into their folder.
	Fill func(checklists string) error
	// Play starts the services that the suite plays for the program.
	Play func() (Services, error)
}

// Environment implements conformance.Environment.
type Environment struct {
	Fixtures
	// Own reports that the folders belong to the run and are removed with it.
	Own bool
	// Services are those that the suite plays, nil for none.
	Services Services

	process bool
	root    string // of the folders, if they are the run's own
}

// Of returns the surroundings of a scenario.
func Of(t *engine.Trial) *Environment {
	if e, ok := t.Rev.Environment.(*Environment); ok {
		return e
	}
	return &Environment{}
}

// Prepare makes the surroundings for one revision: new folders for each one, so that no
// revision finds what another one stored.
func (s Setup) Prepare(r *engine.RevisionRun) (engine.Environment, error) {
	given, _ := r.Opts.Fixtures[Key].(Fixtures)
	if given.ConcurrentWrites == 0 {
		given.ConcurrentWrites = 200
	}
	if given.ReadStored == nil {
		given.ReadStored = os.ReadFile
	}
	if given.PermissionsEnforced == nil {
		enforced := permissionsEnforced()
		given.PermissionsEnforced = &enforced
	}
	e := &Environment{Fixtures: given, process: r.IsProcess()}
	uses := func(t wire.Tool) bool { return slices.Contains(s.Tools, t.Name) && r.MayCall(t.Name) }
	if e.process && slices.ContainsFunc(r.Tools, uses) {
		if err := e.own(s.Play); err != nil {
			e.Close()
			return nil, err
		}
	}
	if e.Checklists != "" {
		if err := s.Fill(e.Checklists); err != nil {
			e.Close()
			return nil, err
		}
	}
	return e, nil
}

// own makes folders and services of the run's own.
func (e *Environment) own(play func() (Services, error)) error {
	root, err := os.MkdirTemp("", "mcp-conformance-")
	if err != nil {
		return engine.SuiteError(err)
	}
	e.Own, e.root = true, root
	e.Artifacts, e.Checklists = filepath.Join(root, "base", "artifacts"), filepath.Join(root, "checklists")
	e.Inputs, e.SessionToken = filepath.Join(root, "inputs"), uuid.NewString()
	for _, dir := range []string{e.Artifacts, e.Checklists, e.Inputs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return engine.SuiteError(err)
		}
	}
	e.Services, err = play()
	return err
}

// Close implements conformance.Environment.
func (e *Environment) Close() {
	if e.Services != nil {
		e.Services.Close()
	}
	if e.root != "" {
		_ = os.RemoveAll(e.root) // a temporary folder: nothing is lost if it remains
	}
}

// Lacks implements conformance.Environment.
func (e *Environment) Lacks(fixture string) string {
	switch {
	case fixture == Artifacts && e.Artifacts == "":
		return "a look at the server's artifacts folder"
	case fixture == Checklists && e.Checklists == "":
		return "a folder of checklists for the server"
	case fixture == PlayedServices && e.Services == nil:
		return "a server the suite starts as a program, to play its services"
	case fixture == REST && e.TasksURL == "" && !e.process:
		return "to know where the server's REST services are"
	}
	return ""
}

// Environ implements conformance.Environment.
func (e *Environment) Environ(fixture string) []string {
	var env []string
	set := func(name, value string) {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	set(EnvArtifacts, e.Artifacts)
	set(EnvInputs, e.Inputs)
	set(envSession, e.SessionToken)
	switch {
	case fixture == Checklists:
		env = append(env, EnvChecklists+"="+e.Checklists)
	case fixture == PlayedServices && e.Services != nil:
		env = append(env, e.Services.Environ()...)
	}
	return env
}

// permissionsEnforced reports whether file permissions stop this process. They do not
// stop the superuser. Servers that it starts run as the same user.
func permissionsEnforced() bool {
	dir, err := os.MkdirTemp("", "mcp-conformance-")
	if err != nil {
		return false
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o500); err != nil { //nolint:gosec // a folder needs x to be entered
		return false
	}
	return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) != nil
}
