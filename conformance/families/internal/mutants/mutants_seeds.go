package mutants

import (
	"encoding/json"
	"slices"
	"strings"
)

// seedMutants break what the seed documents promise of their tools.
func seedMutants() []Mutant {
	envelope := func(change func(p, e object)) func() *defect {
		return payloads("", func(_ *exchange, p object) {
			if e, ok := p["error"].(object); ok && e["severity"] != nil {
				change(p, e)
			}
		})
	}
	return []Mutant{
		{ID: "validate-rate", Says: "automated_pass_rate counts one too few", Breaks: "S0-VAL-01", plant: payloads("validate_artifact", func(_ *exchange, p object) {
			if p["automated_pass_rate"] == "24/24" {
				p["automated_pass_rate"] = "23/24"
			}
		})},
		{ID: "validate-agent-passed", Says: "a criterion for an agent has passed already", Breaks: "S0-VAL-04", plant: criteria("agent", func(c object) { c["passed"] = true })},
		{ID: "validate-pending-fails", Says: "a document that waits for an agent has failed", Breaks: "S0-VAL-06", plant: payloads("validate_artifact", func(_ *exchange, p object) { p["passed"] = false })},
		{ID: "validate-kind", Says: "an automated criterion says it is a script's", Breaks: "S0-VAL-01", plant: criteria("automated", func(c object) { c["validation_type"] = "script" })},
		{ID: "validate-leftover-passes", Says: "a leftover placeholder passes", Breaks: "S0-VAL-07", plant: criteria("automated", func(c object) {
			if strings.Contains(strings.ToLower(text(c["description"])), "placeholder") {
				c["passed"] = true
			}
		})},
		{ID: "validate-prefix-code", Says: "an unknown prefix is a resource that was not found", Breaks: "S0-VAL-09", plant: callFailures("validate_artifact", "-32602", func(e object) { e["code"] = -32001 })},
		{ID: "validate-varies", Says: "the same document is judged in another order each time", Breaks: "S0-VAL-08", plant: func() *defect {
			n := 0
			return payloads("validate_artifact", func(_ *exchange, p object) {
				if all, ok := p["results"].([]any); ok && len(all) > 1 {
					n++
					k := n % len(all)
					p["results"] = slices.Concat(all[k:], all[:k])
				}
			})()
		}},
		{ID: "store-without-uri", Says: "what was stored has no resource_uri", Breaks: "S0-STORE-01", plant: payloads("store_artifact", func(_ *exchange, p object) { delete(p, "resource_uri") })},
		{ID: "store-uri-singular", Says: "the resource_uri has the folder in the singular", Breaks: "S0-STORE-11", plant: payloads("store_artifact", func(_ *exchange, p object) {
			p["resource_uri"] = strings.Replace(text(p["resource_uri"]), "s/", "/", 2)
		})},
		{ID: "store-version", Says: "every artifact is stored as version 1", Breaks: "S0-STORE-06", plant: payloads("store_artifact", func(_ *exchange, p object) {
			if p["version"] != nil {
				p["version"] = 1
			}
			for name, v := range p {
				if s, ok := v.(string); ok {
					p[name] = strings.NewReplacer("_v2", "_v1", "_v3", "_v1").Replace(s)
				}
			}
		})},
		{ID: "store-over-approved", Says: "an approved artifact is overwritten", Breaks: "S0-STORE-14", plant: storedAnyway("pproved")},
		{ID: "store-without-metadata", Says: "an artifact without an id is stored", Breaks: "S0-STORE-05", plant: storedAnyway("Missing required metadata field")},
		{ID: "approve-order", Says: "placeholders are mapped in the order of the alphabet reversed", Breaks: "S0-APPROVE-03", plant: payloads("approve_artifact", reverseMapping)},
		{ID: "approve-twice", Says: "an artifact is approved again", Breaks: "S0-APPROVE-07", plant: func() *defect {
			var last any
			return &defect{answer: func(x *exchange, r object) []object {
				if x.tool != "approve_artifact" {
					return []object{r}
				}
				if r["result"] != nil {
					last = r["result"]
				} else if strings.Contains(text(at(r, "error")["message"]), "already approved") && last != nil {
					return x.result(last)
				}
				return []object{r}
			}}
		}},
		{ID: "approve-missing-code", Says: "approving what is not there is an invalid parameter", Breaks: "S0-APPROVE-06", plant: callFailures("approve_artifact", "-32001", func(e object) { e["code"] = -32602 })},
		{ID: "next-id-unpadded", Says: "ids are not padded", Breaks: "S0-NEXT-02", plant: payloads("get_next_available_id", func(_ *exchange, p object) { p["next_id"] = unpadded(text(p["next_id"])) })},
		{ID: "next-id-again", Says: "an id is given twice", Breaks: "S0-NEXT-05", plant: func() *defect {
			n, last := 0, any(nil)
			return payloads("get_next_available_id", func(_ *exchange, p object) {
				if n++; n%2 == 0 {
					p["next_id"] = last
				}
				last = p["next_id"]
			})()
		}},
		{ID: "reserve-gap", Says: "a reserved range has a gap", Breaks: "S0-RES-01", plant: payloads("reserve_id_range", func(_ *exchange, p object) {
			if ids, ok := p["reserved_ids"].([]any); ok && len(ids) > 1 {
				p["reserved_ids"] = append(ids[:len(ids)-1:len(ids)-1], text(ids[len(ids)-1])+"0")
			}
		})},
		{ID: "reserve-zero-served", Says: "a range of no ids is reserved", Breaks: "S0-RES-02", plant: servedFor("reserve_id_range", object{"artifact_type": "hls", "reserved_ids": []any{}, "reservation_id": "00000000-0000-4000-8000-000000000000"})},
		{ID: "add-count", Says: "tasks_added is one too many", Breaks: "S0-ADD-01", plant: payloads("add_task", func(_ *exchange, p object) { p["tasks_added"] = 99 })},
		{ID: "add-invalid-served", Says: "tasks that are not valid are added", Breaks: "S0-ADD-04", plant: servedFor("add_task", object{"success": true, "tasks_added": 1})},
		{ID: "profile-missing", Says: "errors do not say of which profile they are", Breaks: "X-PROF-01", plant: failures("", func(_ *exchange, _, e object) { delete(at(e, "data"), "profile") })},
		{ID: "coe-filter-code", Says: "a bad filter is answered with 422", Breaks: "S1-NEXT-04", plant: callFailures("getNextTask", "400", func(e object) { e["code"] = 422 })},
		{ID: "coe-queue-length", Says: "queueLength is a string", Breaks: "S1-NEXT-12", plant: payloads("getNextTask", func(_ *exchange, p object) { each(p, textNumbers("queueLength")) })},
		{ID: "coe-reading-takes", Says: "reading the next task changes it", Breaks: "S1-NEXT-08", plant: func() *defect {
			n := 0
			return payloads("getNextTask", func(_ *exchange, p object) {
				if task, ok := p["task"].(object); ok {
					n++
					task["taskId"] = "TASK-9" + string(rune('0'+n%10))
				}
			})()
		}},
		{ID: "coe-not-found-code", Says: "an unknown task is answered with 400", Breaks: "S1-DONE-02", plant: callFailures("", "404", func(e object) { e["code"] = 400 })},
		{ID: "coe-severity", Says: "the severity of an error is in small letters", Breaks: "S1-ERR-03", plant: envelope(func(_, e object) { e["severity"] = strings.ToLower(text(e["severity"])) })},
		{ID: "coe-code", Says: "an invalid parameter is VALIDATION_ERROR", Breaks: "S1-ISSUE-02", plant: envelope(func(_, e object) {
			if e["code"] == "INVALID_PARAM" {
				e["code"] = "VALIDATION_ERROR"
			}
		})},
		{ID: "coe-retryable", Says: "every error is retryable", Breaks: "S1-ERR-04", plant: envelope(func(_, e object) { e["retryable"] = true })},
		{ID: "coe-context-missing", Says: "errors have no context", Breaks: "S1-ERR-03", plant: envelope(func(p, _ object) { delete(p, "context") })},
		{ID: "coe-fallback-differs", Says: "fallback_suggested differs in its two places", Breaks: "S1-ERR-06", plant: envelope(func(p, e object) { p["fallback_suggested"] = e["fallback_suggested"] != true })},
		{ID: "coe-retry-after", Says: "retry_after_seconds is 0 for what is retryable", Breaks: "S1-ERR-04", plant: envelope(func(_, e object) {
			if e["retry_after_seconds"] != nil {
				e["retry_after_seconds"] = 0
			}
		})},
		{ID: "coe-rate-unlimited", Says: "calls over the rate limit are served", Breaks: "S1-RATE-01", plant: rateUnlimited},
		{ID: "coe-ticket-id", Says: "tickets have ids of another form", Breaks: "S1-TICKET-01", plant: payloads("createTicket", func(_ *exchange, p object) { at(p, "ticket")["id"] = "TICKET/1" })},
		{ID: "coe-escalates-all", Says: "every issue is escalated", Breaks: "S1-ISSUE-01", plant: payloads("reportIssue", func(_ *exchange, p object) { p["escalated"] = true })},
		{ID: "coe-confidence", Says: "confidence is more than 1", Breaks: "S1-ASK-01", plant: payloads("askQuestion", func(_ *exchange, p object) {
			if p["confidence"] != nil {
				p["confidence"] = 170
			}
		})},
		{ID: "docling-schema-name", Says: "documents have another schema_name", Breaks: "S2-CONV-06", plant: payloads("", func(_ *exchange, p object) {
			each(p, func(o object) {
				if o["schema_name"] == "DoclingDocument" {
					o["schema_name"] = "Document"
				}
			})
		})},
		{ID: "docling-markdown-empty", Says: "export_markdown returns nothing", Breaks: "S2-EXP-01", plant: exported("export_markdown", "")},
		{ID: "docling-html-unescaped", Says: "export_html does not escape text", Breaks: "S2-EXP-03", plant: exportedBy("export_html", strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace)},
		{ID: "preflights-progress", Says: "progress counts the answers as asked", Breaks: "S3-CLAR-01", plant: payloads("require_clarification", func(_ *exchange, p object) {
			if at(p, "progress")["asked_so_far"] != nil {
				at(p, "progress")["asked_so_far"] = 0
			}
		})},
		{ID: "preflights-no-other", Says: "questions do not end with Other (specify)", Breaks: "S3-Q-04", plant: payloads("require_clarification", func(_ *exchange, p object) {
			for _, q := range list(p, "questions") {
				if options, ok := q["options"].([]any); ok && len(options) > 1 {
					q["options"] = options[:len(options)-1]
				}
			}
		})},
		{ID: "preflights-code", Says: "an unknown session has expired", Breaks: "S3-SESS-02", plant: payloads("require_clarification", func(_ *exchange, p object) {
			each(p, func(o object) {
				if o["code"] == "SESSION_NOT_FOUND" {
					o["code"] = "SESSION_EXPIRED"
				}
			})
		})},
		{ID: "preflights-hint-missing", Says: "errors have no recovery_hint", Breaks: "S3-ERR-01", plant: payloads("", func(_ *exchange, p object) { each(p, func(o object) { delete(o, "recovery_hint") }) })},
		{ID: "save-token-unchecked", Says: "an artifact is saved for a token nobody gave", Breaks: "S4-SAVE-04", plant: calls("save_artifact", func(_ *exchange, result object) {
			result["content"] = []any{object{"type": "text", "text": `ARTIFACT_CREATED:{"id":1,"artifact_type":"generated_file","title":"x"}|File generated successfully.`}}
			delete(result, "isError")
		})},
	}
}

// payloads changes the JSON object that the results of a tool carry, in its
// text and in structuredContent; "" is any tool.
func payloads(tool string, change func(x *exchange, p object)) func() *defect {
	return calls(tool, func(x *exchange, result object) {
		for i, block := range list(result, "content") {
			p, ok := decode([]byte(text(block["text"])))
			if i > 0 || !ok {
				return
			}
			change(x, p)
			block["text"] = jsonText(p)
			if result["structuredContent"] != nil {
				result["structuredContent"] = p
			}
		}
	})
}

// criteria changes the criteria of a kind in what validate_artifact returns.
func criteria(kind string, change func(c object)) func() *defect {
	return payloads("validate_artifact", func(_ *exchange, p object) {
		for _, c := range list(p, "results") {
			if c["validation_type"] == kind {
				change(c)
			}
		}
	})
}

// callFailures changes the errors with a code that a tool answers with; "" is
// any tool.
func callFailures(tool, code string, change func(e object)) func() *defect {
	return failures(code, func(x *exchange, _, e object) {
		if x.tool != "" && (tool == "" || x.tool == tool) {
			change(e)
		}
	})
}

// structured is a result that carries p.
func structured(x *exchange, p object) []object {
	return x.result(x.complete(object{"content": []any{object{"type": "text", "text": jsonText(p)}}, "structuredContent": p}))
}

// servedFor answers with p what a tool refuses as an invalid parameter.
func servedFor(tool string, p object) func() *defect {
	return answers(func(x *exchange, r object) []object {
		if code, _ := isError(r); code == "-32602" && x.tool == tool {
			return structured(x, p)
		}
		return []object{r}
	})
}

// storedAnyway answers refusals of store_artifact with success.
func storedAnyway(refusal string) func() *defect {
	return answers(func(x *exchange, r object) []object {
		if x.tool == "store_artifact" && strings.Contains(text(at(r, "error")["message"]), refusal) {
			return structured(x, object{
				"artifact_id": "EPIC-006", "version": 1, "storage_path": "artifacts/epic/EPIC-006_v1.md",
				"resource_uri": "mcp://resources/artifacts/epics/EPIC-006_v1.md",
			})
		}
		return []object{r}
	})
}

// reverseMapping turns the values of id_mapping round.
func reverseMapping(_ *exchange, p object) {
	mapping := at(p, "id_mapping")
	var from []string
	var to []any
	for name := range mapping {
		from = append(from, name)
	}
	slices.Sort(from)
	for _, name := range slices.Backward(from) {
		to = append(to, mapping[name])
	}
	for i, name := range from {
		mapping[name] = to[i]
	}
}

func unpadded(id string) string {
	prefix, number, _ := strings.Cut(id, "-")
	return prefix + "-" + strings.TrimLeft(number, "0")
}

// textNumbers turns the numbers with a name into strings.
func textNumbers(name string) func(o object) {
	return func(o object) {
		if n, ok := o[name].(json.Number); ok {
			o[name] = n.String()
		}
	}
}

// rateUnlimited answers calls over the rate with the last success of the tool.
func rateUnlimited() *defect {
	last := map[string]any{}
	return &defect{answer: func(x *exchange, r object) []object {
		if x.tool == "" {
			return []object{r}
		}
		limited := strings.Contains(jsonText(r), "RATE_LIMIT")
		if code, _ := isError(r); code == "429" {
			limited = true
		}
		if limited && last[x.tool] != nil {
			return x.result(last[x.tool])
		}
		if r["result"] != nil && !limited {
			last[x.tool] = r["result"]
		}
		return []object{r}
	}}
}

// exported replaces the long texts of what an export returns.
func exported(tool, with string) func() *defect {
	return exportedBy(tool, func(string) string { return with })
}

func exportedBy(tool string, change func(string) string) func() *defect {
	return calls(tool, func(_ *exchange, result object) {
		for _, block := range list(result, "content") {
			p, ok := decode([]byte(text(block["text"])))
			if !ok {
				block["text"] = change(text(block["text"]))
				continue
			}
			for name, v := range p {
				if s, ok := v.(string); ok && (name == "markdown" || name == "html" || name == "content") {
					p[name] = change(s)
				}
			}
			block["text"] = jsonText(p)
			if result["structuredContent"] != nil {
				result["structuredContent"] = p
			}
		}
	})
}
