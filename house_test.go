//go:build !race

package mainstay_test

// The import table: who may import whom, and which modules of others. It is data;
// house_imports_test.go compares it with the code.

const module = "github.com/mainstay-mcp/mainstay"

// row is one line of the import table. Paths are relative to the module; a
// path that ends in "/..." stands for the folder and all below it. The first
// row that matches a package is its row.
type row struct {
	pkg   string
	may   []string // packages of ours its code may import
	tests []string // what its test files may import besides
	why   string
}

// library is what a program that uses Mainstay may import.
var library = []string{"client/...", "pool", "mcp", "jsonrpc", "errors", "breaker", "toolcache", "conformance", "conformance/checks", "conformance/families/checks", "conformance/clientsuite", "conformance/report", "conformance/faults/...", "skills", "proxy"}

// testMain is what the tests of every package may import besides.
const testMain = "internal/testmain"

// refServer starts the reference server for the tests of the root module.
const refServer = "internal/reference"

var importTable = []row{
	{pkg: "jsonrpc", tests: []string{"internal/memhttp"}, why: "JSON-RPC knows nothing of MCP and is usable alone"},
	{pkg: "internal/callback", why: "functions of the application, whoever calls them"},
	{pkg: "breaker", may: []string{"internal/callback"}, why: "a breaker knows errors only as verdicts and is usable alone"},
	{pkg: "internal/sse", why: "event streams are a format, not a protocol"},
	{pkg: "internal/memhttp", why: "a test tool below everything it tests"},
	{pkg: testMain, why: "a test tool below everything it tests"},
	{pkg: refServer, may: []string{testMain}, why: "the reference server as a program of its own, for tests of packages that do not take its modules"},
	{pkg: "internal/inputschema", why: "a schema judges values, whoever sends them"},
	{pkg: "internal/handshake", why: "a mark in a context, which the proxy reads and the client sets"},
	{pkg: "internal/suggest", why: "names that are near to each other, whatever they name"},
	{pkg: "internal/doc", may: []string{"jsonrpc"}, why: "JSON documents with their order and digits, whoever reads them"},
	{pkg: "internal/schema", may: []string{"internal/doc", "internal/inputschema", "internal/suggest"}, why: "what a schema says in words, to whoever asks"},
	{pkg: "internal/house", may: []string{"client", "client/transport", "mcp"}, why: "it measures the code, and one call"},
	{pkg: "internal/txtar", why: "text archives, whatever is in them"},
	{pkg: "internal/officialschema", why: "a test tool below everything it tests"},
	{pkg: "internal/reportsample", may: []string{"conformance", "mcp"}, why: "reports for the tests of those that render them"},
	{pkg: "internal/lazyregexp", why: "regular expressions, whatever they match"},
	{pkg: "internal/serverfile", may: []string{"internal/lazyregexp"}, why: "a file format, whoever connects to what it lists"},
	{pkg: "internal/footprint", may: []string{"errors", "mcp"}, tests: []string{"jsonrpc"}, why: "how much memory words of a server take, whoever queues them"},
	{pkg: "internal/healthhttp", why: "a health check over HTTP, whatever it is about"},
	{pkg: "mcp", may: []string{"jsonrpc"}, tests: []string{"internal/officialschema"}, why: "the vocabulary does no I/O"},
	{pkg: "errors", may: []string{"jsonrpc", "breaker"}, tests: []string{"internal/errormap"}, why: "the front door of errors assigns the sentinels of those below"},
	{pkg: "internal/errormap", may: []string{"errors", "breaker", "jsonrpc", "mcp"}, why: "foreign errors are mapped in one place, once"},
	{pkg: "internal/resilience", may: []string{"errors", "breaker", "jsonrpc", "mcp"}, tests: []string{"internal/errormap"}, why: "decisions are pure: what they are about is handed to them"},
	{pkg: "toolcache", may: []string{"mcp"}, why: "settings and stores of a cache, whoever uses it"},
	{
		pkg: "client/transport/...", may: []string{"client/transport/...", "jsonrpc", "mcp", "errors", "internal/errormap", "internal/sse", "internal/callback"},
		tests: []string{"internal/memhttp", "conformance/faults/..."},
		why:   "a transport moves messages; breaker and cache are above it",
	},
	{
		pkg: "client/clienttest", may: []string{"client/transport", "jsonrpc", "mcp", "errors", "internal/memhttp"}, tests: []string{"client"},
		why: "a scripted server, for tests in virtual time also over HTTP; nothing of the client but its transports",
	},
	{
		pkg: "client/internal/link", may: []string{"client/transport", "errors", "jsonrpc", "mcp", "internal/callback"},
		why: "the way to the server, and what may be sent on it, knows nothing of the calls that use it",
	},
	{
		pkg: "client/internal/event", may: []string{"client/internal/life", "client/transport", "errors", "mcp"},
		why: "what happened is the same for all who hear of it",
	},
	{
		pkg: "client/internal/outcome", may: []string{"client/transport", "errors", "jsonrpc", "mcp", "internal/errormap", "internal/resilience"},
		tests: []string{"breaker"},
		why:   "an outcome is a value: it is made of what came back, and sends nothing",
	},
	{
		pkg: "client/internal/core", may: []string{"client/internal/event", "client/internal/life", "client/internal/link", "client/internal/outcome", "client/transport", "errors", "jsonrpc", "internal/callback", "internal/errormap"},
		why: "what all parts of a client share is below all of them",
	},
	{
		pkg: "client/internal/watchdog", may: []string{"client/internal/core", "client/internal/link", "client/internal/outcome", "client/transport", "breaker", "jsonrpc", "internal/resilience"},
		tests: []string{"client/internal/life", "errors"},
		why:   "a silent server is found by what arrives: probes and circuits are its host's",
	},
	{
		pkg: "client/internal/era", may: []string{"client/internal/core", "client/internal/event", "client/internal/link", "client/internal/outcome", "client/transport", "breaker", "errors", "jsonrpc", "mcp", "internal/errormap"},
		why: "a conversation is opened before there are calls; what is above it are functions it is given",
	},
	{
		pkg: "client/internal/life", may: []string{"errors", "jsonrpc"},
		why: "goroutines end with the client, whatever they do",
	},
	{
		pkg: "client/internal/ask", may: []string{"client/internal/catalog", "client/internal/core", "client/internal/event", "client/internal/link", "client/transport", "jsonrpc", "mcp", "internal/callback", "internal/doc"},
		tests: []string{"client/internal/life", "internal/inputschema"},
		why:   "what servers ask is answered the same way, whatever brought the question",
	},
	{
		pkg: "client/internal/cache", may: []string{"toolcache", "mcp", "internal/callback"},
		why: "a cache is filled by a function, it does not know the client",
	},
	{
		pkg: "client/internal/lists", may: []string{"client/internal/cache", "client/internal/core", "client/internal/life", "client/internal/link", "client/transport", "errors", "jsonrpc", "mcp", "toolcache", "internal/errormap"},
		why: "what is kept, and for whom, does not depend on what it is used for",
	},
	{
		pkg: "client/internal/catalog", may: []string{"client/internal/cache", "client/internal/core", "client/internal/event", "client/internal/life", "client/internal/link", "client/internal/lists", "client/internal/outcome", "client/transport", "errors", "jsonrpc", "mcp", "toolcache", "internal/doc", "internal/footprint", "internal/inputschema", "internal/schema"},
		why: "what a schema means for a call is decided by their texts",
	},
	{
		pkg: "internal/inbox", may: []string{"client/transport", "internal/callback"},
		why: "a queue knows of its items what they weigh",
	},
	{
		pkg: "client/internal/inbound", may: []string{"client/internal/ask", "client/internal/core", "client/internal/event", "client/internal/life", "client/internal/link", "jsonrpc", "mcp", "internal/callback", "internal/footprint", "internal/inbox"},
		tests: []string{"client/transport"},
		why:   "a message of the server finds whom it is for, whoever made the connection",
	},
	{
		pkg: "client/internal/watch", may: []string{"client/internal/core", "client/internal/event", "client/internal/keeper", "client/internal/life", "client/internal/link", "errors", "jsonrpc", "mcp", "internal/callback", "internal/errormap"},
		tests: []string{"client/transport"},
		why:   "subscriptions know what they are told and what they ask for; requests are sent above them",
	},
	{
		pkg: "client/internal/tasks", may: []string{"client/internal/core", "client/internal/life", "client/internal/outcome", "errors", "jsonrpc", "mcp", "internal/errormap"},
		why: "following a task is a loop over requests that others send",
	},
	{
		pkg: "client/internal/keeper", may: []string{"client/internal/core", "client/internal/event", "client/internal/life", "client/internal/link", "client/internal/outcome", "client/transport", "errors", "internal/errormap", "internal/handshake", "internal/resilience"},
		why: "a state machine: what makes the next link, and what follows for the client, is handed to it",
	},
	{
		pkg: "client/internal/guard", may: []string{"client/internal/core", "client/internal/keeper", "client/internal/life", "client/internal/link", "client/internal/outcome", "client/internal/watchdog", "breaker", "errors", "jsonrpc", "mcp", "internal/errormap", "internal/resilience"},
		tests: []string{"client/transport"},
		why:   "what keeps a request back knows nothing of calls: it is given requests and their outcomes",
	},
	{
		pkg: "client/internal/run", may: []string{"client/internal/ask", "client/internal/catalog", "client/internal/core", "client/internal/guard", "client/internal/inbound", "client/internal/keeper", "client/internal/life", "client/internal/link", "client/internal/outcome", "client/transport", "errors", "jsonrpc", "mcp", "internal/doc", "internal/errormap", "internal/resilience"},
		tests: []string{"breaker"},
		why:   "a call goes down: what the application hears of it is handed to it",
	},
	{
		pkg:   "client/...",
		may:   []string{"client/...", "jsonrpc", "mcp", "errors", "breaker", "toolcache", "internal/errormap", "internal/sse", "internal/doc", "internal/inputschema", "internal/schema", "internal/resilience", "internal/footprint", "internal/healthhttp", "internal/callback", "internal/inbox"},
		tests: []string{"internal/memhttp", "conformance/faults/...", "internal/officialschema", "internal/txtar"},
		why:   "the client stands on all layers and never on its judge; tests of both are the reference server's, so that nobody who takes the client takes that",
	},
	{
		pkg: "conformance/families/errors", may: []string{"errors", "jsonrpc"}, tests: []string{"internal/errormap"},
		why: "the profiles of applications are written like anybody's: with public packages only",
	},
	{
		pkg: "conformance/families/internal/host", may: []string{"conformance/families/...", "conformance/server", refServer},
		why: "the program that internal/reference starts",
	},
	{
		pkg: "conformance/families/suitetest", tests: []string{"client", "client/transport", "proxy", "conformance", "conformance/checks", "conformance/report", "conformance/families/...", "conformance/server/...", "internal/reportsample", "mcp"},
		why: "tests alone: the suite judges the reference server, and parsers of others read its reports",
	},
	{
		pkg: "conformance/families/internal/suitetest", tests: []string{"conformance", "conformance/checks/...", "conformance/families/checks/...", "conformance/families/internal/table", "conformance/internal/...", "conformance/report", "mcp", refServer, "internal/memhttp"},
		why: "tests alone: every check, of the protocol and of the families, against servers that break it",
	},
	{
		pkg: "conformance/families/internal/mutants/...", may: []string{"conformance/families/internal/mutants/...", "conformance", "conformance/internal/engine", "conformance/internal/wire", "conformance/checks", "conformance/families/checks", "mcp"}, tests: []string{refServer},
		why: "a proxy in front of any server, and what the suite makes of it: the server is a program, or given to it by tests",
	},
	{
		pkg: "conformance/families/internal/table", may: []string{"conformance", "conformance/internal/rawjson", "conformance/internal/engine", "conformance/internal/wire"},
		why: "a table is played the same way, whatever it calls",
	},
	{
		pkg: "conformance/families/checks", may: []string{"conformance", "conformance/checks", "conformance/internal/engine", "conformance/families/checks/..."},
		why: "the list of the checks of our own tools, beside those of the specification",
	},
	{
		pkg: "conformance/families/checks/...", may: []string{"conformance", "conformance/families/checks/...", "conformance/families/internal/table", "conformance/internal/...", "internal/lazyregexp", "mcp"},
		why: "checks of our own tools: they need none of the others",
	},
	{
		pkg: "pool", may: []string{"client", "client/transport", "jsonrpc", "mcp", "errors", "breaker", "internal/errormap", "internal/serverfile", "internal/footprint", "internal/healthhttp", "internal/callback", "internal/inbox"},
		tests: []string{"client/clienttest"},
		why:   "several clients behind one handle: it can do what any program can do with a client, and no more",
	},
	{
		pkg: "proxy", may: []string{"client", "client/transport", "jsonrpc", "mcp", "errors", "toolcache", "internal/callback", "internal/handshake", "internal/inbox", "internal/sse"}, tests: []string{"client/clienttest", "internal/memhttp"},
		why: "a client in front of hosts: it can do what any program can do with a client, and no more",
	},
	{
		pkg: "skills", may: []string{"client", "internal/lazyregexp", "jsonrpc", "mcp", "internal/doc"}, tests: []string{"client/clienttest", "errors"},
		why: "an extension of the protocol: it needs of the client what any program can call",
	},
	{
		pkg: "conformance/families/...", may: []string{"conformance/families/...", "conformance/server/..."},
		tests: []string{"client/...", "mcp", "jsonrpc", "errors"},
		why:   "five families of tools for the reference server",
	},
	{
		pkg: "conformance/server/...", may: []string{"conformance/server/..."},
		tests: []string{"client/...", "mcp", "jsonrpc", "errors", "skills"},
		why:   "a server that shares no code with the client cannot share its bugs",
	},
	{pkg: "conformance/faults/...", may: []string{"conformance/faults/...", "jsonrpc", "internal/sse"}, why: "the proxy stands before any server and behind any client"},
	{pkg: "conformance/internal/rawjson", why: "questions about JSON values, whoever sent them"},
	{
		pkg: "conformance/internal/wire", may: []string{"conformance", "conformance/internal/rawjson", "mcp", "internal/sse"}, tests: []string{"internal/memhttp"},
		why: "the driver moves bytes and messages; what they should be, those above it know",
	},
	{pkg: "conformance/internal/fixture", may: []string{"conformance/internal/rawjson", "internal/inputschema", "mcp"}, why: "names and schemas that the suite uses, whichever check needs them"},
	{
		pkg: "conformance/internal/engine", may: []string{"conformance", "conformance/internal/fixture", "conformance/internal/observe", "conformance/internal/rawjson", "conformance/internal/wire", "internal/lazyregexp", "mcp"},
		why: "the engine is given its checks and imports none",
	},
	{
		pkg: "conformance/internal/talk", may: []string{"conformance", "conformance/internal/engine", "conformance/internal/fixture", "conformance/internal/observe", "conformance/internal/rawjson", "conformance/internal/wire", "internal/txtar", "mcp"},
		why: "short exchanges and conversations that are data, whichever scenario needs them",
	},
	{pkg: "conformance/report/...", may: []string{"conformance", "internal/lazyregexp", "mcp"}, tests: []string{"conformance/checks", refServer, "internal/reportsample"}, why: "what was found is rendered by those who did not find it"},
	{pkg: "conformance/conformancetest", may: []string{"conformance", "conformance/checks", "conformance/report/..."}, tests: []string{refServer, "mcp"}, why: "package testing stays out of the suite itself"},
	{
		pkg: "conformance/internal/observe", may: []string{"conformance", "conformance/internal/rawjson", "conformance/internal/wire", "internal/lazyregexp", "mcp"}, tests: []string{"internal/officialschema"},
		why: "it looks at every message of a run and knows no scenario",
	},
	{
		pkg: "conformance", may: []string{"conformance/internal/rawjson", "mcp"}, tests: []string{"conformance/checks"},
		why: "options and reports, below what runs and renders them",
	},
	{
		pkg: "conformance/checks/seen", may: []string{"conformance", "conformance/internal/...", "mcp"},
		why: "it judges what all other scenarios brought",
	},
	{
		pkg: "conformance/checks", may: []string{"conformance", "conformance/checks/...", "conformance/internal/engine"}, tests: []string{"internal/officialschema", "mcp"},
		why: "the list of the checks of the specification, without those of our own tools",
	},
	{
		pkg: "conformance/internal/client/peer", may: []string{"conformance", "conformance/internal/rawjson", "conformance/internal/wire", "conformance/faults/...", "jsonrpc", "mcp"},
		why: "the server of a scenario answers and records; it judges nothing",
	},
	{
		pkg: "conformance/clientdriver", may: []string{"mcp"},
		why: "programs around the clients of others import it, so it brings only the vocabulary",
	},
	{
		pkg: "conformance/internal/client/trial", may: []string{"conformance", "conformance/clientdriver", "conformance/internal/engine", "conformance/internal/client/...", "conformance/internal/rawjson", "conformance/internal/wire", "conformance/faults/...", "internal/lazyregexp", "mcp"},
		why: "scenarios for clients have one engine, with the reports of the suite for servers",
	},
	{
		pkg: "conformance/checks/client", may: []string{"conformance/internal/engine", "conformance/checks/client/...", "conformance/internal/client/trial"},
		tests: []string{"conformance", "conformance/internal/client/...", "conformance/internal/wire", "mcp"}, why: "the list of all checks for clients",
	},
	{
		pkg: "conformance/checks/client/...", may: []string{"conformance/internal/engine", "conformance", "conformance/checks/client/authorization/...", "conformance/internal/client/...", "conformance/internal/rawjson", "conformance/internal/wire", "conformance/faults/...", "internal/lazyregexp", "jsonrpc", "mcp"},
		why: "clients are judged by servers of the suite, which share no code with our client",
	},
	{
		pkg: "conformance/checks/...", may: []string{"conformance", "conformance/checks/seen", "conformance/internal/...", "internal/lazyregexp", "mcp"},
		why: "the checks stand on the engine and drive the wire themselves, never through the client",
	},
	{
		pkg: "conformance/clientsuite", may: []string{"conformance", "conformance/checks/client/...", "conformance/internal/client/...", "conformance/internal/engine", "conformance/internal/rawjson", "conformance/internal/wire", "mcp"},
		tests: []string{"conformance/report/...", "conformance/faults/...", "internal/memhttp", "internal/sse", "jsonrpc"},
		why:   "the public door of the suite for clients",
	},
	{
		pkg: "cmd/mcpctl/...", may: append([]string{"cmd/mcpctl/...", "internal/doc", "internal/errormap", "internal/healthhttp", "internal/inputschema", "internal/lazyregexp", "internal/schema", "internal/serverfile", "internal/suggest", "auth", "auth/keychain"}, library...),
		tests: []string{"conformance/server/...", "conformance/families/...", "cmd/refserver/...", "internal/authtest", "internal/memhttp"},
		why:   "mcpctl starts in milliseconds: the reference server is a program of its own",
	},
	{
		pkg: "cmd/refserver/...", may: []string{"cmd/refserver/...", "conformance/families/...", "conformance/server/..."},
		tests: []string{"auth", "client/...", "mcp", "jsonrpc", "errors", "conformance", "conformance/checks", "conformance/report"}, why: "a thin main around the server",
	},
	{pkg: "internal/simulation", tests: []string{"client/...", "breaker", "errors", "jsonrpc", "mcp"}, why: "the world a client is proved in: it knows what a client promises and nothing imports it"},
	{
		pkg: "internal/faultmatrix", tests: []string{"client/...", "breaker", "errors", "internal/errormap", "jsonrpc", "mcp", "conformance/faults/...", "internal/memhttp"},
		why: "tests alone: the client behind every fault",
	},
	{pkg: "internal/authtest", why: "a remote server and who guards it: for tests of whoever logs in"},
	{pkg: "auth/internal/challenge", why: "headers are read the same way, whatever follows from them"},
	{pkg: "auth/internal/fetch", tests: []string{"internal/memhttp"}, why: "a guard for requests whose URLs strangers name, whatever is fetched"},
	{pkg: "auth/internal/discover", may: []string{"auth/internal/fetch", "mcp"}, tests: []string{"internal/memhttp"}, why: "documents are found and checked, whoever logs in with them"},
	{pkg: "auth/internal/grant", may: []string{"auth/internal/fetch"}, why: "endpoints are spoken to the same way by every flow"},
	{pkg: "auth/internal/store", may: []string{"auth/internal/grant"}, why: "records are kept the same way, whatever flow they are of"},
	{pkg: "auth/internal/loopback", why: "a callback in a browser, whatever it is for"},
	{pkg: "auth/keychain", may: []string{"auth"}, tests: []string{"internal/authtest"}, why: "a store like one of an application; a program that does not import it links no D-Bus"},
	{
		pkg: "auth/tokensource", may: []string{"auth", "auth/internal/fetch", "auth/internal/loopback", "client/transport", "internal/callback"}, tests: []string{"client", "errors", "internal/authtest"},
		why: "golang.org/x/oauth2 on both sides of an Authorizer; a program that does not import it links none of that",
	},
	{
		pkg: "auth", may: []string{"auth/internal/...", "client/transport"}, tests: []string{"auth/tokensource", "client", "errors", "internal/authtest", "mcp"},
		why: "an Authorizer knows requests and challenges, not the client that sends them",
	},
	{pkg: "examples/...", may: append([]string{"auth", "auth/keychain", "fleet/redis", "otel"}, library...), tests: []string{refServer, "internal/authtest"}, why: "what an example imports, a user can import"},
	{pkg: "fleet/redis/...", may: append([]string{"internal/callback"}, library...), why: "an adapter in a package of its own: public packages only but for the guards around callbacks, nothing but examples imports it"},
	{pkg: "otel/...", may: append([]string{"internal/errormap"}, library...), why: "an adapter in a package of its own: public packages and the mapping of errors only, nothing but examples imports it"},
	{pkg: "", why: "the root holds tests only"},
}

// external says who may name a third-party module; the first entry that fits holds.
type external struct {
	module   string
	by       []string // packages whose code may import it; tests of these may too
	tests    []string // packages whose tests alone may import it
	testOnly bool     // any test file may import it, no code may
	why      string
}

var externals = []external{
	{module: "github.com/go-json-experiment/json", by: []string{"jsonrpc", "mcp"}, why: "v0 without promises: two packages to change when encoding/json/jsontext replaces it"},
	{module: "github.com/sony/gobreaker/v2", by: []string{"breaker"}, why: "the engine is hidden behind permits and can be swapped"},
	{module: "github.com/hashicorp/golang-lru/v2", by: []string{"client/internal/cache", "client/internal/catalog", "client/internal/era"}, why: "a bounded container; expiry and epochs are ours"},
	{module: "github.com/google/uuid", by: []string{"client/...", "conformance/..."}, why: "request ids are UUID v4"},
	{module: "github.com/google/jsonschema-go", by: []string{"internal/inputschema", "internal/officialschema", "client/internal/catalog", "conformance/..."}, why: "arguments are validated before they are sent"},
	{module: "github.com/modelcontextprotocol/go-sdk", by: []string{"conformance/families/...", "conformance/server/..."}, why: "an implementation we did not write keeps our client honest; users never link it"},
	{module: "github.com/spf13/cobra", by: []string{"cmd/mcpctl/..."}, why: "a command framework belongs to the command"},
	{module: "github.com/spf13/pflag", by: []string{"cmd/mcpctl/..."}, why: "comes with cobra"},
	{module: "golang.org/x/term", by: []string{"cmd/mcpctl/..."}, why: "terminal facts are the command's business"},
	{module: "github.com/go-jose/go-jose/v4", by: []string{"auth/internal/grant", "cmd/refserver/internal/login", "conformance/server/..."}, why: "JWTs and keys: one package of auth makes them, the reference server checks them"},
	{module: "github.com/go-oauth2/oauth2/v4", by: []string{"cmd/refserver/internal/login"}, why: "an authorization server to try logins at; only the program refserver links it"},
	{module: "golang.org/x/oauth2", by: []string{"auth/tokensource"}, tests: []string{"auth"}, why: "its TokenSource is the interface of many clients; one package of auth knows it, and a test of auth scans what that tells"},
	{module: "go.yaml.in/yaml/v3", by: []string{"skills", "conformance/families/...", "conformance/server/..."}, tests: []string{""}, why: "front matter of skills, action.yml; a program that does not import the package does not link it"},
	{module: "github.com/zalando/go-keyring", by: []string{"auth/keychain"}, why: "keychains of operating systems, behind one package"},
	{module: "github.com/stretchr/testify", testOnly: true, why: "assertions"},
	{module: "go.uber.org/goleak", by: []string{testMain}, why: "no goroutine outlives a test"},
	{module: "github.com/rogpeppe/go-internal", by: []string{"cmd/mcpctl"}, why: "testscript for mcpctl"},
	{module: "github.com/santhosh-tekuri/jsonschema/v6", by: []string{"conformance/families/...", "conformance/server/..."}, why: "the more complete judge is the oracle in tests, its 5.5 ms of init stay out of products"},
	{module: "github.com/yuin/goldmark", by: []string{"conformance/families/...", "conformance/server/..."}, why: "Markdown of the user in the reference server; in tests, exported Markdown read back"},
	{module: "github.com/blevesearch/snowballstem", by: []string{"conformance/families/coe/knowledge"}, why: "stems of words, for the search of the answer team"},
	{module: "modernc.org/sqlite", by: []string{"conformance/families/...", "conformance/server/..."}, why: "storage of the reference server"},
	{module: "github.com/jackc/pgx/v5", by: []string{"conformance/families/...", "conformance/server/..."}, why: "storage of the reference server"},
	{module: "golang.org/x/text", by: []string{"conformance/families/...", "conformance/server/..."}, why: "encodings of fonts and normal forms of Unicode in the reference server"},
	{module: "github.com/pdfcpu/pdfcpu", by: []string{"conformance/families/...", "conformance/server/..."}, why: "conversion in the reference server"},
	{module: "github.com/xuri/excelize/v2", by: []string{"conformance/families/...", "conformance/server/..."}, why: "conversion in the reference server"},
	{module: "github.com/redis/go-redis/v9", by: []string{"fleet/redis/..."}, why: "Redis carries hints between processes, in a package of its own (decisions 18)"},
	{module: "go.opentelemetry.io/otel", by: []string{"otel/..."}, why: "telemetry in a package of its own; code takes the API, tests the SDK"},
	{module: "golang.org/x/sync", by: []string{"conformance/families/...", "conformance/server/..."}, why: "single flight in the reference server; the core has no x/ modules"},
	{module: "golang.org/x/net", by: []string{"conformance/families/...", "conformance/server/..."}, why: "conversion in the reference server; tests read HTML reports as browsers do"},
}

// reach limits what a package may depend on through any number of imports.
type reach struct {
	pkg  []string
	only []string // the third-party modules it may link; nil: not limited
	not  []string // packages and modules it must not link
	why  string
}

var core = []string{"client/...", "pool", "jsonrpc", "mcp", "errors", "breaker", "toolcache", "internal/sse", "internal/memhttp", "internal/doc", "internal/inputschema", "internal/schema", "internal/suggest", "internal/lazyregexp", "internal/resilience", "internal/serverfile", "internal/footprint", "internal/healthhttp", "internal/callback", "internal/handshake"}

var reaches = []reach{
	{
		pkg: core,
		only: []string{
			"github.com/sony/gobreaker/v2", "github.com/hashicorp/golang-lru/v2", "github.com/google/uuid",
			"github.com/go-json-experiment/json", "github.com/google/jsonschema-go",
		},
		why: "a user's module graph grows by these and no others (D-004)",
	},
	{
		pkg: []string{"client/...", "pool", "jsonrpc", "mcp", "errors", "breaker", "toolcache", "conformance", "conformance/report/...", "conformance/faults/...", "conformance/checks/...", "cmd/mcpctl/...", "examples/...", "internal/..."},
		not: []string{"github.com/modelcontextprotocol/go-sdk", "conformance/families", "conformance/families/artifact", "conformance/families/coe", "conformance/families/docling", "conformance/families/preflights", "conformance/families/assistant", "conformance/families/services/...", "conformance/families/store/...", "conformance/server/..."},
		why: "only the reference server stands on the go-sdk",
	},
	{
		pkg: []string{"conformance/families/...", "conformance/server/...", "cmd/refserver/..."},
		not: []string{"github.com/spf13/cobra", "client/..."},
		why: "cobra lives under cmd/mcpctl, and a server that links the client cannot judge it",
	},
}
