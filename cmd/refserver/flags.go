package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/agent"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/limit"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/llm"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/conformance/server/guard"
	"github.com/mainstay-mcp/mainstay/conformance/server/skills"
)

// flags are the values of the command line.
type flags struct {
	http, families, data, hosts, token string
	sse, debug                         bool
	sessionIdle                        time.Duration
	given                              map[string]bool // by name

	issuer, resource  string
	scope, toolScopes texts
	login             string
	lifetime          time.Duration

	tasksAddr, idsAddr                        string
	durable, plural, deprecated, faults, undo bool

	nextTask, rates, workDir string
	coePlan, coeKnowledge    string
	coeRepo, coeAgent        string
	coeLease                 time.Duration
	orchestrator, coeAdmin   bool
	fault, permission        texts
	repos                    texts

	skills                  string
	networks                texts
	maxResult               uint
	doclingVersion          string
	program, model, session string
}

func define(fs *flag.FlagSet) *flags {
	f := &flags{given: map[string]bool{}}
	fs.StringVar(&f.http, "http", "", "")
	fs.StringVar(&f.families, "families", "", "")
	fs.StringVar(&f.data, "data", "", "")
	fs.StringVar(&f.hosts, "allow-host", "", "")
	fs.StringVar(&f.token, "token", "", "")
	fs.DurationVar(&f.sessionIdle, "session-idle", 0, "")
	fs.StringVar(&f.issuer, "oauth-issuer", "", "")
	fs.StringVar(&f.resource, "oauth-resource", "", "")
	fs.Var(&f.scope, "oauth-scope", "")
	fs.Var(&f.toolScopes, "oauth-tool-scope", "")
	fs.StringVar(&f.login, "login", "", "")
	fs.DurationVar(&f.lifetime, "login-lifetime", tokenLifetime, "")
	fs.BoolVar(&f.sse, "sse", false, "")
	fs.BoolVar(&f.debug, "debug", false, "")
	fs.StringVar(&f.tasksAddr, "tasks-addr", "", "")
	fs.StringVar(&f.idsAddr, "ids-addr", "", "")
	fs.BoolVar(&f.durable, "durable", false, "")
	fs.BoolVar(&f.plural, "plural-dirs", false, "")
	fs.BoolVar(&f.undo, "undo-approvals", false, "")
	fs.BoolVar(&f.deprecated, "deprecated", false, "")
	fs.BoolVar(&f.faults, "allow-fault-injection", false, "")
	fs.Var(&f.fault, "fault", "")
	fs.StringVar(&f.nextTask, "coe-next-task", "", "")
	fs.BoolVar(&f.orchestrator, "with-orchestrator", true, "")
	fs.StringVar(&f.rates, "rate-limits", "on", "")
	fs.Var(&f.permission, "coe-permission", "")
	fs.BoolVar(&f.coeAdmin, "coe-admin", false, "")
	fs.StringVar(&f.coePlan, "coe-plan", "", "")
	fs.StringVar(&f.coeKnowledge, "coe-knowledge", "", "")
	fs.StringVar(&f.coeRepo, "coe-repo", "", "")
	fs.StringVar(&f.coeAgent, "coe-agent", "", "")
	fs.DurationVar(&f.coeLease, "coe-lease", 24*time.Hour, "")
	fs.StringVar(&f.workDir, "work-dir", "", "")
	fs.Var(&f.repos, "repos", "")
	fs.Var(&f.networks, "docling-allow-network", "")
	fs.UintVar(&f.maxResult, "docling-max-result", 0, "")
	fs.StringVar(&f.doclingVersion, "docling-version", "", "")
	fs.StringVar(&f.skills, "skills", "", "")
	fs.StringVar(&f.program, "assistant-program", "", "")
	fs.StringVar(&f.model, "assistant-model", "", "")
	fs.StringVar(&f.session, "assistant-session-token", "", "")
	return f
}

// parse reads flags and environment. A flag wins over a variable.
func parse(args []string, env func(string) (string, bool)) (*config, error) {
	fs := flag.NewFlagSet("refserver", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run prints the error
	f := define(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	cfg := &config{debug: f.debug}
	fs.Visit(func(set *flag.Flag) { f.given[set.Name] = true })
	switch {
	case f.given["families"]:
		cfg.opts.Families = list(f.families)
	case f.http != "":
		cfg.opts.Families = families.HTTPNames()
	default:
		cfg.opts.Families = families.Names()
		if f.skills != "" {
			cfg.opts.Families = append(cfg.opts.Families, skills.Name)
		}
	}
	if f.skills != "" && !slices.Contains(cfg.opts.Families, skills.Name) {
		return nil, errors.New("--skills needs the family skills: add it to --families")
	}
	if err := families.Check(cfg.opts.Families); err != nil {
		return nil, err
	}
	if err := f.options(&cfg.opts, variables(env)); err != nil {
		return nil, err
	}
	if err := f.address(cfg); err != nil {
		return nil, err
	}
	if err := f.logins(cfg); err != nil {
		return nil, err
	}
	return cfg, f.oauth(cfg)
}

// options fills in the options of the families.
func (f *flags) options(o *families.Options, env variables) error {
	o.DataDir, o.SSE, o.SkillsDir = f.data, f.sse, f.skills
	if f.sessionIdle < 0 {
		return fmt.Errorf("--session-idle must be a positive duration such as 5s, not %s", f.sessionIdle)
	}
	o.SessionIdle = f.sessionIdle
	o.AllowedHosts = list(strings.ToLower(f.hosts))
	o.Token = env.or("REFSERVER_TOKEN", f.token)
	o.ArtifactsDir = env.get("ARTIFACTS_BASE_DIR")
	o.ChecklistDir, o.ResearchDir = env.get("VALIDATION_RESOURCES_DIR"), env.get("RESEARCH_DIR")
	o.DatabaseURL = env.get("DATABASE_URL")
	o.Durable, o.PluralDirs, o.Deprecated, o.AllowFaultInjection = f.durable, f.plural, f.deprecated, f.faults
	o.UndoApprovals = f.undo
	o.Services = families.ServiceOptions{
		TasksURL: env.get("TASK_TRACKING_API_URL"), IDsURL: env.get("ID_MANAGEMENT_API_URL"),
		TasksAddr: f.tasksAddr, IDsAddr: f.idsAddr,
		APIKey: env.get("API_KEY"), ProjectID: env.get("PROJECT_ID"),
	}
	minutes, err := env.number("RESERVATION_EXPIRATION_MINUTES")
	if err != nil {
		return err
	}
	o.Services.Reservation = time.Duration(minutes) * time.Minute
	o.Preflights.WorkDir, o.Preflights.LLM = f.workDir, llm.ConfigFromEnv(env.get)
	// Over stdio the parent process names folders, and it can write them itself.
	o.Preflights.Repos, o.Preflights.Confined = f.repos, f.http != "" || len(f.repos) > 0
	o.Assistant.Program, o.Assistant.Model = f.program, f.model
	o.Assistant.SessionToken = env.or("REFSERVER_SESSION_TOKEN", f.session)
	o.Docling.InputRoots = filepath.SplitList(env.get("DOCLING_INPUT_ROOTS"))
	if f.maxResult > 1<<10 {
		return fmt.Errorf("--docling-max-result must be at most %d MiB, not %d", 1<<10, f.maxResult)
	}
	o.Docling.MaxResult, o.Docling.Version = int64(f.maxResult)<<20, f.doclingVersion
	for _, text := range f.networks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("--docling-allow-network: %w", err)
		}
		o.Docling.AllowNetworks = append(o.Docling.AllowNetworks, network)
	}
	return f.coe(&o.COE, env)
}

// coe fills in the options of the coe family.
func (f *flags) coe(o *coe.Options, env variables) error {
	o.NextTask, o.NoOrchestrator, o.Admin, o.Lease = coe.TaskShape(f.nextTask), !f.orchestrator, f.coeAdmin, f.coeLease
	for name, value := range map[string]*string{"coe-plan": &f.coePlan, "coe-knowledge": &f.coeKnowledge, "coe-repo": &f.coeRepo} {
		if f.given[name] && *value == "" { // a variable of the shell that is not set
			return fmt.Errorf("--%s needs a file or a folder", name)
		}
	}
	if f.coePlan != "" {
		seed, err := plan.Load(f.coePlan)
		if err != nil {
			return fmt.Errorf("--coe-plan: %w", err)
		}
		o.Seed = &seed
	}
	var err error
	if f.coeKnowledge != "" {
		if o.Knowledge, err = knowledge.Load(f.coeKnowledge); err != nil {
			return fmt.Errorf("--coe-knowledge: %w", err)
		}
	}
	if f.coeRepo != "" {
		if o.Repository, err = knowledge.LoadRepository(f.coeRepo); err != nil {
			return fmt.Errorf("--coe-repo: %w", err)
		}
	}
	if f.coeAgent != "" {
		o.Agent = agent.New(f.coeAgent)
	}
	if o.TokenLimit, err = env.number("COE_TOKEN_LIMIT"); err != nil {
		return err
	}
	if o.Rates, err = rates(f.rates); err != nil {
		return err
	}
	for _, text := range f.fault {
		fault, err := faults.Parse(text)
		if err != nil {
			return fmt.Errorf("--fault: %w", err)
		}
		o.Faults = append(o.Faults, fault)
	}
	for _, text := range f.permission {
		agent, what, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("--coe-permission must be AGENT=%s or AGENT=%s, not %q", coe.ReadOnly, coe.Write, text)
		}
		if o.Permissions == nil {
			o.Permissions = make(map[string]coe.Permission)
		}
		o.Permissions[agent] = coe.Permission(what)
	}
	return nil
}

// rates reads --rate-limits. A number is the calls of one agent per minute; the
// other two limits keep their proportion to it.
func rates(text string) (*limit.Rates, error) {
	r := limit.Defaults()
	switch text {
	case "on":
		return &r, nil
	case "off":
		return &limit.Rates{}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > 1<<20 {
		return nil, fmt.Errorf("--rate-limits must be on, off or a positive number, not %q", text)
	}
	r.Global.Calls = max(1, n*r.Global.Calls/r.Agent.Calls)
	r.Burst.Calls = max(1, n*r.Burst.Calls/r.Agent.Calls)
	r.Agent.Calls = n
	return &r, nil
}

// texts is a flag that may be repeated.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ",") }

// Set implements [flag.Value].
func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}

// address sets where to listen, and the host names of that address.
func (f *flags) address(cfg *config) error {
	if f.http == "" {
		if f.sse {
			return errors.New("--sse needs --http: it is a transport over HTTP")
		}
		return nil
	}
	host, port, err := net.SplitHostPort(f.http)
	if err != nil {
		return fmt.Errorf("--http: %w", err)
	}
	if host == "" {
		host = "127.0.0.1" // ":8090" would open the server to the network
	}
	cfg.http = net.JoinHostPort(host, port)
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		cfg.opts.AllowedHosts = append(cfg.opts.AllowedHosts, strings.ToLower(host))
	}
	return nil
}

// oauth reads what the server asks of access tokens.
func (f *flags) oauth(cfg *config) error {
	if f.issuer == "" && cfg.users == nil {
		if f.resource != "" || len(f.scope) > 0 || len(f.toolScopes) > 0 {
			return errors.New("--oauth-resource, --oauth-scope and --oauth-tool-scope need --oauth-issuer")
		}
		return nil
	}
	host, _, _ := net.SplitHostPort(cfg.http) // address has made it
	ip := net.ParseIP(host)
	resource, err := url.Parse(f.resource)
	switch {
	case f.http == "":
		return errors.New("--oauth-issuer needs --http: over stdio there are no access tokens")
	case cfg.opts.Token != "":
		return errors.New("--oauth-issuer and --token exclude each other: give one of them")
	case f.issuer != "" && !strings.HasPrefix(strings.ToLower(f.issuer), "https:") && !guard.Loopback(host):
		return errors.New("--oauth-issuer without https needs --http on this machine, such as 127.0.0.1:8090")
	case f.resource == "" && ip != nil && ip.IsUnspecified():
		return errors.New("--oauth-resource is needed: the server is reached at several addresses")
	case f.resource != "" && (err != nil || resource.Scheme != "https" && resource.Scheme != "http" ||
		resource.Host == "" || resource.RawQuery != "" || resource.Fragment != ""):
		return fmt.Errorf("--oauth-resource must be the URL of the server without query and fragment, not %q", f.resource)
	}
	o := server.OAuthOptions{Issuer: f.issuer, Resource: f.resource, Scopes: list(f.scope.String())}
	for _, text := range f.toolScopes {
		tool, scope, ok := strings.Cut(text, "=")
		if !ok || tool == "" || scope == "" {
			return fmt.Errorf("--oauth-tool-scope must be TOOL=SCOPE, not %q", text)
		}
		if o.ToolScopes == nil {
			o.ToolScopes = make(map[string][]string)
		}
		o.ToolScopes[tool] = append(o.ToolScopes[tool], scope)
	}
	cfg.opts.OAuth = o
	return nil
}

// variables is the environment. A variable that is empty is not set.
type variables func(string) (string, bool)

func (v variables) get(name string) string {
	s, _ := v(name)
	return s
}

// or returns the flag if it is given, else the variable.
func (v variables) or(name, flag string) string {
	if flag != "" {
		return flag
	}
	return v.get(name)
}

// number returns a variable that counts something, or 0 when it is not set.
func (v variables) number(name string) (int, error) {
	text := v.get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > 1<<30 {
		return 0, fmt.Errorf("%s must be a positive number, not %q", name, text)
	}
	return n, nil
}

// list splits a flag at its commas and skips empty parts.
func list(s string) []string {
	out := []string{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
