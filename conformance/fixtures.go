package conformance

import (
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

// Settings of servers that offer the artifact family.
const (
	EnvArtifacts  = "ARTIFACTS_BASE_DIR"
	EnvChecklists = "VALIDATION_RESOURCES_DIR"
)

// Settings of servers that offer the docling and the assistant family.
const (
	EnvInputs  = "DOCLING_INPUT_ROOTS"
	envSession = "REFSERVER_SESSION_TOKEN"
)

// Fixtures are the folders the suite shares with the server under test. For a
// [CommandSubject] the run makes them and names them in the environment of the
// program; for other subjects the caller may say which they are.
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
	// WrongAudienceToken is an access token that the authorization server of the subject
	// issued for another server. WeakToken is one without a scope that some request
	// needs. Empty skips what is judged with them.
	WrongAudienceToken, WeakToken string
}

// Surroundings is what scenarios need around a program that they judge, besides the
// folders of [Fixtures].
type Surroundings struct {
	// Tools are the tools that use any of it: a program that lists one of them, which
	// may be called, is started with the environment of the fixtures.
	Tools []string
	// Fill writes into the folders what the scenarios want to find there.
	Fill func(Fixtures) error
	// Play starts the services that the suite plays for the program.
	Play func() (Services, error)
}

// Services is what the suite plays for one program.
type Services interface {
	// Environ tells the program where they are, as KEY=value.
	Environ() []string
	// Close ends them.
	Close()
}

// profile is a way to start the subject.
type profile int

const (
	// profilePlain is the subject with its own checklists.
	profilePlain profile = iota
	// profileChecklists is the subject with the checklists of the suite.
	profileChecklists
	// profileServices is the subject on services that the suite plays.
	profileServices
)

// makeFixtures makes temporary folders for a program and returns what removes
// them.
func makeFixtures() (Fixtures, func(), error) {
	root, err := os.MkdirTemp("", "mcp-conformance-")
	if err != nil {
		return Fixtures{}, nil, Ours(err)
	}
	remove := func() { _ = os.RemoveAll(root) } // a temporary folder: nothing is lost when it stays
	f := Fixtures{
		Artifacts: filepath.Join(root, "base", "artifacts"), Checklists: filepath.Join(root, "checklists"),
		Inputs: filepath.Join(root, "inputs"), SessionToken: uuid.NewString(),
	}
	for _, dir := range []string{f.Artifacts, f.Checklists, f.Inputs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			remove()
			return Fixtures{}, nil, Ours(err)
		}
	}
	return f, remove, nil
}

// environ returns the settings that make a program use the folders.
func (f Fixtures) environ(p profile) []string {
	var env []string
	if f.Artifacts != "" {
		env = append(env, EnvArtifacts+"="+f.Artifacts)
	}
	if f.Inputs != "" {
		env = append(env, EnvInputs+"="+f.Inputs)
	}
	if f.SessionToken != "" {
		env = append(env, envSession+"="+f.SessionToken)
	}
	if p == profileChecklists {
		env = append(env, EnvChecklists+"="+f.Checklists)
	}
	return env
}

// permissionsBind reports whether file permissions stop this process, which
// they do not when it runs as the superuser; servers it starts run as the same
// user.
func permissionsBind() bool {
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
