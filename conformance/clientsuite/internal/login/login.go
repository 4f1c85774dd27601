// Package login judges how a client logs in: the scenarios of the area auth. Each starts
// the client before a world of package guarded, arranged to be honest, odd or hostile.
package login

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/clientsuite/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Area is the area of all scenarios here.
const Area = "auth"

// First is the id of the scenario that shows whether a client logs in at all, and Output
// that of the one that looks at all others.
const (
	First  = "C-LOGIN"
	Output = "C-LOGIN-OUTPUT"
)

// Flows of [Way].
const (
	FlowSecret = "client-credentials"
	FlowKey    = "private-key-jwt"
)

// Way says how the client is to log in. It is a part of its task.
type Way struct {
	Flow                   string
	ClientID, ClientSecret string
	PrivateKey             string
	Issuer                 string
	ClientMetadata         string
	DPoP                   bool
}

// Scenario is one start of the client.
type Scenario struct {
	engine.Scenario
	// Tools are the tools that the client calls, one after another.
	Tools []string
	// Times makes the last call that often at once, 0 is once.
	Times int
	// Limit bounds connect and each call, 0 if the client has its own bounds.
	Limit time.Duration
	// Optional: a client that logs in may not have this, and is skipped then.
	Optional bool
	// Arrange changes the world, and says how the client is to log in.
	Arrange func(w *guarded.World, way *Way)
	// Judge decides the checks.
	Judge func(v *View)
}

// View is what came of a start.
type View struct {
	*guarded.World
	Revision mcp.Version
	// Outcomes are what the client reported of its calls, "" where it did not. Tells: it
	// reports at all. Ended: it ended before the time was over.
	Outcomes     []string
	Tells, Ended bool
	// Printed is what it wrote to its standard output and error.
	Printed string
	// Check decides a check, Skip leaves it out, and Unknown says that it cannot be
	// judged.
	Check   func(id string, ok bool, expected, actual string)
	Skip    func(id, because string)
	Unknown func(because string)
}

//go:embed checks.txt
var texts string

// all returns the scenarios of every file.
func all() []Scenario {
	return slices.Concat(basics(), challenges(), discoveries(), networks(), responses(), tokens(), sessions(), scopes(), clients(), programs())
}

// Scenarios returns every scenario with its checks, in the order of their file.
func Scenarios() []Scenario {
	out := all()
	plain := make([]engine.Scenario, len(out))
	for i := range out {
		plain[i] = out[i].Scenario
	}
	plain, err := engine.Complete(plain, texts)
	if err != nil {
		panic("login: checks.txt: " + err.Error()) //nolint:forbidigo // the file is a part of the program
	}
	for i := range out {
		out[i].Scenario = plain[slices.IndexFunc(plain, func(sc engine.Scenario) bool { return sc.ID == out[i].ID })]
		if len(out[i].Tools) == 0 {
			out[i].Tools = []string{"echo"}
		}
	}
	return out
}

// scenario begins a scenario.
func scenario(id string, arrange func(*guarded.World, *Way), judge func(*View)) Scenario {
	return Scenario{Scenario: engine.Scenario{ID: id}, Arrange: arrange, Judge: judge}
}

// calling says which tools are called.
func (s Scenario) calling(tools ...string) Scenario {
	s.Tools = tools
	return s
}

// patience bounds a call whose login the client may wait for in vain: an answer that it
// must not take is no answer.
const patience = 3 * time.Second

// bounded gives connect and each call a deadline.
func (s Scenario) bounded() Scenario {
	s.Limit = patience
	return s
}

// optional says that a client may not have this.
func (s Scenario) optional() Scenario {
	s.Optional = true
	return s
}

// Logins are the authorization requests.
func (v *View) Logins() []*guarded.Request {
	return v.All(func(r *guarded.Request) bool { return r.Path == "/authorize" })
}

// Tokens are the token requests with a grant type; "" is any.
func (v *View) Tokens(grant string) []*guarded.Request {
	return v.All(func(r *guarded.Request) bool {
		return r.Path == "/token" && r.Method == http.MethodPost && (grant == "" || r.Form.Get("grant_type") == grant)
	})
}

// Messages are the POSTs to the MCP endpoint.
func (v *View) Messages() []*guarded.Request {
	return v.All(func(r *guarded.Request) bool {
		return r.Host == guarded.Resource && r.Path == guarded.Endpoint && r.Method == http.MethodPost
	})
}

// served decides a check by whether the ith call got its result. The server let it pass
// once.
func (v *View) served(id string, i int) {
	passed := 0
	for _, r := range v.Calls(v.tool(i)) {
		if !r.Refused() {
			passed++
		}
	}
	reported := v.outcome(i)
	ok := passed == 1 && (reported == "result" || !v.Tells)
	v.Check(id, ok, "one call with a token that is valid, and its result", fmt.Sprintf("%d such calls%s%s", passed, said(reported), v.stopped()))
}

// failed reports whether the ith call got an error, in time.
func (v *View) failed(i int) bool {
	switch v.outcome(i) {
	case "result", "tool-error":
		return false
	case "":
		return !v.Tells && v.Ended
	}
	return v.Ended
}

// toldError decides a check by whether the first call got an error.
func (v *View) toldError(id string) {
	if !v.Tells && v.Ended {
		v.Skip(id, "the client does not report what it concludes")
		return
	}
	v.Check(id, v.failed(0), "an error", "no error"+said(v.outcome(0))+v.stopped())
}

// noLogin decides a check by whether nobody was asked to log in.
func (v *View) noLogin(id string) {
	n := len(v.Logins())
	v.Check(id, n == 0, "no authorization request", count(n, "authorization request"))
}

// noCode decides a check by whether no code was exchanged. A client that sent nobody to
// log in is not judged.
func (v *View) noCode(id string) {
	if len(v.Logins()) == 0 {
		v.Unknown("no login began")
		return
	}
	n := len(v.Tokens("authorization_code"))
	v.Check(id, n == 0, "no token request", count(n, "token request"))
}

func (v *View) outcome(i int) string {
	if i >= len(v.Outcomes) {
		return ""
	}
	return v.Outcomes[i]
}

// tool is the tool of the ith call: those of a scenario have a tool each.
func (v *View) tool(i int) string { return toolNames[i] }

// toolNames are the tools in the order in which scenarios call them.
var toolNames = []string{"echo", "write"}

func said(outcome string) string {
	if outcome == "" {
		return ", no report"
	}
	return ", reported " + outcome
}

func (v *View) stopped() string {
	if v.Ended {
		return ""
	}
	return "; it had to be killed"
}

func count(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func names(all []string) string {
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}
