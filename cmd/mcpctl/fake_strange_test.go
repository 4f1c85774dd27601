package main

import (
	"encoding/json"
	"fmt"
)

// strangeNames are names of tools that a shell could mistake for something else.
var strangeNames = []string{
	"two words", "x$(touch pwned)a", "x$(touch pwned)b", "y`touch pwned`", `q'uo"te`, "semi;touch pwned", "back\\slash", "~", "*",
	"line\nfeed", "tab\tbed", "esc\x1b[31m", "bidi\u202e", "--cwd=/tmp", " padded ",
}

// strange is what the fake offers in the mode strange, in which it also has values, resources and
// prompts to choose from.
func (f *fake) strange(r fakeRequest, result func(string) []string) []string {
	if f.mode != "strange" {
		return nil
	}
	switch r.Method {
	case "initialize":
		return result(`{"protocolVersion":"` + r.Params.Version + `","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"fake","version":"1.0"}}`)
	case "tools/list":
		tools := `{"name":"paint","description":"Paints\nsomething\u001b[31m","inputSchema":{"type":"object","properties":{` +
			`"mode":{"enum":["fast","slow mode","$(touch pwned)","@/etc/passwd"]},"loud":{"type":"boolean"},` +
			`"tags":{"type":"array","items":{"enum":["a","b"]}},"color":{"type":"string","description":"its colour"},"a=b":{"type":"string"}},"required":["color"]}}`
		for _, name := range strangeNames {
			text, _ := json.Marshal(name)
			tools += fmt.Sprintf(`,{"name":%s,"inputSchema":{"type":"object"}}`, text)
		}
		return result(`{"tools":[` + tools + `]}`)
	case "resources/list":
		return result(`{"resources":[{"uri":"doc://guide","name":"guide","description":"the guide"},{"uri":"http://h/a?b=c&d=e","name":"query"}]}`)
	case "resources/templates/list":
		return result(`{"resourceTemplates":[{"uriTemplate":"file:///{path}{?q}","name":"file"}]}`)
	case "prompts/list":
		return result(`{"prompts":[{"name":"review","arguments":[{"name":"file","required":true},{"name":"language"}]}]}`)
	}
	return nil
}
