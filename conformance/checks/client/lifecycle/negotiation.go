package lifecycle

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// probeAnswers are the ways in which a server of the session era answers server/discover,
// which it does not know. Over HTTP -32601 means the stateless era, so it is not among
// them there.
var probeAnswers = map[string]func(x *peer.Exchange){
	"not-found":       refuse(-32601, "Method not found"),
	"invalid-params":  refuse(-32602, "Invalid request parameters"),
	"invalid-request": refuse(-32600, "Invalid Request"),
	"server-error":    refuse(-32000, "Server not initialized"),
	"own-code":        refuse(17, "initialize first"),
	"silence":         func(x *peer.Exchange) { x.Hold(time.Minute) },
	"400":             status(http.StatusBadRequest, "", ""),
	"400-text":        status(http.StatusBadRequest, "text/plain", "Bad Request: No valid session ID provided"),
	"400-error":       status(http.StatusBadRequest, peer.JSONBody, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`),
	"404":             status(http.StatusNotFound, "", ""),
	"405":             status(http.StatusMethodNotAllowed, "", ""),
}

func refuse(code int64, text string) func(*peer.Exchange) {
	return func(x *peer.Exchange) { x.Fail(code, text, "") }
}

func status(code int, contentType, body string) func(*peer.Exchange) {
	return func(x *peer.Exchange) {
		header := http.Header{}
		if contentType != "" {
			header.Set("Content-Type", contentType)
		}
		x.Status(code, header, body)
	}
}

// negotiation returns the scenarios of how a client of both eras finds the era of a
// server. A client of one era is not judged.
func negotiation() []trial.Scenario {
	out := []trial.Scenario{
		{ID: "C-PROBE", Play: playProbe},
		{ID: "C-PROBE-LISTED", Play: playListed},
		{ID: "C-NOTHING-MUTUAL", Play: playNothingMutual},
		statelessError("version", mcp.CodeUnsupportedProtocolVersion, `{"supported":["2099-01-01","$revision"],"requested":"1900-01-01"}`),
		statelessError("capability", mcp.CodeMissingRequiredClientCapability, `{"requiredCapabilities":{"extensions":{"com.example/none":{}}}}`),
		statelessError("header", mcp.CodeHeaderMismatch, ""),
	}
	for name, answer := range probeAnswers {
		out = append(out, probeAnswered(name, answer))
	}
	return out
}

// playProbe judges the probe itself.
func playProbe(t *trial.Trial) {
	probe := negotiate(t, "hello")
	if probe == nil {
		return
	}
	first := t.Tape.Messages()[0]
	t.Check("C-NEG-02/first", first.Seq == probe.Seq, mcp.MethodDiscover, "%s", trial.Names([]*peer.Message{first}))
	revision := probe.Param("_meta", mcp.MetaProtocolVersion)
	v, _ := mcp.ParseVersion(rawjson.Text(revision))
	t.Check("C-NEG-02/version", v.Era() == mcp.EraStateless, "a revision without sessions", "%s", peer.OrNull(revision))
	if t.Offered() == "" {
		t.Skip("C-LC-02/fallback", "no initialize follows the probe")
		return
	}
	judgeOffer(t, "C-LC-02/fallback")
}

// negotiate has the client find the era and make a call. It returns the request that looks
// for the stateless era. If there is none, it returns nil and skips all checks.
func negotiate(t *trial.Trial, text string) *peer.Message {
	t.Negotiate = true
	t.Do(trial.Call("echo", `{"text":"`+text+`"}`))
	if !t.Needs(len(t.Tape.Messages()) > 0, "nothing was sent") {
		return nil
	}
	if found := t.Sent(mcp.MethodDiscover); len(found) > 0 {
		return found[0]
	}
	t.SkipAll("the client does not probe for the stateless era")
	return nil
}

func probeAnswered(name string, answer func(x *peer.Exchange)) trial.Scenario {
	return trial.Scenario{ID: "C-PROBE-" + name, Play: func(t *trial.Trial) {
		t.On(mcp.MethodDiscover, answer)
		probe := negotiate(t, "as ever")
		if probe == nil {
			return
		}
		opened := slices.ContainsFunc(t.Sent(mcp.MethodInitialize), func(m *peer.Message) bool { return m.Seq > probe.Seq })
		t.Check("C-NEG-04/"+name, opened, mcp.MethodInitialize, "%s", trial.Names(t.RequestsAfter(probe.Seq)))
		t.Reported("C-NEG-04/"+name+"-served", 0, trial.Result("as ever"))
	}}
}

// playListed has a server that knows server/discover and lists only revisions of the
// session era.
func playListed(t *trial.Trial) {
	t.On(mcp.MethodDiscover, func(x *peer.Exchange) {
		x.Raw(fmt.Sprintf(`{"resultType":"complete","supportedVersions":["2099-01-01",%q],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`, t.Revision))
	})
	probe := negotiate(t, "hello")
	if probe == nil {
		return
	}
	opened := slices.ContainsFunc(t.Sent(mcp.MethodInitialize), func(m *peer.Message) bool {
		return m.Seq > probe.Seq && rawjson.Text(m.Param("protocolVersion")) == string(t.Revision)
	})
	t.Check("C-NEG-06/initialize", opened, "initialize with "+string(t.Revision), "%s", trial.Contents(t.Sent(mcp.MethodInitialize)))
}

// statelessError has a server that answers the first request with an error that only
// servers of the stateless era send.
func statelessError(name string, code int64, data string) trial.Scenario {
	id := "C-NEG-05/" + name
	return trial.Scenario{ID: "C-RECOGNIZED-" + name, Play: func(t *trial.Trial) {
		t.Negotiate = true
		t.Peer.Gate = func(x *peer.Exchange) bool {
			if !x.IsRequest() || x.Method() == mcp.MethodInitialize || x.Peer.Next() > 1 {
				return false
			}
			x.Fail(code, "not like that", strings.ReplaceAll(data, "$revision", string(t.Revision)))
			return true
		}
		t.Do(trial.Call("echo", `{"text":"hello"}`))
		sent := t.RequestsAfter(0)
		if !t.Needs(len(sent) > 0, "no request was sent") {
			return
		}
		if sent[0].Method() == mcp.MethodInitialize {
			t.Skip(id, "the client begins with initialize")
			return
		}
		opened := t.Sent(mcp.MethodInitialize)
		t.Check(id, len(opened) == 0, "no initialize", "%s", trial.Contents(opened))
	}}
}

// playNothingMutual has a server of a future revision only.
func playNothingMutual(t *trial.Trial) {
	t.Negotiate = true
	t.Peer.Gate = func(x *peer.Exchange) bool {
		switch {
		case !x.IsRequest():
			return false
		case x.Method() == mcp.MethodDiscover:
			x.Discovered("2099-01-01", "2098-12-31")
		default:
			x.Fail(mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version", `{"supported":["2099-01-01","2098-12-31"],"requested":"1900-01-01"}`)
		}
		return true
	}
	t.Do(trial.Call("echo", `{"text":"hello"}`))
	sent := t.RequestsAfter(0)
	if !t.Needs(len(sent) > 0, "no request was sent") {
		return
	}
	unknown := slices.DeleteFunc(slices.Clone(sent), func(m *peer.Message) bool {
		return rawjson.Text(m.Param("_meta", mcp.MetaProtocolVersion)) < "2098" && rawjson.Text(m.Param("protocolVersion")) < "2098"
	})
	t.Check("C-DISC-04/unknown", len(unknown) == 0, "neither 2099-01-01 nor 2098-12-31", "%s", trial.Contents(unknown))
	t.Check("C-DISC-04/bounded", len(sent) <= 8, "at most 8 requests", "%d", len(sent))
	t.Reported("C-DISC-04/none-told", 0, trial.Failed("an error"))
}
