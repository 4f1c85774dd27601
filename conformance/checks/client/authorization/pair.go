package authorization

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

// pair is a run in which the client uses two servers, one after the other.
type pair struct {
	*trial.Trial
	first, second *guarded.World
}

// playPair has one process of the client log in at both servers and call a tool of each. It
// returns nil, with every check decided, if the client did not get to the second one. A
// client under test that has only one URL cannot.
func playPair(t *trial.Trial, arrange func(first, second *guarded.World)) *pair {
	if t.NoLogin != "" {
		t.SkipAll(t.NoLogin)
		return nil
	}
	arranged := make(chan struct{})
	first := openWorld(t.Run, t.Tape, t.Peer, arranged)
	if first == nil {
		return nil
	}
	defer first.Close()
	tape := peer.NewTape()
	second := openWorld(t.Run, tape, peer.New(t.Revision, tape), arranged)
	if second == nil {
		return nil
	}
	defer second.Close()
	arrange(first, second)
	close(arranged)
	t.Login, t.URL = &trial.Login{}, first.Base+peer.Endpoint
	call := trial.Call("echo", `{"text":"in"}`)
	t.DoExactly(trial.Step{Call: trial.Connect}, call, trial.Step{Call: trial.Close},
		trial.Step{Call: trial.Connect, URL: second.Base + peer.Endpoint}, call, trial.Step{Call: trial.Close})
	p := &pair{t, first, second}
	switch {
	case len(p.messages(second)) == 0:
		t.SkipAll("the client does not connect to a second server")
		return nil
	case !t.Needs(len(p.tokens()) > 0, "the client got no token for the first server"):
		return nil
	}
	return p
}

// messages are the requests to the MCP endpoint of one of the servers.
func (p *pair) messages(w *guarded.World) []*guarded.Request {
	return w.At(guarded.Resource, guarded.Endpoint)
}

// tokens are the requests of the first login that got a token.
func (p *pair) tokens() []*guarded.Request {
	return p.first.At(guarded.First, "/token")
}

// judgeShared decides a check: no request to the second server has a token for the first.
func (p *pair) judgeShared(id string) {
	for _, r := range p.messages(p.second) {
		if _, value := r.Bearer(); value != "" {
			if t := p.first.Issued(value); t != nil && t.Resource != p.second.Base+guarded.Endpoint {
				p.Check(id, false, "no token, or one for this server", "%s %s with the token for the first server", r.Method, r.RPC)
				return
			}
		}
	}
	p.Check(id, true, "", "")
}

// playTwoServers has two servers that know nothing of each other.
func playTwoServers(t *trial.Trial) {
	p := playPair(t, func(_, _ *guarded.World) {})
	if p == nil {
		return
	}
	p.judgeShared("C-AUTH-21/shared")
	want := p.second.Base + guarded.Endpoint
	logins := append(p.second.At(guarded.First, "/authorize"), p.second.At(guarded.First, "/token")...)
	if !t.Needs(len(logins) > 0, "no login for the second server began") {
		return
	}
	for _, r := range logins {
		asked := slices.Concat(r.Query["resource"], r.Form["resource"])
		if !slices.Equal(asked, []string{want}) {
			t.Check("C-AUTH-10/second", false, "resource="+want, "%s with resource=%s", r.Path, names(asked))
			return
		}
	}
	t.Check("C-AUTH-10/second", true, "", "")
}

// playOneIssuer has two servers of one authorization server, which issues a token for the
// server that the client names. A client that keeps tokens by their issuer alone sends the
// second server what the first could use.
func playOneIssuer(t *trial.Trial) {
	p := playPair(t, func(first, second *guarded.World) {
		second.Metadata["authorization_servers"] = []string{first.First.Issuer}
		second.Partner = first
	})
	if p != nil {
		p.judgeShared("C-AUTH-21/audience")
	}
}
