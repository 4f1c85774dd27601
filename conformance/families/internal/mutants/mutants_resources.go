package mutants

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// resourceMutants break resources and their templates.
func resourceMutants() []Mutant {
	first := func(change func(resource object)) func() *defect {
		return entries(mcp.MethodResourcesList, "resources", func(i int, resource object) {
			if i == 0 {
				change(resource)
			}
		})
	}
	contents := func(change func(x *exchange, c object)) func() *defect {
		return results(mcp.MethodResourcesRead, func(x *exchange, result object) {
			for _, c := range list(result, "contents") {
				change(x, c)
			}
		})
	}
	unknown := func(x *exchange, _ object) bool {
		uri, _ := x.params["uri"].(string)
		return x.method == mcp.MethodResourcesRead && !strings.HasPrefix(uri, "test://static") && !strings.HasPrefix(uri, "mcp://")
	}
	return []Mutant{
		{ID: "resource-without-name", Says: "a resource has no name", Breaks: "RES-02", plant: first(func(r object) { delete(r, "name") })},
		{ID: "resource-uri-text", Says: "the uri of a resource is no URI", Breaks: "RES-02", plant: first(func(r object) { r["uri"] = "the static text" })},
		{ID: "resource-uri-twice", Says: "two resources have the same uri", Breaks: "RES-02", plant: results(mcp.MethodResourcesList, func(_ *exchange, result object) {
			if all, ok := result["resources"].([]any); ok && len(all) > 0 {
				result["resources"] = append(all, all[0])
			}
		})},
		{ID: "resource-size-text", Says: "the size of a resource is a string", Breaks: "RES-07", plant: first(func(r object) { r["size"] = "12 kB" })},
		{ID: "resource-modified-text", Says: "lastModified is no time", Breaks: "RES-07", plant: first(func(r object) { r["annotations"] = object{"lastModified": "yesterday"} })},
		{ID: "resource-listed-unreadable", Says: "a resource that is listed cannot be read", Breaks: "RES-02", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if x.method == mcp.MethodResourcesRead && x.params["uri"] == "test://static-text" {
					return x.failure(-32603, "cannot read")
				}
				return nil
			}}
		}},
		{ID: "read-other-uri", Says: "contents name another uri than was asked for", Breaks: "RES-02", plant: contents(func(_ *exchange, c object) { c["uri"] = "test://other" })},
		{ID: "read-without-body", Says: "contents have neither text nor blob", Breaks: "RES-02", plant: contents(func(_ *exchange, c object) {
			delete(c, "text")
			delete(c, "blob")
		})},
		{ID: "blob-garbage", Says: "a blob is no base64", Breaks: "RES-02", plant: contents(func(_ *exchange, c object) {
			if c["blob"] != nil {
				c["blob"] = "%%% not base64 %%%"
			}
		})},
		{ID: "read-other-mime", Says: "a resource is read with another mimeType than it is listed with", Breaks: "RES-02", plant: contents(func(_ *exchange, c object) { c["mimeType"] = "application/zip" })},
		{ID: "read-mime-invalid", Says: "a mimeType is none", Breaks: "RES-02", plant: contents(func(_ *exchange, c object) { c["mimeType"] = "plain text" })},
		{ID: "unknown-resource-empty", Says: "an unknown resource is read as empty contents", Breaks: "RES-03", plant: excused(unknown, func(x *exchange) object { return cached(x, object{"contents": []any{}}) })},
		{ID: "unknown-resource-code", Says: "an unknown resource is answered with -32603", Breaks: "RES-03", plant: failures("", func(x *exchange, _, e object) {
			if unknown(x, e) {
				e["code"] = -32603
			}
		})},
		{ID: "unknown-resource-old-code", Says: "an unknown resource is answered with -32002 in the stateless era", Breaks: "RES-03", plant: failures("-32602", func(x *exchange, _, e object) {
			if x.stateless && x.method == mcp.MethodResourcesRead {
				e["code"] = -32002
			}
		})},
		{ID: "template-without-uri", Says: "a template has no uriTemplate", Breaks: "RES-07", plant: entries(mcp.MethodResourceTemplatesList, "resourceTemplates", func(_ int, t object) { delete(t, "uriTemplate") })},
		{ID: "template-unclosed", Says: "a template is no RFC 6570 template", Breaks: "RES-07", plant: entries(mcp.MethodResourceTemplatesList, "resourceTemplates", func(_ int, t object) { t["uriTemplate"] = "test://template/{id/data" })},
		{ID: "template-ignored", Says: "what is read by a template does not depend on its values", Breaks: "RES-07", plant: requests(mcp.MethodResourcesRead, func(x *exchange) {
			if uri, _ := x.params["uri"].(string); strings.HasPrefix(uri, "test://template/") {
				x.params["uri"] = "test://template/0/data"
				if x.http != nil && x.stateless {
					x.http.Header.Set(headerName, "test://template/0/data")
				}
			}
		})},
		{ID: "subscribe-silent", Says: "subscribe is accepted and no update ever comes", Breaks: "RES-04", plant: notes(mcp.MethodResourcesUpdated, func(*exchange, object) []object { return nil })},
		{ID: "unsubscribe-ignored", Says: "updates come after unsubscribe", Breaks: "RES-04", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if x.method == mcp.MethodResourcesUnsubscribe {
					return x.result(object{})
				}
				return nil
			}}
		}},
		{ID: "update-without-uri", Says: "updates do not say of what", Breaks: "RES-04", plant: notes(mcp.MethodResourcesUpdated, func(_ *exchange, n object) []object {
			delete(at(n, "params"), "uri")
			return []object{n}
		})},
	}
}

// cached adds the caching hints of the stateless era.
func cached(x *exchange, result object) object {
	if x.stateless {
		result["ttlMs"], result["cacheScope"] = 0, "private"
	}
	return result
}
