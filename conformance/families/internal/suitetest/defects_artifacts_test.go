package suitetest

import (
	"bytes"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func validateDefects() map[string]broken {
	verdict := func(change func(arguments, payload map[string]any)) broken {
		return broken{defect: defect{verdict: change}}
	}
	set := func(name string, value any) broken {
		return verdict(func(_, payload map[string]any) { payload[name] = value })
	}
	logs := func(change func(line map[string]any) map[string]any) broken {
		return broken{defect: defect{log: change}, process: true}
	}
	files := func(fault string) broken { return broken{defect: defect{files: fault}} }
	judgedBy := func(id string) broken {
		return logs(func(line map[string]any) map[string]any {
			if line["artifact_id"] == id {
				line["checklist_id"] = "prd_validation_v1"
			}
			return line
		})
	}
	missing := func(change func(payload map[string]any)) broken {
		return verdict(func(arguments, payload map[string]any) {
			if !contains(arguments, "\n## "+artifact.PRDSection+"\n") {
				change(payload)
			}
		})
	}
	code := func(from int64, to int64) broken {
		return broken{defect: defect{after: func(_ *fakeConn, m fakeMessage, r reply) []any {
			if e, ok := r["error"].(reply); ok && m.call == artifact.ToolValidate && e["code"] == from {
				e["code"] = to
			}
			return []any{r}
		}}}
	}
	calls := 0
	return map[string]broken{
		"S0-VAL-01/passed": set("passed", false),
		"S0-VAL-01/rate":   set("automated_pass_rate", "24 of 24"),
		"S0-VAL-01/agent":  set("agent_review_required", 3),
		"S0-VAL-01/results": verdict(func(_, payload map[string]any) {
			results := payload["results"].([]any)
			payload["results"] = results[:len(results)-1]
		}),
		"S0-VAL-04": verdict(func(_, payload map[string]any) { criterionOf(payload, "agent")["passed"] = true }),
		"S0-VAL-06": verdict(func(_, payload map[string]any) {
			if payload["agent_review_required"] != 0 {
				payload["passed"] = false
			}
		}),
		"X-WIRE-11":           result(mcp.MethodToolsCall, func(_ *fakeConn, _ fakeMessage, r reply) { r["structuredContent"] = reply{"passed": "maybe"} }),
		"S0-VAL-02/epic":      judgedBy("EPIC-006"),
		"S0-VAL-02/story":     judgedBy("US-040"),
		"S0-VAL-03/criterion": missing(func(payload map[string]any) { criterionOf(payload, "automated")["details"] = "no" }),
		"S0-VAL-03/rate":      missing(func(payload map[string]any) { payload["automated_pass_rate"] = "24/24" }),
		"S0-VAL-03/overall":   missing(func(payload map[string]any) { payload["passed"] = true }),
		"S0-VAL-03/result": result(mcp.MethodToolsCall, func(_ *fakeConn, _ fakeMessage, r reply) {
			if bytes.Contains(rawjson.Encode(r), []byte("Missing sections")) {
				r["isError"] = true
			}
		}),
		"S0-VAL-07/draft": verdict(func(arguments, payload map[string]any) {
			if contains(arguments, "HLS-AAA") {
				c := criterionOf(payload, "automated")
				c["passed"], c["details"] = false, "Found 1 placeholder: HLS-AAA"
			}
		}),
		"S0-VAL-07/leftover": {defect: defect{raw: func(c *fakeConn, line []byte) ([]any, bool) {
			if bytes.Contains(line, []byte("[Fill in]")) {
				return c.handle(bytes.ReplaceAll(line, []byte("[Fill in]"), nil)), true
			}
			return nil, false
		}}},
		"S0-VAL-08": verdict(func(_, payload map[string]any) { calls++; payload["call"] = calls }),
		"S0-VAL-09": {defect: defect{after: func(_ *fakeConn, m fakeMessage, r reply) []any {
			if e, ok := r["error"].(reply); ok {
				e["message"] = "Invalid params: no"
			}
			return []any{r}
		}}},
		"S0-VAL-12/refused": code(wire.CodeInvalidParams, wire.CodeInternal),
		"S0-VAL-12/log": logs(func(line map[string]any) map[string]any {
			if strings.Contains(line["event"].(string), "traversal") {
				return nil
			}
			return line
		}),
		"S0-VAL-15": logs(func(line map[string]any) map[string]any { delete(line, "passed"); return line }),
		"X-LOG-01/validate": logs(func(line map[string]any) map[string]any {
			if strings.HasSuffix(line["event"].(string), "_started") {
				return nil
			}
			return line
		}),
		"X-LOG-02/validate": {defect: defect{files: "log-content"}, process: true},
		"S0-VAL-05/null":    verdict(func(_, payload map[string]any) { criterionOf(payload, "manual")["passed"] = true }),
		"S0-VAL-05/neutral": set("agent_review_required", 2),
		"S0-VAL-10":         files("missing-is-internal"),
		"S0-VAL-11/json":    files("broken-is-fine"),
		"S0-VAL-11/schema":  files("wrong-is-fine"),
		"S0-VAL-11/mended":  files("cache-failures"),
		"S0-VAL-13/within":  files("no-cache"),
		"S0-VAL-14":         files("no-cache"),
		"S0-VAL-16":         files("no-permissions"),
		"S0-VAL-17/fails": verdict(func(_, payload map[string]any) {
			for _, r := range payload["results"].([]any) {
				if c := r.(map[string]any); c["id"] == "CC-01" {
					c["passed"] = true
				}
			}
		}),
		"S0-VAL-17/only": set("automated_pass_rate", "0/3"),
	}
}

func storeDefects() map[string]broken {
	files := func(fault string) broken { return broken{defect: defect{files: fault}} }
	set := func(name string, value any) broken {
		return broken{defect: defect{stored: func(_, payload map[string]any) { payload[name] = value }}}
	}
	logs := func(event, member string) broken {
		return broken{process: true, defect: defect{log: func(line map[string]any) map[string]any {
			if line["event"] == artifact.ToolStore+"_invocation_"+event {
				delete(line, member)
			}
			return line
		}}}
	}
	version := func(given, stored string) broken {
		return broken{defect: defect{stored: func(_, payload map[string]any) {
			for _, name := range []string{"storage_path", "resource_uri"} {
				payload[name] = strings.Replace(payload[name].(string), "_v"+given, "_v"+stored, 1)
			}
		}}}
	}
	return map[string]broken{
		"S0-STORE-01/fields":  set("success", false),
		"S0-STORE-01/path":    set("storage_path", "/srv/EPIC-006.md"),
		"S0-STORE-01/uri":     set("resource_uri", "mcp://resources/artifacts/epic/EPIC-006_v1.md"),
		"S0-STORE-02":         files("line-end"),
		"S0-STORE-03/keys":    files("extra-key"),
		"S0-STORE-03/values":  files("odd-status"),
		"S0-STORE-03/size":    files("count-characters"),
		"S0-STORE-04":         files("no-mkdir"),
		"S0-STORE-05/id":      files("accept-no-artifact_id"),
		"S0-STORE-05/status":  files("accept-no-status"),
		"S0-STORE-05/title":   files("accept-no-title"),
		"S0-STORE-05/nothing": files("write-first"),
		"S0-STORE-06/default": version("1", "0"),
		"S0-STORE-06/given":   version("3", "1"),
		"S0-STORE-07":         files("no-parent"),
		"S0-STORE-08/error":   files("ignore-errors"),
		"S0-STORE-08/clean":   files("leave-tmp"),
		"S0-STORE-09":         files("not-atomic"),
		"S0-STORE-10":         {defect: defect{files: "no-permissions"}, process: true},
		"S0-STORE-11/folders": files("odd-type"),
		"S0-STORE-11/uris":    files("odd-type"),
		"S0-STORE-12": result(mcp.MethodResourcesRead, func(_ *fakeConn, _ fakeMessage, r reply) {
			r["contents"] = []any{}
		}),
		"S0-STORE-13/refused":   files("accept-traversal"),
		"S0-STORE-13/outside":   files("write-outside"),
		"S0-STORE-14/draft":     files("never-again"),
		"S0-STORE-14/approved":  files("approved-is-nothing"),
		"S0-STORE-15/started":   logs("started", "content_size"),
		"S0-STORE-15/completed": logs("completed", "resource_uri"),
		"S0-STORE-16/whole":     files("append"),
		"S0-STORE-16/match":     files("first-metadata"),
	}
}
