package lifecycle

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func versionScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "LC-03-OFFERS", Gentle: true, Run: runOffers},
		{ID: "LC-01-PARAMS", Starts: 1, Run: runOddInitialize},
		{ID: "LC-01-RESULT", Gentle: true, Run: runInitializeDetails},
		{ID: "LC-07", Starts: 2, Needs: engine.Needs{Transport: conformance.TransportStdio}, Run: runBeforeHandshake},
	}
}

func runOffers(t *engine.Trial) {
	said := func(s *wire.Session, a wire.Answer, err error) string {
		if err != nil || s.Opened == nil {
			return a.OrError(err)
		}
		return fmt.Sprintf("%q", s.Opened.Revision)
	}
	answered, kept, lost := map[mcp.Version]bool{}, map[mcp.Version]bool{}, map[mcp.Version]error{}
	for _, c := range t.Scenario.Checks {
		v := mcp.Version(c.ID[len("LC-03/"):])
		if v.Era() != mcp.EraSession || !v.Known() {
			continue
		}
		s, a, err := talk.Offer(t, v)
		ok := err == nil && s.Opened != nil && s.Opened.Revision.Known() && s.Opened.Revision.Era() == mcp.EraSession
		if ok {
			answered[s.Opened.Revision], kept[v] = true, s.Opened.Revision == v
		}
		if wire.IsLost(err) {
			lost[v] = err
		}
		if t.Rev.Profiled {
			ok = ok && s.Opened.Revision == v
		}
		t.Check(c.ID, ok, string(v), "%s", said(s, a, err))
	}
	if !t.MayProvoke() {
		return
	}
	for _, each := range [][2]string{
		{"LC-03/future", "2099-12-31"},
		{"LC-03/stateless", string(mcp.Latest)},
		{"LC-03/words", "the newest, please"},
	} {
		check, v := each[0], each[1]
		s, a, err := talk.Offer(t, mcp.Version(v))
		// The lifecycle page's own example of a failed negotiation is this error.
		ok := a.HasCode(err, wire.CodeInvalidParams) || err == nil && a.Err != nil && a.Err.Code == codeVersion
		if err == nil && s.Opened != nil {
			ok = s.Opened.Revision.Known() && s.Opened.Revision.Era() == mcp.EraSession
			answered[s.Opened.Revision] = true
		}
		t.Check(check, ok, "a revision of the session era, or error -32602", "%s", said(s, a, err))
	}
	for _, v := range mcp.Versions() {
		if answered[v] && lost[v] != nil {
			t.Inconclusive("LC-03/kept", fmt.Sprintf("the offer of %s: %v", v, lost[v]))
		} else if answered[v] && !kept[v] {
			t.Fail("LC-03/kept", string(v)+" to the offer of it", "another revision, though other offers are answered with it")
		}
	}
	if !t.Decided("LC-03/kept") {
		t.Pass("LC-03/kept")
	}
}

// codeVersion refuses a revision (the stateless era's UnsupportedProtocolVersion).
const codeVersion = -32022

func runOddInitialize(t *engine.Trial) {
	good := map[string]any{"protocolVersion": t.Rev.Asked, "capabilities": map[string]any{}, "clientInfo": wire.ClientInfo}
	with := func(name string, value any) any {
		p := maps.Clone(good)
		if p[name] = value; value == nil {
			delete(p, name)
		}
		return p
	}
	again := func(s *wire.Session) {
		t.Step(s)
		a, err := s.Request(t.Ctx, mcp.MethodInitialize, good)
		talk.StopIfFull(t, a, err)
		t.Check("LC-01/again", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
	}
	var s, last, without *wire.Session // without: the one that was sent no version
	for _, c := range []struct {
		check  string
		params any
		good   bool // it may be served
	}{
		{"LC-01/no-params", nil, false},
		{"LC-01/no-version", with("protocolVersion", nil), false},
		{"LC-01/version-type", with("protocolVersion", 7), false},
		{"LC-01/info-type", with("clientInfo", "me"), false},
		{"LC-01/capabilities-type", with("capabilities", []any{}), false},
		{"LC-01/no-info", with("clientInfo", nil), true},
		{"LC-01/no-capabilities", with("capabilities", nil), true},
	} {
		if s == nil || s.Conn.Transport() == conformance.TransportHTTP {
			s = t.Raw()
		}
		t.Step(s)
		last = s
		a, err := s.Request(t.Ctx, mcp.MethodInitialize, c.params)
		talk.StopIfFull(t, a, err)
		refused := a.HasCode(err, wire.CodeInvalidParams, wire.CodeInvalidRequest)
		if err != nil && a.In.HTTP != nil { // the status alone may say it
			refused = a.In.HTTP.Status >= 400 && a.In.HTTP.Status < 500
		}
		t.Check(c.check, refused || c.good && err == nil && a.Err == nil, "error -32602", "%s", a.OrError(err))
		if c.check == "LC-01/no-version" && (refused || a.Err != nil) {
			if without = s; t.Alone() {
				again(s)
				s = nil
			}
		}
		switch {
		case refused:
		case t.Alone() || a.Err == nil:
			s = nil // it is open now, or lost
		default:
			s.Aged = true // it refused in another way
		}
	}
	if without != nil && !t.Decided("LC-01/again") {
		if s == without { // the program has refused more than that
			s.Used = true
			again(s)
		} else {
			s = t.Raw()
			_, _ = s.Request(t.Ctx, mcp.MethodInitialize, with("protocolVersion", nil)) // it was judged before
			again(s)
		}
		last = s
	}
	if !t.Decided("LC-01/again") {
		t.Skip("LC-01/again", conformance.SkipNoFixture, "it was not refused")
	}
	s = t.Again(last)
	strange := map[string]any{
		"protocolVersion": t.Rev.Asked, "clientInfo": map[string]any{"name": "x", "version": "", "colour": "blue"}, "extra": map[string]any{"deep": []any{1, nil}},
		"capabilities": map[string]any{"com.example/unknown": map[string]any{"x": true}, "experimental": map[string]any{"a": map[string]any{}}},
	}
	a, err := s.Request(t.Ctx, mcp.MethodInitialize, strange)
	talk.StopIfFull(t, a, err)
	t.Check("LC-01/unknown", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
}

func runInitializeDetails(t *engine.Trial) {
	s := t.Raw()
	s.Declares = talk.Everything() // a server that asks too early asks only whom it may
	a, err := s.Initialize(t.Ctx, t.Rev.Asked)
	t.NoError(err)
	if s.Opened == nil {
		t.Stop(fmt.Errorf("initialize: %s", a.Describe()))
	}
	wrong := ""
	info, _ := rawjson.Object(s.Opened.Result["serverInfo"])
	for _, name := range []string{"title", "description", "websiteUrl"} {
		if raw, there := info[name]; there && !rawjson.IsString(raw) {
			wrong = "serverInfo." + name + " is " + rawjson.OrAbsent(raw)
		}
	}
	if raw, there := info["icons"]; there {
		var icons []struct{ Src *string }
		if json.Unmarshal(raw, &icons) != nil {
			wrong = "serverInfo.icons is " + rawjson.OrAbsent(raw)
		}
		for _, icon := range icons {
			if icon.Src == nil {
				wrong = "an icon of serverInfo has no src"
			}
		}
	}
	t.Check("LC-01/info-members", wrong == "", "texts, and icons with a src", "%s", wrong)
	wrong = ""
	capabilities := engine.ServerCapabilities{}
	_ = json.Unmarshal(s.Opened.Capabilities, &capabilities) // judged by LC-01
	for _, path := range []string{"tools.listChanged", "prompts.listChanged", "resources.listChanged", "resources.subscribe"} {
		if raw := capabilities.At(path); len(raw) > 0 && string(raw) != "true" && string(raw) != "false" {
			wrong = "capabilities." + path + " is " + rawjson.Clip(string(raw), 40)
		}
	}
	t.Check("LC-01/flags", wrong == "", "true or false", "%s", wrong)

	_, err = s.Settle(t.Ctx)
	t.NoError(err)
	early := ""
	for _, in := range s.Unsolicited {
		if in.Method() != mcp.MethodPing && in.Method() != mcp.MethodMessage {
			early = rawjson.Clip(string(in.Data), 160)
		}
	}
	t.Check("LC-09/quiet", early == "", "no request or notification but ping and notifications/message", "%s", early)
	if !t.MayProvoke() {
		return
	}
	for range 2 {
		t.NoError(s.Initialized(t.Ctx))
	}
	stray, err := s.Settle(t.Ctx)
	t.Check("LC-07/twice", err == nil && len(stray) == 0, "silence, and an answer to ping", "%s", talk.StrayOrSilence(stray, err))
	t.Step(s)
	a, err = s.Request(t.Ctx, mcp.MethodPing, map[string]any{"com.example/unknown": []any{1}, "_meta": map[string]any{}})
	t.Check("UTIL-01/params", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
}

// initializing is how much longer than a ping initialize may take at most.
const initializing = 3 * time.Second

func runBeforeHandshake(t *engine.Trial) {
	s := t.Raw()
	a, err := s.Ping(t.Ctx)
	t.Check("UTIL-01/before", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
	s = t.Again(s)
	t.NoError(s.Initialized(t.Ctx))
	err = s.Handshake(t.Ctx, t.Rev.Asked)
	if err == nil {
		_, err = s.Ping(t.Ctx)
	}
	t.Check("LC-07/early", err == nil, "a handshake, and an answer to ping", "%v", err)
	s = t.Raw()
	id, err := s.Post(t.Ctx, mcp.MethodInitialize, s.InitializeParams(t.Rev.Asked))
	t.NoError(err)
	_, err = s.Send(t.Ctx, wire.Message("", mcp.MethodCancelled, map[string]any{"requestId": json.RawMessage(id), "reason": "test"}))
	t.NoError(err)
	lag := initializing
	if first := t.Rev.Startup(); first > 0 {
		lag = min(lag, max(first, wire.Lag))
	}
	a, err = s.AwaitAfterPing(t.Ctx, id, lag)
	t.Check("LC-10/cancelled", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
}
