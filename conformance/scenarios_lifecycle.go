package conformance

import (
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// unknownVersion is a revision nobody ever published.
const unknownVersion mcp.Version = "1999-01-01"

func lifecycleScenarios() []Scenario {
	return []Scenario{
		{
			ID: "LC-01", Area: "lifecycle", Title: "the answer to initialize",
			Checks: []Check{
				{
					ID: "LC-01/answered", Title: "initialize is answered with a result", Level: Must,
					Spec: Spec{Section: "basic/lifecycle#initialization", Quote: "The server MUST respond with its own capabilities and information"},
				},
				{
					ID: "LC-01/capabilities", Title: "the result has a capabilities object", Level: Must,
					Spec: Spec{Section: "basic/lifecycle#initialization", Quote: "The server MUST respond with its own capabilities and information"},
				},
				{
					ID: "LC-01/features", Title: "each declared capability is an object", Level: Must,
					Spec: Spec{Section: "schema#servercapabilities", Quote: "Capabilities that a server may support."},
				},
				{
					ID: "LC-01/server-info", Title: "serverInfo has a name and a version", Level: Must,
					Spec: Spec{Section: "basic/lifecycle#initialization", Quote: "The server MUST respond with its own capabilities and information"},
				},
				{
					ID: "LC-01/instructions", Title: "instructions, when present, is a string", Level: Must,
					Spec: Spec{Section: "schema#initializeresult", Quote: "Instructions describing how to use the server and its features."},
				},
			},
			run: runInitializeResult,
		},
		{
			ID: "LC-03", Area: "lifecycle", Title: "version negotiation",
			Checks: []Check{
				{
					ID: "LC-03/dated", Title: "protocolVersion is a revision of the session era", Level: Must,
					Spec: Spec{Section: "basic/lifecycle#version-negotiation", Quote: "Otherwise, the server MUST respond with another protocol version it supports."},
				},
				{
					ID: "LC-03/same", Title: "a version the server supports is echoed", Level: Must,
					Spec: Spec{Section: "basic/lifecycle#version-negotiation", Quote: "If the server supports the requested protocol version, it MUST respond with the same version."},
				},
				{
					ID: "LC-03/unknown", Title: "an unknown version is answered with another one", Level: Must,
					Spec: Spec{Section: "basic/lifecycle#version-negotiation", Quote: "Otherwise, the server MUST respond with another protocol version it supports."},
				},
				{
					ID: "LC-03/latest", Title: "that other version is the newest the server supports", Level: Should,
					Spec: Spec{Section: "basic/lifecycle#version-negotiation", Quote: "This SHOULD be the latest version supported by the server."},
				},
			},
			run: runVersions,
		},
		{
			ID: "UTIL-01", Area: "lifecycle", Title: "ping is answered in any phase",
			Checks: []Check{
				{
					ID: "UTIL-01/handshake", Title: "a ping between initialize and initialized is answered", Level: Must,
					Spec: Spec{Section: "basic/utilities/ping", Quote: "The receiver MUST respond promptly with an empty response"},
				},
				{
					ID: "UTIL-01/operation", Title: "a ping in operation is answered with an empty object", Level: Must,
					Spec: Spec{Section: "basic/utilities/ping", Quote: "The receiver MUST respond promptly with an empty response"},
				},
			},
			run: runPing,
		},
	}
}

func runInitializeResult(t *trial) error {
	s, err := t.raw()
	if err != nil {
		return err
	}
	a, err := s.Initialize(t.ctx, t.leg.asked)
	if err != nil {
		t.fail("LC-01/answered", "a result", err.Error())
		return err
	}
	if !t.check("LC-01/answered", s.Opened != nil, "a result object", a.Describe()) {
		return nil
	}
	result := s.Opened.Result
	capabilities := result["capabilities"]
	if t.check("LC-01/capabilities", rawjson.IsObject(capabilities), "an object", rawjson.OrAbsent(capabilities)) {
		var features map[string]json.RawMessage
		if err := json.Unmarshal(capabilities, &features); err != nil {
			return err
		}
		wrong := ""
		for _, name := range rawjson.SortedKeys(features) {
			if !rawjson.IsObject(features[name]) {
				wrong = "capabilities." + name + " is " + rawjson.OrAbsent(features[name])
			}
		}
		t.check("LC-01/features", wrong == "", "objects", wrong)
	} else {
		t.skip("LC-01/features", SkipPrerequisite, "no capabilities")
	}
	info, _ := rawjson.Object(result["serverInfo"])
	t.check("LC-01/server-info", rawjson.IsString(info["name"]) && rawjson.IsString(info["version"]),
		"strings", "serverInfo "+rawjson.OrAbsent(result["serverInfo"]))
	instructions, there := result["instructions"]
	t.check("LC-01/instructions", !there || rawjson.IsString(instructions), "a string", rawjson.OrAbsent(instructions))
	return nil
}

func runVersions(t *trial) error {
	s, a, err := offer(t, t.leg.asked)
	if err != nil {
		return err
	}
	if s.Opened == nil {
		return errors.New("initialize: " + a.Describe())
	}
	newest := s.Opened.Revision
	t.check("LC-03/dated", newest.Era() == mcp.EraSession, "a revision that has initialize", "%q", newest)
	if newest.Era() == mcp.EraSession {
		s, a, err = offer(t, newest)
		switch {
		case err != nil:
			t.fail("LC-03/same", string(newest), err.Error())
		case s.Opened == nil:
			t.fail("LC-03/same", string(newest), a.Describe())
		default:
			t.check("LC-03/same", s.Opened.Revision == newest, string(newest), "%q", s.Opened.Revision)
		}
	}
	s, a, err = offer(t, unknownVersion)
	switch {
	case err != nil:
		t.fail("LC-03/unknown", "another version", err.Error())
		t.unknown("LC-03/latest", err.Error())
	case a.Err != nil:
		// The lifecycle page's own example of a failed negotiation is this
		// error, so it is no less conforming than another version.
		t.check("LC-03/unknown", a.Err.Code == wire.CodeInvalidParams, "another version, or error -32602", a.Describe())
		t.skip("LC-03/latest", SkipNotDeclared, "the server refuses unknown versions")
	case s.Opened == nil:
		t.fail("LC-03/unknown", "another version", a.Describe())
	default:
		got := s.Opened.Revision
		t.check("LC-03/unknown", got != unknownVersion && got.Known(), "a version that exists", "%q", got)
		if t.leg.asked != mcp.LatestSession {
			t.skip("LC-03/latest", SkipExcluded, "an older revision was asked for")
		} else {
			t.check("LC-03/latest", got == newest || got.AtLeast(newest), string(newest), "%q", got)
		}
	}
	return nil
}

func runPing(t *trial) error {
	s, err := t.raw()
	if err != nil {
		return err
	}
	if _, err := s.Initialize(t.ctx, t.leg.asked); err != nil {
		return err
	}
	a, err := s.Ping(t.ctx)
	if err != nil {
		t.fail("UTIL-01/handshake", "an answer", err.Error())
	} else {
		t.check("UTIL-01/handshake", a.Err == nil && rawjson.IsObject(a.Result), "a result", a.Describe())
	}
	if err := s.Initialized(t.ctx); err != nil {
		return err
	}
	t.step(s)
	a, err = s.Ping(t.ctx)
	if err != nil {
		t.fail("UTIL-01/operation", "an answer", err.Error())
		return nil
	}
	members, ok := rawjson.Object(a.Result)
	for name := range members {
		ok = ok && name == "_meta"
	}
	t.check("UTIL-01/operation", ok, "an empty result", a.Describe())
	return nil
}
