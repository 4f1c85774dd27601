package main

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/limit"
	"github.com/mainstay-mcp/mainstay/conformance/server"
)

func parsed(t *testing.T, env vars, args ...string) families.Options {
	t.Helper()
	cfg, err := parse(args, env.lookup)
	require.NoError(t, err)
	return cfg.opts
}

func TestFamiliesByDefault(t *testing.T) {
	t.Parallel()
	five := []string{"artifact", "coe", "docling", "preflights", "assistant"}
	require.Equal(t, five, parsed(t, vars{}).Families)
	require.Equal(t, append(five, "fixtures", "skills"), parsed(t, vars{}, "--http", ":0").Families)
	require.Equal(t, append(five, "skills"), parsed(t, vars{}, "--skills", "dir").Families)
	require.Equal(t, "dir", parsed(t, vars{}, "--http", ":0", "--skills", "dir").SkillsDir)
	require.Equal(t, []string{"coe", "fixtures"}, parsed(t, vars{}, "--families", "coe, fixtures").Families)
	require.Equal(t, []string{"coe"}, parsed(t, vars{}, "--families", "coe", "--http", ":0").Families)
	_, err := parse([]string{"--families", "coe", "--skills", "dir"}, vars{}.lookup)
	require.ErrorContains(t, err, "needs the family skills")
}

func TestServiceAndStoreOptions(t *testing.T) {
	t.Parallel()
	o := parsed(t, vars{
		"TASK_TRACKING_API_URL": "http://tasks", "ID_MANAGEMENT_API_URL": "http://ids", "API_KEY": "k", "PROJECT_ID": "p",
		"RESERVATION_EXPIRATION_MINUTES": "7", "DATABASE_URL": "postgres://db", "REFSERVER_TOKEN": "from env", "RESEARCH_DIR": "/r",
	}, "--plural-dirs", "--tasks-addr", "127.0.0.1:8080", "--ids-addr", "127.0.0.1:8081", "--durable", "--deprecated", "--undo-approvals")
	require.Equal(t, families.ServiceOptions{
		TasksURL: "http://tasks", IDsURL: "http://ids", TasksAddr: "127.0.0.1:8080", IDsAddr: "127.0.0.1:8081",
		APIKey: "k", ProjectID: "p", Reservation: 7 * time.Minute,
	}, o.Services)
	require.Equal(t, "postgres://db", o.DatabaseURL)
	require.True(t, o.Durable && o.Deprecated && o.UndoApprovals && o.PluralDirs)
	require.Equal(t, "/r", o.ResearchDir)
	require.Equal(t, "from env", o.Token)
	require.False(t, o.SSE)
	require.Zero(t, o.SessionIdle, "the server has a default")
	require.Equal(t, 5*time.Second, parsed(t, vars{}, "--session-idle", "5s").SessionIdle)
	require.True(t, parsed(t, vars{}, "--http", ":0", "--sse").SSE)
	require.Equal(t, "flag", parsed(t, vars{"REFSERVER_TOKEN": "from env"}, "--token", "flag").Token)
}

func TestCOEOptions(t *testing.T) {
	t.Parallel()
	o := parsed(t, vars{}).COE
	require.False(t, o.NoOrchestrator || o.Admin)
	require.Equal(t, limit.Defaults(), *o.Rates)
	o = parsed(t, vars{"COE_TOKEN_LIMIT": "40"}, "--coe-next-task", "legacy", "--with-orchestrator=false", "--rate-limits", "50",
		"--coe-admin", "--coe-permission", "ann=read-only", "--coe-permission", "*=write", "--fault", "tool=createTicket,kind=db_locked,times=3").COE
	require.Equal(t, coe.Legacy, o.NextTask)
	require.Nil(t, o.Seed, "the sample")
	require.Nil(t, o.Knowledge, "the sample")
	require.True(t, o.NoOrchestrator && o.Admin)
	require.Equal(t, 40, o.TokenLimit)
	require.Equal(t, []int{50, 250, 5}, []int{o.Rates.Agent.Calls, o.Rates.Global.Calls, o.Rates.Burst.Calls})
	require.Equal(t, map[string]coe.Permission{"ann": coe.ReadOnly, "*": coe.Write}, o.Permissions)
	require.Equal(t, []faults.Fault{{Tool: "createTicket", Kind: faults.Locked, Times: 3}}, o.Faults)
	require.Equal(t, limit.Rates{}, *parsed(t, vars{}, "--rate-limits", "off").COE.Rates)
	tiny := parsed(t, vars{}, "--rate-limits", "1").COE.Rates
	require.Equal(t, []int{1, 5, 1}, []int{tiny.Agent.Calls, tiny.Global.Calls, tiny.Burst.Calls})
}

func TestOtherFamilyOptions(t *testing.T) {
	t.Parallel()
	o := parsed(t, vars{
		"DOCLING_INPUT_ROOTS": "/a", "PREFLIGHTS_LLM_PROVIDER": "openai", "PREFLIGHTS_LLM_MODEL": "m", "REFSERVER_SESSION_TOKEN": "s",
	}, "--docling-allow-network", "127.0.0.0/8", "--docling-max-result", "20", "--docling-version", "1.3.0", "--work-dir", "/w", "--assistant-program", "agent", "--assistant-model", "big")
	require.Equal(t, []string{"/a"}, o.Docling.InputRoots)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, o.Docling.AllowNetworks)
	require.EqualValues(t, 20<<20, o.Docling.MaxResult)
	require.Equal(t, "1.3.0", o.Docling.Version)
	require.Equal(t, []string{"openai", "m", "/w"}, []string{o.Preflights.LLM.Provider, o.Preflights.LLM.Model, o.Preflights.WorkDir})
	require.False(t, o.Preflights.Confined, "over stdio the parent decides")
	require.True(t, parsed(t, vars{}, "--http", ":0").Preflights.Confined, "over HTTP clients are confined")
	o.Preflights = parsed(t, vars{}, "--repos", "/a", "--repos", "/b").Preflights
	require.True(t, o.Preflights.Confined)
	require.Equal(t, []string{"/a", "/b"}, o.Preflights.Repos)
	require.Equal(t, []string{"agent", "big", "s"}, []string{o.Assistant.Program, o.Assistant.Model, o.Assistant.SessionToken})
}

func TestOAuthOptions(t *testing.T) {
	t.Parallel()
	require.Zero(t, parsed(t, vars{}, "--http", ":0").OAuth)
	require.Equal(t, server.OAuthOptions{
		Issuer: "http://127.0.0.1:9000", Resource: "https://public.example/mcp", Scopes: []string{"a", "b", "c"},
		ToolScopes: map[string][]string{"createTicket": {"write", "admin"}, "getNextTask": {"read"}},
	}, parsed(t, vars{}, "--http", ":0", "--oauth-issuer", "http://127.0.0.1:9000", "--oauth-resource", "https://public.example/mcp",
		"--oauth-scope", "a,b", "--oauth-scope", "c", "--oauth-tool-scope", "createTicket=write", "--oauth-tool-scope", "createTicket=admin",
		"--oauth-tool-scope", "getNextTask=read").OAuth)
	const issuer = "https://issuer.example"
	for want, args := range map[string][]string{
		"need --oauth-issuer":              {"--http", ":0", "--oauth-scope", "a"},
		"needs --http:":                    {"--oauth-issuer", issuer},
		"exclude each other":               {"--http", ":0", "--oauth-issuer", issuer, "--token", "x"},
		"needs --http on this machine":     {"--http", "192.0.2.1:0", "--oauth-issuer", "http://127.0.0.1:9000"},
		"--oauth-resource is needed":       {"--http", "0.0.0.0:0", "--oauth-issuer", issuer},
		"--oauth-resource must be the URL": {"--http", ":0", "--oauth-issuer", issuer, "--oauth-resource", "https://x/mcp#y"},
		"must be TOOL=SCOPE":               {"--http", ":0", "--oauth-issuer", issuer, "--oauth-tool-scope", "createTicket"},
	} {
		_, err := parse(args, vars{}.lookup)
		require.ErrorContains(t, err, want)
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		env  vars
		args []string
		want string
	}{
		{nil, []string{"--rate-limits", "some"}, "--rate-limits must be on, off or a positive number"},
		{nil, []string{"--rate-limits", "-1"}, "--rate-limits"},
		{nil, []string{"--fault", "nonsense"}, "--fault:"},
		{nil, []string{"--coe-plan", ""}, "--coe-plan needs a file or a folder"},
		{nil, []string{"--coe-knowledge="}, "--coe-knowledge needs a file or a folder"},
		{nil, []string{"--session-idle", "-5s"}, "--session-idle must be a positive duration"},
		{nil, []string{"--coe-permission", "ann"}, "--coe-permission must be AGENT=read-only"},
		{nil, []string{"--docling-allow-network", "127.0.0.1"}, "--docling-allow-network:"},
		{nil, []string{"--docling-max-result", "2000"}, "--docling-max-result must be at most 1024"},
		{vars{"COE_TOKEN_LIMIT": "many"}, nil, `COE_TOKEN_LIMIT must be a positive number, not "many"`},
		{vars{"RESERVATION_EXPIRATION_MINUTES": "0"}, nil, "RESERVATION_EXPIRATION_MINUTES must be a positive number"},
	} {
		_, err := parse(tc.args, tc.env.lookup)
		require.ErrorContains(t, err, tc.want)
	}
	// What only the families can judge ends the program too, before it serves.
	var out, log bytes.Buffer
	require.Equal(t, exitFailed, run(t.Context(), []string{"--families", "coe", "--coe-next-task", "odd"}, vars{}.lookup, strings.NewReader(""), &out, &log))
	require.Contains(t, log.String(), `unknown shape "odd"`)
}

// Every flag and every variable is in the help text.
func TestHelpIsComplete(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"--help"}, vars{}.lookup, strings.NewReader(""), &out, &log))
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	define(fs)
	fs.VisitAll(func(f *flag.Flag) { require.Regexp(t, `(?m)^  --`+f.Name+`\b`, out.String()) })
	asked := map[string]bool{}
	_, err := parse(nil, func(name string) (string, bool) {
		asked[name] = true
		return "", false
	})
	require.NoError(t, err)
	for name := range asked {
		require.Regexp(t, `(?m)^  `+name+`\b`, out.String())
	}
	for _, kind := range faults.Kinds() {
		require.Regexp(t, `\b`+string(kind)+`\b`, out.String())
	}
}

func TestParse_PlanAndKnowledge(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "plan.md")
	require.NoError(t, os.WriteFile(p, []byte("# Mine\n\n- [ ] One\n"), 0o600))
	o := parsed(t, vars{}, "--coe-plan", p, "--coe-knowledge", filepath.Dir(p)).COE
	require.Equal(t, "One", o.Seed.Tasks[0].Title)
	require.Equal(t, "plan.md", o.Knowledge.Entries[0].File)
	require.Equal(t, 24*time.Hour, o.Lease)
	o = parsed(t, vars{}, "--coe-repo", filepath.Dir(p), "--coe-lease", "2h", "--coe-agent", "judge").COE
	require.Equal(t, "plan.md", o.Repository.Entries[0].File)
	require.Equal(t, 2*time.Hour, o.Lease)
	require.NotNil(t, o.Agent)
	require.NoError(t, os.WriteFile(p, []byte("- [ ] One (after Two)\n\xff"), 0o600))
	_, err := parse([]string{"--coe-knowledge", p}, vars{}.lookup)
	require.ErrorContains(t, err, "--coe-knowledge: knowledge: "+p+":2: not UTF-8 text")
	require.NoError(t, os.WriteFile(p, []byte("- [ ] One (after Two)\n"), 0o600))
	_, err = parse([]string{"--coe-plan", p}, vars{}.lookup)
	require.ErrorContains(t, err, "--coe-plan: plan: "+p+`:1: no task "Two" in the plan`)
	_, err = parse([]string{"--coe-repo", p + "x"}, vars{}.lookup)
	require.ErrorContains(t, err, "--coe-repo: repository: ")
}
