package main

import (
	"encoding/json"
	"strconv"
	"strings"
)

type promptArg struct {
	name, description string
	required          bool
}

type prompt struct {
	name, title, description string
	args                     []promptArg
}

var prompts = []prompt{
	{"inspection_report", "Inspection report", "A report on one hive from its notes.",
		[]promptArg{{"hive", "Hive, H01 to H08", true}, {"tone", "plain, formal or cheerful", false}}},
	{"swarm_advice", "Swarm advice", "What to do against swarming in a month.",
		[]promptArg{{"month", "Name of the month", false}}},
	{"label_text", "Label text", "A text for the label of a jar.",
		[]promptArg{{"plant", "Main plant", true}}},
	{"frühjahrs_check", "Spring check", "The list for the first look in spring, in German.",
		nil},
}

func promptList() []obj {
	var list []obj
	for _, p := range prompts {
		args := []obj{}
		for _, a := range p.args {
			args = append(args, obj{"name": a.name, "description": a.description, "required": a.required})
		}
		list = append(list, obj{"name": p.name, "title": p.title, "description": p.description, "arguments": args})
	}
	return list
}

func findPrompt(name string) *prompt {
	for i := range prompts {
		if prompts[i].name == name {
			return &prompts[i]
		}
	}
	return nil
}

func (s *server) getPrompt(c *call, m *message) (obj, *rpcError) {
	var name string
	json.Unmarshal(m.Params["name"], &name)
	p := findPrompt(name)
	if p == nil {
		return nil, invalidParams("unknown prompt: " + name)
	}
	args := map[string]string{}
	if raw, ok := m.Params["arguments"]; ok {
		if json.Unmarshal(raw, &args) != nil {
			return nil, invalidParams("arguments must be an object of strings")
		}
	}
	for _, a := range p.args {
		if _, ok := args[a.name]; a.required && !ok {
			return nil, invalidParams("argument " + a.name + " is missing")
		}
	}
	say := func(role string, content obj) obj { return obj{"role": role, "content": content} }
	var msgs []obj
	switch p.name {
	case "inspection_report":
		h := findHive(args["hive"])
		if h == nil {
			return nil, invalidParams("unknown hive: " + args["hive"])
		}
		if tone := args["tone"]; tone != "" {
			if defect("system-role") {
				msgs = append(msgs, say("system", text("Write in a "+tone+" tone.")))
			} else {
				msgs = append(msgs, say("user", text("Write in a "+tone+" tone.")))
			}
		}
		msgs = append(msgs, say("user", text("Write an inspection report on hive "+h.ID+" ("+h.Name+").")))
		uri := "hive://" + h.ID + "/notes"
		if cont := s.book.read(uri); cont != nil {
			msgs = append(msgs, say("user", obj{"type": "resource", "resource": cont[0]}))
		}
	case "swarm_advice":
		month := args["month"]
		if month == "" {
			month = "May"
		}
		msgs = []obj{say("user", text("How do I keep my bees from swarming in "+month+"?")),
			say("assistant", text("First tell me how many frames of brood each hive has."))}
	case "frühjahrs_check":
		msgs = []obj{say("user", text("Was muss ich im März an meinen Bienenvölkern prüfen?"))}
	case "label_text":
		msgs = []obj{say("user", text("Write a label for a jar of honey, mainly from "+args["plant"]+"."))}
	}
	return obj{"description": p.description, "messages": msgs}, nil
}

// complete offers values for the arguments of prompts and templates.
func (s *server) complete(c *call, m *message) (obj, *rpcError) {
	var ref struct{ Type, Name, URI string }
	var arg struct {
		Name  string
		Value *string
	}
	if json.Unmarshal(m.Params["ref"], &ref) != nil {
		return nil, invalidParams("ref must be an object")
	}
	if json.Unmarshal(m.Params["argument"], &arg) != nil || arg.Name == "" || arg.Value == nil {
		return nil, invalidParams("argument must have a name and a value")
	}
	var ctx struct{ Arguments map[string]string }
	if raw, ok := m.Params["context"]; ok && json.Unmarshal(raw, &ctx) != nil {
		return nil, invalidParams("context.arguments must be an object of strings")
	}
	var all []string
	switch ref.Type {
	case "ref/prompt":
		p := findPrompt(ref.Name)
		if p == nil {
			return nil, invalidParams("unknown prompt: " + ref.Name)
		}
		found := false
		for _, a := range p.args {
			found = found || a.name == arg.Name
		}
		if !found {
			return nil, invalidParams("unknown argument: " + arg.Name)
		}
	case "ref/resource":
		known := false
		for _, t := range templates {
			if t["uriTemplate"] == ref.URI {
				known = true
				if !strings.Contains(ref.URI, "{"+arg.Name+"}") {
					return nil, invalidParams("unknown argument: " + arg.Name)
				}
			}
		}
		if !known {
			return nil, invalidParams("unknown resource template: " + ref.URI)
		}
	default:
		return nil, invalidParams("unknown kind of ref")
	}
	switch arg.Name {
	case "hive":
		all = hiveIDs()
	case "tone":
		all = []string{"plain", "formal", "cheerful"}
	case "month":
		all = []string{"March", "April", "May", "June", "July", "August", "September"}
	case "plant":
		all = plants
	case "year":
		first := 2022
		if h := findHive(ctx.Arguments["hive"]); h != nil && h.QueenYear > 0 {
			first = h.QueenYear
		}
		for y := first; y <= 2026; y++ {
			all = append(all, strconv.Itoa(y))
		}
	}
	values := []string{}
	if defect("completion-null") {
		values = nil
	}
	for _, v := range all {
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(*arg.Value)) {
			values = append(values, v)
		}
	}
	total := len(values)
	if total > 100 {
		values = values[:100]
	}
	return obj{"completion": obj{"values": values, "total": total, "hasMore": total > len(values)}}, nil
}
