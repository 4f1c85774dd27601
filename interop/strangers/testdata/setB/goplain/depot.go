package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

type parcel struct {
	number, recipient, depot, status, address string
	grams                                     int // 0: not weighed yet
}

var (
	parcelsMu sync.Mutex
	parcels   = map[string]*parcel{}
	order     []string
	depots    = []string{"harbour", "north", "station"}
	countries = []string{"AT", "BE", "CH", "DE", "DK", "FR", "IT", "NL"}
	languages = []string{"danish", "dutch", "english", "french", "german"}
)

func init() {
	for _, p := range []parcel{
		{"PX-1001", "Ada Lind", "harbour", "in transit", "3 Quay Lane", 1200},
		{"PX-1002", "Zoë Çelik", "north", "delivered", "Süderstraße 9", 430},
		{"PX-1003", "Bo Berg", "harbour", "in transit", "12 Mill Road", 8150},
		{"PX-1004", "Mia Holt", "station", "announced", "77 Fen Close", 0},
		{"PX-1005", "Olaf Ness", "harbour", "held", "5 Pier Head", 2500},
		{"PX-1006", "李雷", "north", "in transit", "北路 18", 990},
		{"PX-1007", "Ida Roy", "harbour", "in transit", "2 Hill View", 310},
	} {
		c := p
		parcels[p.number] = &c
		order = append(order, p.number)
	}
}

func lookup(number string) *parcel {
	parcelsMu.Lock()
	defer parcelsMu.Unlock()
	if p := parcels[number]; p != nil {
		c := *p
		return &c
	}
	return nil
}

func all() []parcel {
	parcelsMu.Lock()
	defer parcelsMu.Unlock()
	var out []parcel
	for _, n := range order {
		out = append(out, *parcels[n])
	}
	return out
}

func (p *parcel) record() M {
	r := M{"number": p.number, "recipient": p.recipient, "depot": p.depot, "status": p.status}
	if p.grams > 0 {
		r["weightGrams"] = p.grams
	} else if defect("null-weight") {
		r["weightGrams"] = nil
	}
	return r
}

var parcelSchema = M{"type": "object", "properties": M{
	"number": M{"type": "string", "pattern": "^PX-[0-9]+$"}, "recipient": M{"type": "string"}, "depot": M{"type": "string", "enum": depots},
	"status":      M{"type": "string", "enum": []string{"announced", "in transit", "held", "delivered"}},
	"weightGrams": M{"type": "integer", "minimum": 1, "description": "left out until the parcel is weighed"},
}, "required": []string{"number", "recipient", "depot", "status"}}

func object(required []string, props M) M {
	return M{"type": "object", "properties": props, "required": required, "additionalProperties": false}
}

var numberArg = M{"type": "string", "description": "parcel number, such as PX-1001"}

func toolList() []M {
	return []M{
		{"name": "track_parcel", "title": "Track a parcel", "description": "Where a parcel is now.",
			"inputSchema": object([]string{"number"}, M{"number": numberArg}), "outputSchema": parcelSchema,
			"annotations": M{"readOnlyHint": true, "openWorldHint": false}},
		{"name": "list_parcels", "description": "Parcels of one depot, or of all.",
			"inputSchema": object([]string{}, M{"depot": M{"type": "string", "enum": depots},
				"limit": M{"type": "integer", "minimum": 0, "maximum": 100}}),
			"outputSchema": M{"type": "object", "properties": M{"parcels": M{"type": "array", "items": parcelSchema},
				"total": M{"type": "integer", "minimum": 0}}, "required": []string{"parcels", "total"}},
			"annotations": M{"readOnlyHint": true}},
		{"name": "quote_shipping", "description": "What sending a parcel costs.",
			"inputSchema": object([]string{"weightGrams", "country"}, M{"weightGrams": M{"type": "integer", "minimum": 1, "maximum": 30000},
				"country": M{"type": "string", "enum": countries}, "express": M{"type": "boolean"}}),
			"outputSchema": M{"type": "object", "properties": M{"price": M{"type": "number", "minimum": 0}, "currency": M{"const": "EUR"},
				"days": M{"type": "integer", "minimum": 1}}, "required": []string{"price", "currency", "days"}, "additionalProperties": false},
			"annotations": M{"readOnlyHint": true}},
		{"name": "parcel_label", "description": "The label of a parcel, as a picture and as text.",
			"inputSchema": object([]string{"number"}, M{"number": numberArg})},
		{"name": "register_parcel", "description": "Announces a new parcel.",
			"inputSchema": object([]string{"recipient", "depot"}, M{"recipient": M{"type": "string", "minLength": 1, "maxLength": 60},
				"depot": M{"type": "string", "enum": depots}, "weightGrams": M{"type": "integer", "minimum": 1}}),
			"outputSchema": parcelSchema, "annotations": M{"readOnlyHint": false, "destructiveHint": false}},
		{"name": "reroute_parcel", "description": "Sends a parcel to another address, after the user confirms.",
			"inputSchema": object([]string{"number", "address"}, M{"number": numberArg, "address": M{"type": "string", "minLength": 3},
				"confirmed": M{"type": "boolean", "description": "true if the user has agreed already"}}),
			"annotations": M{"destructiveHint": true, "idempotentHint": true}},
		{"name": "sort_depot", "description": "Sorts all parcels of a depot; takes a while.",
			"inputSchema": object([]string{"depot"}, M{"depot": M{"type": "string", "enum": depots},
				"pauseMs": M{"type": "integer", "minimum": 0, "maximum": 2000, "description": "time for one parcel, 60 if left out"}})},
	}
}

// check says what is wrong with a value, or "".
func check(schema M, v any, at string) string {
	switch t := schema["type"]; t {
	case "object":
		o, ok := v.(map[string]any)
		if !ok {
			return at + " must be an object"
		}
		for _, name := range schema["required"].([]string) {
			if _, ok := o[name]; !ok {
				return name + " is missing"
			}
		}
		for name, x := range o {
			s, ok := schema["properties"].(M)[name].(M)
			if !ok {
				return "there is no argument " + name
			}
			if bad := check(s, x, name); bad != "" {
				return bad
			}
		}
	case "string":
		s, ok := v.(string)
		if !ok {
			return at + " must be a string"
		}
		if e, ok := schema["enum"].([]string); ok && !slices.Contains(e, s) {
			return fmt.Sprintf("%s must be one of %s", at, strings.Join(e, ", "))
		}
		n := utf8.RuneCountInString(s)
		if min, ok := schema["minLength"].(int); ok && n < min {
			return at + " is too short"
		}
		if max, ok := schema["maxLength"].(int); ok && n > max {
			return at + " is too long"
		}
	case "integer":
		f, ok := v.(float64)
		if !ok || f != math.Trunc(f) {
			return at + " must be an integer"
		}
		if min, ok := schema["minimum"].(int); ok && f < float64(min) {
			return fmt.Sprintf("%s must be at least %d", at, min)
		}
		if max, ok := schema["maximum"].(int); ok && f > float64(max) {
			return fmt.Sprintf("%s must be at most %d", at, max)
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return at + " must be true or false"
		}
	}
	return ""
}

func text(s string) M { return M{"type": "text", "text": s} }

func sorry(format string, a ...any) M {
	return M{"content": []M{text(fmt.Sprintf(format, a...))}, "isError": true}
}

func structured(v M) M {
	b, _ := json.Marshal(v)
	return M{"content": []M{text(string(b))}, "structuredContent": v}
}

func (r *request) call(name string, args M, responses map[string]json.RawMessage) (M, *rpcError) {
	list := toolList()
	i := slices.IndexFunc(list, func(t M) bool { return t["name"] == name })
	if i < 0 {
		if defect("unknown-tool-result") {
			return sorry("Unknown tool: %s", name), nil
		}
		return nil, fail(-32602, "Unknown tool: %s", name)
	}
	if bad := check(list[i]["inputSchema"].(M), args, "arguments"); bad != "" {
		return sorry("%s", bad), nil
	}
	str := func(k string) string { s, _ := args[k].(string); return s }
	num := func(k string, or int) int {
		if f, ok := args[k].(float64); ok {
			return int(f)
		}
		return or
	}
	var p *parcel
	if _, asked := args["number"]; asked {
		if p = lookup(str("number")); p == nil {
			return sorry("There is no parcel %s.", str("number")), nil
		}
	}
	switch name {
	case "track_parcel":
		return structured(p.record()), nil
	case "list_parcels":
		found := []M{}
		if defect("nil-list") {
			found = nil
		}
		total := 0
		for _, p := range all() {
			if d := str("depot"); d == "" || d == p.depot {
				if total++; len(found) < num("limit", 20) {
					found = append(found, p.record())
				}
			}
		}
		return structured(M{"parcels": found, "total": total}), nil
	case "quote_shipping":
		price, days := 4.5+float64(num("weightGrams", 0))/1000*1.2, 4
		quote := M{"currency": "EUR"}
		if args["express"] == true {
			price, days = price*2, 1
			if defect("express-days") {
				quote["days"] = "next day"
			}
		}
		if _, ok := quote["days"]; !ok {
			quote["days"] = days
		}
		quote["price"] = math.Round(price*100) / 100
		return structured(quote), nil
	case "parcel_label":
		encoding := base64.StdEncoding
		if defect("url-base64") {
			encoding = base64.RawURLEncoding
		}
		return M{"content": []M{
			{"type": "image", "mimeType": "image/png", "data": encoding.EncodeToString(label(p)), "annotations": M{"audience": []string{"user"}, "priority": 0.8}},
			{"type": "resource", "resource": M{"uri": "parcel://number/" + p.number, "mimeType": "application/json", "text": p.json()}},
		}}, nil
	case "register_parcel":
		parcelsMu.Lock()
		p = &parcel{number: fmt.Sprintf("PX-%d", 1001+len(order)), recipient: str("recipient"), depot: str("depot"), status: "announced", grams: num("weightGrams", 0)}
		parcels[p.number] = p
		order = append(order, p.number)
		record := p.record()
		parcelsMu.Unlock()
		if defect("prints-parcels") {
			fmt.Fprintln(os.Stdout, "registered", record["number"], "for", record["recipient"])
		}
		publish("list", "")
		return structured(record), nil
	case "reroute_parcel":
		if args["confirmed"] != true {
			said, result, e := r.confirm(p, str("address"), responses)
			if said == "" {
				return result, e
			}
			if said != "yes" {
				return M{"content": []M{text("Left as it was: the user said " + said + ".")}}, nil
			}
		}
		parcelsMu.Lock()
		parcels[p.number].address = str("address")
		parcelsMu.Unlock()
		publish("updated", "parcel://number/"+p.number)
		return M{"content": []M{text(p.number + " now goes to " + str("address") + ".")}}, nil
	}
	var mine []parcel
	for _, p := range all() {
		if p.depot == str("depot") {
			mine = append(mine, p)
		}
	}
	for i, p := range mine {
		select {
		case <-time.After(time.Duration(num("pauseMs", 60)) * time.Millisecond):
		case <-r.ctx.Done():
			return nil, fail(-32603, "cancelled")
		}
		r.log("debug", "sorted "+p.number)
		r.progress(i+1, len(mine), "sorted "+p.number)
	}
	r.log("notice", "depot "+str("depot")+" is sorted")
	return M{"content": []M{text(fmt.Sprintf("%d parcels of %s sorted.", len(mine), str("depot")))}}, nil
}

// confirm asks the user; it gives what was said, or the result to return at once.
func (r *request) confirm(p *parcel, address string, responses map[string]json.RawMessage) (string, M, *rpcError) {
	var e struct {
		Form *json.RawMessage `json:"form"`
		URL  *json.RawMessage `json:"url"`
	}
	raw, can := r.caps["elicitation"]
	json.Unmarshal(raw, &e)
	can = can && (e.Form != nil || e.URL == nil)
	params := M{"message": fmt.Sprintf("Send %s to %s instead of %s?", p.number, address, p.address),
		"requestedSchema": M{"type": "object", "properties": M{"agree": M{"type": "boolean", "title": "Reroute the parcel"}}, "required": []string{"agree"}}}
	if defect("nested-form") {
		params["requestedSchema"] = M{"type": "object", "properties": M{"decision": M{"type": "object",
			"properties": M{"agree": M{"type": "boolean"}}}, "agree": M{"type": "boolean"}}, "required": []string{"agree"}}
	}
	if r.modern {
		params["mode"] = "form"
		if raw, ok := responses["confirm"]; ok {
			return outcome(raw), nil, nil
		}
		if !can && !defect("stateless-asks-anyway") {
			return "", nil, &rpcError{Code: -32021, Message: "The client must support elicitation, or say confirmed", status: 400,
				Data: M{"requiredCapabilities": M{"elicitation": M{"form": M{}}}}}
		}
		return "", M{"resultType": "input_required", "inputRequests": M{"confirm": M{"method": "elicitation/create", "params": params}}}, nil
	}
	if !can {
		return "", sorry("The user has to agree; call again with confirmed when that is so."), nil
	}
	answer, err := r.ask("elicitation/create", params)
	if err != nil {
		return "", sorry("Could not ask the user: %v", err), nil
	}
	return outcome(answer), nil, nil
}

func outcome(raw json.RawMessage) string {
	var a struct {
		Action  string
		Content struct{ Agree bool }
	}
	json.Unmarshal(raw, &a)
	if a.Action == "accept" && a.Content.Agree {
		return "yes"
	}
	if a.Action == "cancel" || a.Action == "decline" {
		return a.Action
	}
	return "no"
}

func label(p *parcel) []byte {
	m := image.NewGray(image.Rect(0, 0, 48, 16))
	for i, b := range []byte(p.number + p.recipient) {
		for y := 0; y < 16; y++ {
			m.SetGray(i*2%48, y, color.Gray{Y: b * 3})
		}
	}
	var b bytes.Buffer
	png.Encode(&b, m)
	return b.Bytes()
}

func (p *parcel) json() string {
	r := p.record()
	r["address"] = p.address
	b, _ := json.Marshal(r)
	return string(b)
}

func resourceList() []M {
	out := []M{{"uri": "parcel://depots", "name": "depots", "title": "All depots", "mimeType": "text/plain"},
		{"uri": "parcel://label/PX-1001", "name": "label PX-1001", "mimeType": "image/png"}}
	for _, p := range all() {
		out = append(out, M{"uri": "parcel://number/" + p.number, "name": p.number, "description": "for " + p.recipient, "mimeType": "application/json"})
	}
	return out
}

func templateList() []M {
	return []M{{"uriTemplate": "parcel://number/{number}", "name": "parcel", "mimeType": "application/json"},
		{"uriTemplate": "parcel://label/{number}", "name": "label", "mimeType": "image/png"}}
}

func (r *request) read(uri string) (M, *rpcError) {
	if uri == "" {
		return nil, fail(-32602, "Invalid params: uri is missing")
	}
	var c M
	if uri == "parcel://depots" {
		c = M{"mimeType": "text/plain", "text": strings.Join(depots, "\n")}
	} else if n, ok := strings.CutPrefix(uri, "parcel://number/"); ok && lookup(n) != nil {
		c = M{"mimeType": "application/json", "text": lookup(n).json()}
	} else if n, ok := strings.CutPrefix(uri, "parcel://label/"); ok && lookup(n) != nil {
		c = M{"mimeType": "image/png", "blob": base64.StdEncoding.EncodeToString(label(lookup(n)))}
		if defect("blob-as-data") {
			delete(c, "blob")
			c["data"] = base64.StdEncoding.EncodeToString(label(lookup(n)))
		}
	} else {
		e := fail(-32002, "Resource not found")
		if e.Data = (M{"uri": uri}); r.modern {
			e.Code = -32602
		}
		return nil, e
	}
	c["uri"] = uri
	return M{"contents": []M{c}}, nil
}

func promptList() []M {
	return []M{
		{"name": "delivery_notice", "description": "A note to the recipient.", "arguments": []M{
			{"name": "number", "description": "parcel number", "required": true}, {"name": "language", "description": "english if left out"}}},
		{"name": "morning_brief", "description": "Starts the day at the depot."},
	}
}

func prompt(name string, args map[string]string) (M, *rpcError) {
	user := func(content M) M { return M{"role": "user", "content": content} }
	switch name {
	case "morning_brief":
		return M{"description": "The day's brief", "messages": []M{user(text("Sum up what lies in the depots and what is held."))}}, nil
	case "delivery_notice":
		p := lookup(args["number"])
		if p == nil {
			return nil, fail(-32602, "Invalid params: number must name a parcel")
		}
		language := args["language"]
		if language == "" {
			language = "english"
		}
		messages := []M{user(text(fmt.Sprintf("Write a short notice in %s to %s.", language, p.recipient))),
			user(M{"type": "resource", "resource": M{"uri": "parcel://number/" + p.number, "mimeType": "application/json", "text": p.json()}})}
		if defect("system-role") && args["language"] != "" {
			messages = slices.Insert(messages, 0, M{"role": "system", "content": text("You write " + language + ".")})
		}
		return M{"messages": messages}, nil
	}
	return nil, fail(-32602, "Unknown prompt: %s", name)
}

func complete(kind, name, uri, argument, value string) (M, *rpcError) {
	var from []string
	switch {
	case kind == "ref/prompt" && name == "delivery_notice" && argument == "language":
		from = languages
	case kind == "ref/prompt" && name == "delivery_notice" && argument == "number",
		kind == "ref/resource" && (uri == "parcel://number/{number}" || uri == "parcel://label/{number}") && argument == "number":
		for _, p := range all() {
			from = append(from, p.number)
		}
	case kind == "ref/prompt" && (name == "delivery_notice" || name == "morning_brief"):
	default:
		return nil, fail(-32602, "Invalid params: nothing to complete there")
	}
	values := []string{}
	for _, v := range from {
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(value)) {
			values = append(values, v)
		}
	}
	sort.Strings(values)
	total := len(values)
	return M{"completion": M{"values": values[:min(total, 100)], "total": total, "hasMore": total > 100}}, nil
}
