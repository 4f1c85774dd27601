package conformance

import (
	"encoding/json"
	"errors"

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
	a, err := s.initialize(t.ctx, t.leg.asked)
	if err != nil {
		t.fail("LC-01/answered", "a result", err.Error())
		return err
	}
	if !t.check("LC-01/answered", s.opened != nil, "a result object", a.describe()) {
		return nil
	}
	result := s.opened.result
	capabilities := result["capabilities"]
	if t.check("LC-01/capabilities", isObject(capabilities), "an object", orAbsent(capabilities)) {
		var features map[string]json.RawMessage
		if err := json.Unmarshal(capabilities, &features); err != nil {
			return err
		}
		wrong := ""
		for _, name := range sortedKeys(features) {
			if !isObject(features[name]) {
				wrong = "capabilities." + name + " is " + orAbsent(features[name])
			}
		}
		t.check("LC-01/features", wrong == "", "objects", wrong)
	} else {
		t.skip("LC-01/features", SkipPrerequisite, "no capabilities")
	}
	info, _ := object(result["serverInfo"])
	t.check("LC-01/server-info", isString(info["name"]) && isString(info["version"]),
		"strings", "serverInfo "+orAbsent(result["serverInfo"]))
	instructions, there := result["instructions"]
	t.check("LC-01/instructions", !there || isString(instructions), "a string", orAbsent(instructions))
	return nil
}

func runVersions(t *trial) error {
	s, a, err := t.offer(t.leg.asked)
	if err != nil {
		return err
	}
	if s.opened == nil {
		return errors.New("initialize: " + a.describe())
	}
	newest := s.opened.revision
	t.check("LC-03/dated", newest.Era() == mcp.EraSession, "a revision that has initialize", "%q", newest)
	if newest.Era() == mcp.EraSession {
		s, a, err = t.offer(newest)
		switch {
		case err != nil:
			t.fail("LC-03/same", string(newest), err.Error())
		case s.opened == nil:
			t.fail("LC-03/same", string(newest), a.describe())
		default:
			t.check("LC-03/same", s.opened.revision == newest, string(newest), "%q", s.opened.revision)
		}
	}
	s, a, err = t.offer(unknownVersion)
	switch {
	case err != nil:
		t.fail("LC-03/unknown", "another version", err.Error())
		t.unknown("LC-03/latest", err.Error())
	case a.err != nil:
		// The lifecycle page's own example of a failed negotiation is this
		// error, so it is no less conforming than another version.
		t.check("LC-03/unknown", a.err.Code == codeInvalidParams, "another version, or error -32602", a.describe())
		t.skip("LC-03/latest", SkipNotDeclared, "the server refuses unknown versions")
	case s.opened == nil:
		t.fail("LC-03/unknown", "another version", a.describe())
	default:
		got := s.opened.revision
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
	if _, err := s.initialize(t.ctx, t.leg.asked); err != nil {
		return err
	}
	a, err := s.ping(t.ctx)
	if err != nil {
		t.fail("UTIL-01/handshake", "an answer", err.Error())
	} else {
		t.check("UTIL-01/handshake", a.err == nil && isObject(a.result), "a result", a.describe())
	}
	if err := s.initialized(t.ctx); err != nil {
		return err
	}
	t.step(s)
	a, err = s.ping(t.ctx)
	if err != nil {
		t.fail("UTIL-01/operation", "an answer", err.Error())
		return nil
	}
	members, ok := object(a.result)
	for name := range members {
		ok = ok && name == "_meta"
	}
	t.check("UTIL-01/operation", ok, "an empty result", a.describe())
	return nil
}
