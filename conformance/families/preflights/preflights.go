// Package preflights is the S3 family: it asks what a request leaves open and
// writes the decision and the task into the repository (tools.md part 5).
package preflights

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/llm"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/repo"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/session"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Name is the family's name, and that of its error profile.
const Name = "preflights"

// Options configures the family.
type Options struct {
	// WorkDir is where the search for the repository starts when a call names
	// none: the server's working directory, in S3's words. It is never taken
	// from the process on its own, see DataDir.
	WorkDir string
	// DataDir, when WorkDir is empty, holds the repository of calls that name
	// none: DataDir/repository, made with an empty .git when it is first
	// needed. So a server on temporary data, which is what a conformance run
	// starts, never writes into the checkout it was started in. With neither,
	// such calls are answered with REPO_NOT_FOUND.
	DataDir string
	// Temporary says that DataDir is removed at the end.
	Temporary bool
	// Confined refuses a repo_path outside of Repos, of the repository of WorkDir
	// and of that in DataDir: a client over HTTP may not name any folder that this
	// process can write. Links are followed before it is decided. A folder of
	// Repos that does not exist is an error of New.
	Confined bool
	Repos    []string
	// LLM selects the language model; the zero value is the deterministic mock.
	LLM llm.Config
	// Logger gets what happens beside the lines of the calls; nil drops it.
	Logger *slog.Logger
	// Random is the source of session ids and UID suffixes; nil is crypto/rand.
	Random io.Reader
}

// New returns the family. An unknown language model, or one without a key, is
// an error.
func New(opts Options) (*family.Family, error) {
	s, err := newService(opts)
	if err != nil {
		return nil, err
	}
	return &family.Family{Name: Name, Profile: Name, Tools: []family.Tool{s.clarifyTool(), s.readTool()}}, nil
}

// service is what the two tools share.
type service struct {
	place    place
	model    *llm.Fallback
	sessions *session.Store[*clarification]
	uids     *adr.Generator
	random   io.Reader
	locks    repo.Locks
	log      *slog.Logger
}

func newService(opts Options) (*service, error) {
	model, err := llm.New(opts.LLM)
	if err != nil {
		return nil, err
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	where := place{workDir: opts.WorkDir, dataDir: opts.DataDir, temporary: opts.Temporary, confined: opts.Confined}
	for _, dir := range opts.Repos {
		if err := where.allow(dir); err != nil {
			return nil, err
		}
	}
	return &service{
		place:    where,
		model:    model,
		sessions: session.NewStore[*clarification](),
		uids:     adr.NewGenerator(opts.Random),
		random:   opts.Random,
		log:      opts.Logger,
	}, nil
}

// newSessionID returns an id that nobody guesses: callers that have it can read the
// questions and give the answers.
func (s *service) newSessionID() (string, error) {
	var b [15]byte
	if _, err := io.ReadFull(s.random, b[:]); err != nil {
		return "", fmt.Errorf("session id: %w", err)
	}
	return "sess-" + strings.ToLower(base32.StdEncoding.EncodeToString(b[:])), nil
}

// The input schemas of Appendix A, verbatim.
var (
	clarifySchema = json.RawMessage(`{"type":"object","required":["user_intention"],"additionalProperties":false,"properties":{"user_intention":{"type":"string"},"optional_context":{"type":["string","null"]},"session_id":{"type":["string","null"]},"answers":{"type":["object","null"],"additionalProperties":true},"preferences":{"type":["object","null"],"properties":{"force_adr":{"type":"boolean"}}},"repo_path":{"type":["string","null"]}}}`)
	readSchema    = json.RawMessage(`{"type":"object","properties":{"repo_path":{"type":["string","null"]}},"additionalProperties":false}`)
)
