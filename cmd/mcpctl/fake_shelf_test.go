package main

import "encoding/json"

// shelf is what the fake answers in the modes shelf and talkative, where it has resources,
// prompts and completions.
func (f *fake) shelf(r fakeRequest, result func(string) []string, failed func(int, string, string) []string) []string {
	if f.mode != "shelf" && f.mode != "talkative" {
		return nil
	}
	switch r.Method {
	case "initialize":
		return result(`{"protocolVersion":"` + r.Params.Version + `","capabilities":{"resources":{},"prompts":{},"completions":{}},"serverInfo":{"name":"fake","version":"1.0"}}`)
	case "resources/read":
		switch r.Params.URI {
		case "doc://guide":
			return result(`{"contents":[{"uri":"doc://guide","mimeType":"text/plain","text":"two\n\u001b[31mlines\n"}]}`)
		case "doc://logo":
			return result(`{"contents":[{"uri":"doc://logo","mimeType":"image/png","blob":"iVBORw0KGgo="}]}`)
		case "doc://both":
			return result(`{"contents":[{"uri":"doc://a","text":"a"},{"uri":"doc://b","blob":"AAE="}]}`)
		case "doc://spoiled":
			return result(`{"contents":[{"uri":"doc://spoiled","blob":"?"}]}`)
		case "doc://slow":
			return r.notes()
		case "doc://nothing":
			return result(`{}`)
		}
		return failed(-32002, "Resource not found", `{"uri":"gone"}`)
	case "prompts/get":
		text, _ := json.Marshal("Greet " + string(r.Params.Arguments))
		return result(`{"description":"A greeting","messages":[{"role":"user","content":{"type":"text","text":` + string(text) + `}},` +
			`{"role":"assistant","content":{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}}]}`)
	case "completion/complete":
		return result(`{"completion":{"values":["Ann","Anton\u001b"],"hasMore":true}}`)
	}
	return nil
}
