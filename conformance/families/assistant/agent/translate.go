package agent

import (
	"encoding/json"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/marker"
)

// A Chunk is what one line of an agent means for a chat.
type Chunk struct {
	// Complete says that it is the last one.
	Complete bool
	// Text is what the agent says to the user.
	Text string
	// Usage is that of the whole run; 0 where the agent says nothing of it.
	Usage Usage
	// Created is what the first marker in the line tells, or nil.
	Created *marker.Created
	// Malformed says that there is a marker which cannot be read.
	Malformed bool
	// Failed says that the agent reports its own failure.
	Failed bool
}

// Usage counts tokens of a language model.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// event is a line of stream-json, as far as it matters here.
type event struct {
	Type    string          `json:"type"`
	Subtype string          `json:"subtype"`
	IsError bool            `json:"is_error"`
	Result  json.RawMessage `json:"result"`
	Usage   json.RawMessage `json:"usage"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
}

// Translate returns what a line means. Markers are looked for in the result,
// in what the agent says and in the results of its tools: vendors do not say
// where one ends up (C-46). What is not understood means nothing.
func Translate(line json.RawMessage) Chunk {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return Chunk{}
	}
	switch e.Type {
	case "result":
		c := Chunk{Complete: true, Failed: e.IsError || strings.HasPrefix(e.Subtype, "error")}
		if json.Unmarshal(e.Result, &c.Text) != nil {
			c.Text = ""
		}
		if json.Unmarshal(e.Usage, &c.Usage) != nil {
			c.Usage = Usage{}
		}
		c.scan(c.Text)
		return c
	case "assistant":
		var c Chunk
		for _, b := range blocks(e.Message.Content) {
			if b.Type == "text" {
				c.Text += b.Text
			}
		}
		c.scan(c.Text)
		return c
	case "user", "tool_result":
		var c Chunk
		for _, b := range blocks(e.Message.Content) {
			if b.Type == "tool_result" && c.Created == nil {
				c.scan(textOf(b.Content))
			}
		}
		return c
	}
	return Chunk{}
}

func (c *Chunk) scan(text string) {
	created, found, err := marker.Find(text)
	if found {
		c.Created = &created
	}
	c.Malformed = c.Malformed || err != nil
}

// blocks reads content that is a list of blocks, or one text.
func blocks(raw json.RawMessage) []block {
	var list []block
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	return nil
}

func textOf(raw json.RawMessage) string {
	var b strings.Builder
	for _, c := range blocks(raw) {
		b.WriteString(c.Text)
	}
	return b.String()
}
