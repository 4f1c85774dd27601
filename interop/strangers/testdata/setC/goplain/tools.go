package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type tool struct {
	name, title, description string
	input, output            obj
	readOnly                 bool
	run                      func(c *call, a obj) obj
}

var hiveSchema = obj{"type": "string", "pattern": "^H[0-9]{2}$", "description": "Hive, H01 to H08"}

func object(props obj, required ...string) obj {
	o := obj{"type": "object", "properties": props, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

var tools []*tool

func init() {
	tools = []*tool{
		{name: "list_hives", title: "List hives", description: "The hives of a yard, or all hives.",
			input: object(obj{
				"yard":       obj{"type": "string", "enum": []string{"north", "orchard", "heath"}},
				"min_frames": obj{"type": "integer", "minimum": 1, "maximum": 12},
			}),
			output: object(obj{
				"count": obj{"type": "integer", "minimum": 0},
				"hives": obj{"type": "array", "items": object(obj{
					"id": obj{"type": "string"}, "name": obj{"type": "string"},
					"yard":       obj{"type": "string", "enum": []string{"north", "orchard", "heath"}},
					"frames":     obj{"type": "integer"},
					"queen_year": obj{"type": "integer", "description": "Left out when unknown"},
				}, "id", "name", "yard", "frames")},
			}, "count", "hives"),
			readOnly: true, run: listHives},
		{name: "weigh_hive", title: "Weigh a hive", description: "The weight on the scale under a hive.",
			input: object(obj{"hive": hiveSchema, "unit": obj{"type": "string", "enum": []string{"kg", "lb"}, "default": "kg"}}, "hive"),
			output: object(obj{"hive": obj{"type": "string"}, "weight": obj{"type": "number", "minimum": 0},
				"unit": obj{"type": "string", "enum": []string{"kg", "lb"}}}, "hive", "weight", "unit"),
			readOnly: true, run: weighHive},
		{name: "inspect_hive", title: "Inspect a hive", description: "Goes through the frames of a hive; reports progress and logs what it sees.",
			input: object(obj{"hive": hiveSchema, "depth": obj{"type": "string", "enum": []string{"quick", "full"}, "default": "quick"}}, "hive"),
			output: object(obj{"hive": obj{"type": "string"}, "frames_seen": obj{"type": "integer"}, "mites": obj{"type": "boolean"}},
				"hive", "frames_seen", "mites"),
			readOnly: true, run: inspectHive},
		{name: "add_note", title: "Add a note", description: "Writes a line into the notes of a hive.",
			input: object(obj{"hive": hiveSchema, "text": obj{"type": "string", "minLength": 1, "maxLength": 200000},
				"tags": obj{"type": "array", "items": obj{"type": "string"}, "maxItems": 5}}, "hive", "text"),
			run: addNote},
		{name: "photo_frame", title: "Picture of a frame", description: "The last picture of one frame.",
			input: object(obj{"hive": hiveSchema, "frame": obj{"type": "integer", "minimum": 1, "maximum": 10},
				"format": obj{"type": "string", "enum": []string{"png", "jpeg"}, "default": "png"},
				"attach": obj{"type": "boolean", "description": "Attach the picture as a resource"}}, "hive", "frame"),
			readOnly: true, run: photoFrame},
		{name: "plan_visit", title: "Plan a visit", description: "Puts a visit to a yard into the calendar.",
			input: object(obj{
				"yard":  obj{"type": "string", "enum": []string{"north", "orchard", "heath"}, "x-mcp-header": "Yard"},
				"date":  obj{"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
				"hours": obj{"type": "integer", "minimum": 1, "maximum": 10, "x-mcp-header": "Hours"},
			}, "yard", "date"),
			output: object(obj{"visit": obj{"type": "integer"}, "yard": obj{"type": "string"}, "date": obj{"type": "string"},
				"hours": obj{"type": "integer"}}, "visit", "yard", "date", "hours"),
			run: planVisit},
		{name: "record_harvest", title: "Record a harvest", description: "Records a harvest after asking how it was filled; confirmed skips the question.",
			input: object(obj{"hive": hiveSchema, "kilos": obj{"type": "number", "exclusiveMinimum": 0, "maximum": 80},
				"confirmed": obj{"type": "boolean"}}, "hive", "kilos"),
			output: object(obj{"recorded": obj{"type": "boolean"}, "jars": obj{"type": "integer"}, "kind": obj{"type": "string"}}, "recorded"),
			run:    recordHarvest},
		{name: "describe_season", title: "Describe a season", description: "Lets the client's model write a text on a season.",
			input: object(obj{"year": obj{"type": "integer", "minimum": 2022, "maximum": 2026},
				"max_words": obj{"type": "integer", "minimum": 10, "maximum": 500}}, "year"),
			readOnly: true, run: describeSeason},
	}
}

func toolList(c *call) []obj {
	var list []obj
	for _, t := range tools {
		d := obj{"name": t.name, "description": t.description, "inputSchema": t.input}
		if c.since(v2025a) {
			d["annotations"] = obj{"readOnlyHint": t.readOnly, "openWorldHint": false}
		}
		if c.since(v2025b) {
			d["title"] = t.title
			if t.output != nil {
				d["outputSchema"] = t.output
			}
		}
		list = append(list, d)
	}
	return list
}

func findTool(name string) *tool {
	for _, t := range tools {
		if t.name == name {
			return t
		}
	}
	return nil
}

// check validates v against the few schema words used above.
func check(schema obj, v any, path string) string {
	num := func(n json.Number) float64 { f, _ := n.Float64(); return f }
	switch schema["type"] {
	case "object":
		o, ok := v.(map[string]any)
		if !ok {
			return path + " must be an object"
		}
		props := schema["properties"].(obj)
		if req, ok := schema["required"].([]string); ok {
			for _, r := range req {
				if _, ok := o[r]; !ok {
					return path + "." + r + " is missing"
				}
			}
		}
		for k, x := range o {
			p, ok := props[k].(obj)
			if !ok {
				return path + "." + k + " is not known"
			}
			if s := check(p, x, path+"."+k); s != "" {
				return s
			}
		}
		return ""
	case "string":
		s, ok := v.(string)
		if !ok {
			return path + " must be a string"
		}
		if e, ok := schema["enum"].([]string); ok && !has(e, s) {
			return path + " must be one of " + strings.Join(e, ", ")
		}
		if p, ok := schema["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(s) {
			return path + " must look like " + p
		}
		n := len([]rune(s))
		if m, ok := schema["minLength"].(int); ok && n < m {
			return path + " is too short"
		}
		if m, ok := schema["maxLength"].(int); ok && n > m {
			return path + " is too long"
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return path + " must be true or false"
		}
	case "array":
		l, ok := v.([]any)
		if !ok {
			return path + " must be an array"
		}
		if m, ok := schema["maxItems"].(int); ok && len(l) > m {
			return path + " has too many items"
		}
		for i, x := range l {
			if s := check(schema["items"].(obj), x, fmt.Sprintf("%s[%d]", path, i)); s != "" {
				return s
			}
		}
	case "integer", "number":
		n, ok := v.(json.Number)
		if !ok {
			return path + " must be a number"
		}
		f := num(n)
		if schema["type"] == "integer" {
			if defect("whole-float-refused") {
				if _, err := strconv.Atoi(n.String()); err != nil {
					return path + " must be an integer"
				}
			}
			if f != math.Trunc(f) {
				return path + " must be an integer"
			}
		}
		if m, ok := schema["minimum"].(int); ok && f < float64(m) {
			return path + " is too small"
		}
		if m, ok := schema["exclusiveMinimum"].(int); ok && f <= float64(m) {
			return path + " is too small"
		}
		if m, ok := schema["maximum"].(int); ok && f > float64(m) {
			return path + " is too large"
		}
	}
	return ""
}

func intArg(a obj, key string, def int) int {
	n, ok := a[key].(json.Number)
	if !ok {
		return def
	}
	f, _ := n.Float64()
	return int(f)
}

func strArg(a obj, key, def string) string {
	if s, ok := a[key].(string); ok {
		return s
	}
	return def
}

func text(s string) obj { return obj{"type": "text", "text": s} }

func toolError(s string) obj {
	return obj{"content": []obj{text(s)}, "isError": true}
}

// structured gives the result twice: as a value, and as text for older clients.
func structured(v obj) obj {
	return obj{"content": []obj{text(string(encode(v)))}, "structuredContent": v}
}

func (s *server) callTool(c *call, m *message) (res obj, rerr *rpcError, silent bool) {
	var name string
	if json.Unmarshal(m.Params["name"], &name) != nil || name == "" {
		return nil, invalidParams("name must be a string"), false
	}
	t := findTool(name)
	if t == nil {
		return nil, invalidParams("Unknown tool: " + name), false
	}
	args := obj{}
	raw, ok := m.Params["arguments"]
	if ok || defect("arguments-demanded") {
		v, err := decode(raw)
		if args, ok = v.(map[string]any); !ok || err != nil {
			return nil, invalidParams("arguments must be an object"), false
		}
	}
	if c.token != nil {
		s.mu.Lock()
		s.lastToken = c.token
		s.mu.Unlock()
	}
	if msg := check(t.input, args, "arguments"); msg != "" {
		return toolError(msg), nil, false
	}
	sum := sha256.Sum256(append([]byte(name+"\n"), encode(args)...))
	c.digest = base64.RawURLEncoding.EncodeToString(sum[:12])
	if c.modern {
		if rerr := s.resume(c, m); rerr != nil {
			return nil, rerr, false
		}
		defer func() {
			switch p := recover().(type) {
			case nil:
			case needInput:
				state := s.sign(fmt.Sprintf("%s %d", c.digest, time.Now().Add(15*time.Minute).Unix()))
				res = obj{"resultType": "input_required", "requestState": state,
					"inputRequests": obj{p.key: obj{"method": p.method, "params": p.params}}}
			case *rpcError:
				res, rerr = nil, p
			default:
				panic(p)
			}
		}()
	}
	res = t.run(c, args)
	if !c.since(v2025b) {
		delete(res, "structuredContent")
	}
	return res, nil, false
}

// resume takes the answers of an earlier round, if the state fits this call.
func (s *server) resume(c *call, m *message) *rpcError {
	raw, ok := m.Params["requestState"]
	if !ok {
		return nil
	}
	var state string
	if json.Unmarshal(raw, &state) != nil {
		return invalidParams("requestState must be a string")
	}
	payload, ok := s.verify(state)
	digest, until, _ := strings.Cut(payload, " ")
	t, err := strconv.ParseInt(until, 10, 64)
	if !ok || err != nil || digest != c.digest || time.Now().Unix() > t {
		return invalidParams("requestState does not belong to this call")
	}
	if raw, ok := m.Params["inputResponses"]; ok {
		if json.Unmarshal(raw, &c.answers) != nil {
			return invalidParams("inputResponses must be an object")
		}
	}
	return nil
}

// may tells whether the client can answer such a question; in the stateless
// era the call ends with an error when it cannot.
func (c *call) may(feature string) bool {
	raw, ok := c.caps[feature]
	if ok && feature == "elicitation" {
		var modes map[string]json.RawMessage
		json.Unmarshal(raw, &modes)
		_, form := modes["form"]
		ok = len(modes) == 0 || form
	}
	if feature == "elicitation" && !c.modern {
		ok = c.since(v2025b) && (ok || defect("elicits-unasked"))
	}
	if !ok && c.modern {
		need := obj{feature: obj{}}
		if feature == "elicitation" {
			need = obj{feature: obj{"form": obj{}}}
		}
		panic(&rpcError{Code: -32021, Message: "the client must support " + feature, Status: 400,
			Data: obj{"requiredCapabilities": need}})
	}
	return ok
}

func listHives(c *call, a obj) obj {
	yard, least := strArg(a, "yard", ""), intArg(a, "min_frames", 0)
	list := []obj{}
	for _, h := range hives {
		if (yard != "" && h.Yard != yard) || h.Frames < least {
			continue
		}
		e := obj{"id": h.ID, "name": h.Name, "yard": h.Yard, "frames": h.Frames}
		if h.QueenYear != 0 {
			e["queen_year"] = h.QueenYear
		} else if defect("unknown-year-null") {
			e["queen_year"] = nil
		}
		list = append(list, e)
	}
	return structured(obj{"count": len(list), "hives": list})
}

func weighHive(c *call, a obj) obj {
	h := findHive(strArg(a, "hive", ""))
	if h == nil {
		return toolError("There is no such hive.")
	}
	res := obj{"hive": h.ID, "weight": h.Kilos, "unit": "kg"}
	if strArg(a, "unit", "kg") == "lb" {
		res["unit"] = "lb"
		res["weight"] = math.Round(h.Kilos*22.0462) / 10
		if defect("pounds-as-text") {
			res["weight"] = fmt.Sprintf("%.1f", h.Kilos*2.20462)
		}
	}
	return structured(res)
}

func inspectHive(c *call, a obj) obj {
	h := findHive(strArg(a, "hive", ""))
	if h == nil {
		return toolError("There is no such hive.")
	}
	steps := 3
	if strArg(a, "depth", "quick") == "full" {
		steps = h.Frames
	}
	c.log("debug", obj{"event": "opened", "hive": h.ID})
	c.log("info", "Inspection of hive "+h.ID+" begins")
	c.progress(0, float64(steps), "lid off")
	for i := 1; i <= steps; i++ {
		if !c.sleep(60 * time.Millisecond) {
			return toolError("The inspection was broken off.")
		}
		c.progress(float64(i), float64(steps), fmt.Sprintf("frame %d", i))
	}
	if h.Mites {
		c.log("warning", obj{"event": "mites", "hive": h.ID})
	}
	return structured(obj{"hive": h.ID, "frames_seen": steps, "mites": h.Mites})
}

func addNote(c *call, a obj) obj {
	h := findHive(strArg(a, "hive", ""))
	if h == nil {
		return toolError("There is no such hive.")
	}
	line := strings.ReplaceAll(strArg(a, "text", ""), "\n", " ")
	if tags, ok := a["tags"].([]any); ok {
		for _, t := range tags {
			line += " #" + t.(string)
		}
	}
	isNew := c.srv.book.addNote(h.ID, line)
	uri := "hive://" + h.ID + "/notes"
	c.srv.changed(uri, isNew)
	content := []obj{text("Noted for hive " + h.ID + ".")}
	if c.since(v2025b) {
		content = append(content, obj{"type": "resource_link", "uri": uri, "name": "notes-" + h.ID, "mimeType": "text/plain"})
	}
	return obj{"content": content}
}

func photoFrame(c *call, a obj) obj {
	h := findHive(strArg(a, "hive", ""))
	if h == nil {
		return toolError("There is no such hive.")
	}
	frame := intArg(a, "frame", 1)
	shots := make([]int, 10) // the seeds of the ten pictures
	for i := range shots {
		shots[i] = i*7 + int(h.ID[2])
	}
	index := frame - 1
	if defect("last-frame-no-answer") {
		index = frame
	}
	img := framePicture(shots[index])
	data, mime := pngBytes(img), "image/png"
	if strArg(a, "format", "png") == "jpeg" {
		data, mime = jpegBytes(img), "image/jpeg"
	}
	enc := base64.StdEncoding
	if defect("photo-base64-url") {
		enc = base64.URLEncoding
	}
	block := obj{"type": "image", "data": enc.EncodeToString(data), "mimeType": mime,
		"annotations": obj{"audience": []string{"user"}, "priority": 0.8}}
	content := []obj{text(fmt.Sprintf("Frame %d of hive %s", frame, h.ID)), block}
	if a["attach"] == true {
		content = append(content, obj{"type": "resource", "resource": obj{
			"uri":  fmt.Sprintf("hive://%s/frames/%d", h.ID, frame),
			"blob": base64.StdEncoding.EncodeToString(data), "mimeType": mime}})
	}
	return obj{"content": content}
}

func planVisit(c *call, a obj) obj {
	date := strArg(a, "date", "")
	if _, err := time.Parse("2006-01-02", date); err != nil {
		return toolError("There is no such day.")
	}
	c.srv.mu.Lock()
	c.srv.visits++
	n := c.srv.visits
	c.srv.mu.Unlock()
	return structured(obj{"visit": n, "yard": strArg(a, "yard", ""), "date": date, "hours": intArg(a, "hours", 2)})
}

func recordHarvest(c *call, a obj) obj {
	h := findHive(strArg(a, "hive", ""))
	if h == nil {
		return toolError("There is no such hive.")
	}
	if a["confirmed"] == true {
		return structured(obj{"recorded": true})
	}
	if !c.may("elicitation") {
		return toolError("Please call again with confirmed: true; your client cannot be asked.")
	}
	params := obj{
		"message": "How was the harvest of hive " + h.ID + " filled?",
		"requestedSchema": obj{"type": "object", "properties": obj{
			"jars":    obj{"type": "integer", "title": "Jars", "minimum": 0, "maximum": 200},
			"kind":    obj{"type": "string", "title": "Kind", "enum": []string{"blossom", "forest", "linden"}},
			"organic": obj{"type": "boolean", "title": "Organic", "default": false},
		}, "required": []string{"jars"}},
	}
	if c.since(v2025c) {
		params["mode"] = "form"
	}
	ans, problem := c.ask("filling", "elicitation/create", params)
	if problem != "" {
		return toolError(problem)
	}
	var action string
	json.Unmarshal(ans["action"], &action)
	switch action {
	case "accept":
	case "decline", "cancel":
		return structured(obj{"recorded": false})
	default:
		return toolError("The answer has no known action.")
	}
	v, _ := decode(orNull(ans["content"]))
	form, _ := v.(map[string]any)
	jars, ok := form["jars"].(json.Number)
	f, err := jars.Float64()
	if !ok || err != nil || f != math.Trunc(f) || f < 0 || f > 200 {
		return toolError("jars must be an integer from 0 to 200.")
	}
	res := obj{"recorded": true, "jars": int(f)}
	if k, ok := form["kind"].(string); ok {
		res["kind"] = k
	}
	return structured(res)
}

func orNull(raw json.RawMessage) []byte {
	if len(bytes.TrimSpace(raw)) == 0 {
		return []byte("null")
	}
	return raw
}

func describeSeason(c *call, a obj) obj {
	if !c.may("sampling") {
		return toolError("Your client cannot write texts.")
	}
	year := intArg(a, "year", 2025)
	words := intArg(a, "max_words", 0)
	params := obj{
		"messages": []obj{{"role": "user", "content": text(fmt.Sprintf("Describe the bee season of %d in a few sentences.", year))}},
	}
	if words > 0 {
		params["maxTokens"] = words * 2
	} else if !defect("sampling-no-max-tokens") {
		params["maxTokens"] = 400
	}
	ans, problem := c.ask("season", "sampling/createMessage", params)
	if problem != "" {
		return toolError(problem)
	}
	v, _ := decode(orNull(ans["content"]))
	var parts []string
	blocks, ok := v.([]any)
	if !ok {
		blocks = []any{v}
	}
	for _, b := range blocks {
		if o, ok := b.(map[string]any); ok {
			if s, ok := o["text"].(string); ok {
				parts = append(parts, s)
			}
		}
	}
	if len(parts) == 0 {
		return toolError("The model gave no text.")
	}
	return obj{"content": []obj{text(strings.Join(parts, "\n"))}}
}
