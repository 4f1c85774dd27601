// Package coe is the S1 family: the tools by which coding agents work on the
// plan of an orchestrator (tools.md part 3). Both versions of a tool that has
// two are served, chosen by the shape of the arguments or by _meta.version.
package coe

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/agent"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/limit"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/presence"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Name is the family's name, and that of its error profile.
const Name = "coe"

// A TaskShape is the form of getNextTask's answer (C-09).
type TaskShape string

// The shapes.
const (
	// Enhanced is the full specification, and the default.
	Enhanced TaskShape = "enhanced"
	// Implemented is what S1 says has been built so far.
	Implemented TaskShape = "implemented"
	// Legacy is the bare task of the backward compatible answer.
	Legacy TaskShape = "legacy"
)

// A Permission is what an agent may do.
type Permission string

// The permissions. An agent that has none of its own has that of [AnyAgent];
// without one it may do everything, admin tools included.
const (
	ReadOnly Permission = "read-only"
	Write    Permission = "write"
)

// AnyAgent stands in Options.Permissions for every agent not named there.
const AnyAgent = "*"

// firstTicket is the number of the first ticket of S1's examples, TK-123.
const firstTicket = 123

// Options configures the family. The zero value keeps everything in memory and
// starts with the sample plan.
type Options struct {
	// DataDir is the folder of the database of tickets, records and task states,
	// made if it is missing. Processes may share it. Empty keeps them in memory.
	DataDir string
	// Durable waits for the disk at every commit. Without it a crash of the
	// machine, not of the server, may lose the last tickets.
	Durable bool
	// NextTask is the shape of getNextTask's answer; empty is [Enhanced].
	NextTask TaskShape
	// NoOrchestrator lets getNextTask answer ORCHESTRATOR_NOT_INITIALIZED, as in
	// S1's standalone mode.
	NoOrchestrator bool
	// AnswerDelay is how long the answer team takes; AnswerTimeout how long
	// askQuestion waits for it, 0 is 30 s.
	AnswerDelay, AnswerTimeout time.Duration
	// TokenLimit is COE_TOKEN_LIMIT: a question may have 80 % of it. 0 is 5000.
	TokenLimit int
	// Rates are the rate limits; nil is [limit.Defaults], &limit.Rates{} none.
	Rates *limit.Rates
	// Permissions are the agents' permissions, by name.
	Permissions map[string]Permission
	// AllowFaultInjection serves the methods _test/inject and _test/reset; Faults
	// are armed from the start and need it.
	AllowFaultInjection bool
	Faults              []faults.Fault
	// Admin serves clearQueue and resetPlan, which are off by default.
	Admin bool
	// Seed is the plan to start with; nil is [plan.Sample].
	Seed *plan.Seed
	// Knowledge is what questions are answered from; nil is [knowledge.Shipped],
	// about the sample plan.
	Knowledge *knowledge.Base
	// Repository are the files of a repository that questions are answered from as
	// well, see [knowledge.LoadRepository]; nil is none.
	Repository *knowledge.Base
	// Agent answers callCOEAgent instead of the built-in rules; nil is none.
	Agent agent.Provider
	// Lease is how long an agent may have a task without being heard of: then others
	// get it. 0 is forever.
	Lease time.Duration
	// RetryBackoff is the first of the growing waits for a locked database; 0 is
	// 50 ms.
	RetryBackoff time.Duration
	// SessionRuns says whether the session with an id has not ended yet. A task that
	// was handed out to an agent without a name, and that it has not started, is
	// handed out again when its session has ended. Nil means that sessions never end.
	SessionRuns func(session string) bool
	// Logger gets what happens in the background; nil drops it.
	Logger *slog.Logger

	// reached is called with how far a write has come, for tests.
	reached func(step string)
	// samplePlan says that Seed is the plan built in.
	samplePlan bool
}

// check returns an error for options that no server can have, and fills in the
// defaults of the others.
func (o *Options) check() error {
	if o.NextTask == "" {
		o.NextTask = Enhanced
	}
	if o.NextTask != Enhanced && o.NextTask != Implemented && o.NextTask != Legacy {
		return fmt.Errorf("coe: unknown shape %q of getNextTask, known: %s, %s, %s", o.NextTask, Enhanced, Implemented, Legacy)
	}
	for agent, p := range o.Permissions {
		if p != ReadOnly && p != Write {
			return fmt.Errorf("coe: unknown permission %q of agent %q, known: %s, %s", p, agent, ReadOnly, Write)
		}
	}
	if o.AnswerTimeout == 0 {
		o.AnswerTimeout = 30 * time.Second
	}
	if o.TokenLimit == 0 {
		o.TokenLimit = 5000
	}
	if o.AnswerDelay < 0 || o.AnswerTimeout < 0 || o.TokenLimit < 0 || o.RetryBackoff < 0 || o.Lease < 0 {
		return errors.New("coe: delays and limits are not negative")
	}
	if len(o.Faults) > 0 && !o.AllowFaultInjection {
		return errors.New("coe: faults need fault injection to be allowed")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Rates == nil {
		rates := limit.Defaults()
		o.Rates = &rates
	}
	if o.Seed == nil {
		seed := plan.Sample()
		o.Seed, o.samplePlan = &seed, true
	}
	if o.Knowledge == nil {
		o.Knowledge = knowledge.Shipped()
	}
	return nil
}

// server is one instance of the family with its state.
type server struct {
	*board

	opts Options
	// history shows what was reported.
	history *history
	team    *knowledge.Team
	limits  *limit.Limiter
	faults  *faults.Set // nil unless injection is allowed
	tools   []tool
}

//go:embed schemas.json
var schemasFile []byte

// New returns the family with a state of its own.
func New(opts Options) (*family.Family, error) {
	s, err := newServer(opts)
	if err != nil {
		return nil, err
	}
	return s.family(), nil
}

// family is the server as the family that is registered.
func (s *server) family() *family.Family {
	f := &family.Family{
		Name: Name, Profile: Name, Direct: true,
		Admit: s.admit, Refuse: s.refuse, Close: s.close, Resources: s.history.resources(),
	}
	for _, t := range s.tools {
		f.Tools = append(f.Tools, s.serve(t))
	}
	if s.opts.AllowFaultInjection {
		f.Methods = map[string]func(context.Context, *family.Call) (any, error){injectMethod: s.inject, resetMethod: s.reset}
	}
	return f
}

func newServer(opts Options) (*server, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := &server{
		board:  &board{log: opts.Logger, runs: opts.SessionRuns, sessions: map[plan.Holder]string{}, lease: opts.Lease},
		opts:   opts,
		team:   &knowledge.Team{Delay: opts.AnswerDelay},
		limits: limit.New(*opts.Rates),
	}
	s.tools = s.catalogue()
	if opts.AllowFaultInjection {
		s.faults = &faults.Set{}
	}
	for _, f := range opts.Faults {
		if err := f.Check(s.names()); err != nil {
			return nil, fmt.Errorf("coe: %w", err)
		}
		s.faults.Add(f)
	}
	path := ""
	if opts.DataDir != "" {
		if err := os.MkdirAll(opts.DataDir, 0o700); err != nil {
			return nil, fmt.Errorf("coe: %w", err)
		}
		path = filepath.Join(opts.DataDir, "coe.db")
	}
	//nolint:forbidigo // New has no context; opening a local file is bounded
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var err error
	s.ledger, err = ledger.Open(ctx, ledger.Options{
		Path: path, Durable: opts.Durable, FirstTicket: firstTicket, Backoff: opts.RetryBackoff, Strike: s.trouble, Logger: opts.Logger,
		Reached: opts.reached,
	})
	if err != nil {
		return nil, fmt.Errorf("coe: %w", err)
	}
	seed, err := s.keepIDs(ctx, *opts.Seed)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("coe: %s: %w", path, err), s.ledger.Close(ctx))
	}
	s.plan, s.opts.Seed = plan.New(seed), &seed
	s.history = &history{s.board}
	if s.self, err = presence.Enter(opts.DataDir); err != nil {
		return nil, errors.Join(fmt.Errorf("coe: %w", err), s.ledger.Close(ctx))
	}
	if err := s.restore(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("coe: %s: %w", path, err), s.board.close(ctx))
	}
	if !s.opts.samplePlan { // nobody changes the sample, and its ids are to be free for another plan
		s.pin(ctx)
	}
	if s.team.Index, err = openKnowledge(s.opts.answers()); err != nil {
		return nil, errors.Join(fmt.Errorf("coe: %w", err), s.board.close(ctx))
	}
	s.report()
	return s, nil
}

// close flushes what is to be written and releases what the family uses.
func (s *server) close(ctx context.Context) error {
	return errors.Join(s.board.close(ctx), s.team.Index.Close())
}

// report logs what the family works with.
func (s *server) report() {
	log, base := s.opts.Logger, s.team.Index.Base
	log.Info("coe_loaded", "plan_tasks", len(s.opts.Seed.Tasks), "plan_digest", s.opts.Seed.Digest(), "plan_is_sample", s.opts.samplePlan,
		"knowledge_entries", len(base.Entries), "knowledge_version", base.Version, "knowledge_is_sample", base.Sample)
	if len(base.Skipped) > 0 {
		log.Warn("coe_files_skipped", "count", len(base.Skipped), "first", base.Skipped[0])
	}
}

// ofSample is what descriptions of tools say of data that is not the user's.
func ofSample(sample bool, flag string) string {
	if !sample {
		return ""
	}
	return " The data are a sample: " + flag + " loads yours."
}

// maxIndexing bounds the making of the index, which takes seconds for as much as
// may be loaded.
const maxIndexing = 5 * time.Minute

func openKnowledge(b *knowledge.Base) (*knowledge.Index, error) {
	//nolint:forbidigo // New has no context; what is indexed is bounded
	ctx, cancel := context.WithTimeout(context.Background(), maxIndexing)
	defer cancel()
	return knowledge.Open(ctx, b)
}

func (s *server) names() []string {
	var names []string
	for _, t := range s.tools {
		names = append(names, t.name)
	}
	return names
}

// catalogue returns the tools in the order they are listed.
func (s *server) catalogue() []tool {
	ts := []tool{
		s.nextTaskTool(), s.taskDoneTool(), s.askTool(), s.observationTool(), s.testFailureTool(), s.verificationTool(),
		s.completedTool(), s.issueTool(), s.immediateTool(), s.statusTool(), s.ticketTool(), s.agentTool(),
	}
	if s.opts.Admin {
		ts = append(ts, s.clearTool(), s.resetTool())
	}
	schemas := schemas()
	for i := range ts {
		if ts[i].schema == nil {
			ts[i].schema = schemas[ts[i].name]
		}
	}
	return ts
}

// schemas returns the input schemas of Appendix A, by tool.
func schemas() map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(schemasFile, &m); err != nil { // the file is part of the program
		panic(err)
	}
	return m
}
