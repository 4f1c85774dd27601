package lifecycle

import (
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func lifecycleScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "LC-01", Starts: 1, Gentle: true, Run: runInitializeResult},
		{ID: "LC-03", Gentle: true, Run: runVersions},
		{ID: "UTIL-01", Gentle: true, Run: runPing},
	}
}

func runInitializeResult(t *engine.Trial) {
	s := t.Raw()
	a, err := s.Initialize(t.Ctx, t.Rev.Asked)
	talk.StopIfFull(t, a, err)
	if err != nil {
		t.Fail("LC-01/answered", "a result", err.Error())
		t.Stop(err)
	}
	if !t.Check("LC-01/answered", s.Opened != nil, "a result object", a.Describe()) {
		return
	}
	result := s.Opened.Result
	capabilities := result["capabilities"]
	if t.Check("LC-01/capabilities", rawjson.IsObject(capabilities), "an object", rawjson.OrAbsent(capabilities)) {
		var features map[string]json.RawMessage
		t.NoError(json.Unmarshal(capabilities, &features))
		wrong := ""
		for _, name := range rawjson.SortedKeys(features) {
			if !rawjson.IsObject(features[name]) {
				wrong = "capabilities." + name + " is " + rawjson.OrAbsent(features[name])
			}
		}
		t.Check("LC-01/features", wrong == "", "objects", wrong)
	} else {
		t.Skip("LC-01/features", conformance.SkipPrerequisite, "no capabilities")
	}
	info, _ := rawjson.Object(result["serverInfo"])
	t.Check("LC-01/server-info", rawjson.IsString(info["name"]) && rawjson.IsString(info["version"]),
		"strings", "serverInfo "+rawjson.OrAbsent(result["serverInfo"]))
	instructions, there := result["instructions"]
	t.Check("LC-01/instructions", !there || rawjson.IsString(instructions), "a string", rawjson.OrAbsent(instructions))
}

func runVersions(t *engine.Trial) {
	s, a, err := talk.Offer(t, t.Rev.Asked)
	t.NoError(err)
	if s.Opened == nil {
		t.NoError(errors.New("initialize: " + a.Describe()))
		return
	}
	newest := s.Opened.Revision
	t.Check("LC-03/dated", newest.Era() == mcp.EraSession, "a revision that has initialize", "%q", newest)
	if newest.Era() == mcp.EraSession {
		s, a, err = talk.Offer(t, newest)
		switch {
		case err != nil:
			t.Fail("LC-03/same", string(newest), err.Error())
		case s.Opened == nil:
			t.Fail("LC-03/same", string(newest), a.Describe())
		default:
			t.Check("LC-03/same", s.Opened.Revision == newest, string(newest), "%q", s.Opened.Revision)
		}
	}
	if !t.MayProvoke() {
		return
	}
	s, a, err = talk.Offer(t, fixture.NoVersion)
	switch {
	case err != nil:
		t.Fail("LC-03/unknown", "another version", err.Error())
		t.Inconclusive("LC-03/latest", err.Error())
	case a.Err != nil:
		// The lifecycle page's own example of a failed negotiation is this
		// error, so it is no less conforming than another version.
		t.Check("LC-03/unknown", a.Err.Code == wire.CodeInvalidParams, "another version, or error -32602", a.Describe())
		t.Skip("LC-03/latest", conformance.SkipNotDeclared, "the server refuses unknown versions")
	case s.Opened == nil:
		t.Fail("LC-03/unknown", "another version", a.Describe())
	default:
		got := s.Opened.Revision
		t.Check("LC-03/unknown", got != fixture.NoVersion && got.Known(), "a version that exists", "%q", got)
		if t.Rev.Asked != mcp.LatestSession {
			t.Skip("LC-03/latest", conformance.SkipExcluded, "an older revision was asked for")
		} else {
			t.Check("LC-03/latest", got == newest || got.AtLeast(newest), string(newest), "%q", got)
		}
	}
}

func runPing(t *engine.Trial) {
	s, _, err := talk.Offer(t, t.Rev.Asked)
	t.NoError(err)
	a, err := s.Ping(t.Ctx)
	if err != nil {
		t.Fail("UTIL-01/handshake", "an answer", err.Error())
	} else {
		t.Check("UTIL-01/handshake", a.Err == nil && rawjson.IsObject(a.Result), "a result", a.Describe())
	}
	t.NoError(s.Initialized(t.Ctx))
	t.Step(s)
	a, err = s.Ping(t.Ctx)
	if err != nil {
		t.Fail("UTIL-01/operation", "an answer", err.Error())
		return
	}
	members, ok := rawjson.Object(a.Result)
	for name := range members {
		ok = ok && name == "_meta"
	}
	t.Check("UTIL-01/operation", ok, "an empty result", a.Describe())
}
