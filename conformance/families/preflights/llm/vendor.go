package llm

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// A vendor is how one API is spoken.
type vendor struct {
	key, model, url, path string

	authorize func(h http.Header, key string)
	body      func(model, system, user string) any
	text      func(reply []byte) (string, error)
}

const maxTokens = 2000

var vendors = map[string]vendor{
	"anthropic": {
		key: "ANTHROPIC_API_KEY", model: "claude-haiku-4-5", url: "https://api.anthropic.com", path: "/v1/messages",
		authorize: func(h http.Header, key string) {
			h.Set("X-Api-Key", key)
			h.Set("Anthropic-Version", "2023-06-01")
		},
		body: func(model, system, user string) any {
			return map[string]any{
				"model": model, "max_tokens": maxTokens, "temperature": 0, "system": system,
				"messages": []map[string]string{{"role": "user", "content": user}},
			}
		},
		text: anthropicText,
	},
	"openai": {
		key: "OPENAI_API_KEY", model: "gpt-4o-mini", url: "https://api.openai.com", path: "/v1/chat/completions",
		authorize: bearer, body: chatBody, text: chatText,
	},
	"openrouter": {
		key: "OPENROUTER_API_KEY", model: "openai/gpt-4o-mini", url: "https://openrouter.ai/api", path: "/v1/chat/completions",
		authorize: bearer, body: chatBody, text: chatText,
	},
}

var errReply = errors.New("the language model answered in another form")

func bearer(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }

func chatBody(model, system, user string) any {
	return map[string]any{
		"model": model, "temperature": 0,
		"response_format": map[string]string{"type": "json_object"},
		"messages":        []map[string]string{{"role": "system", "content": system}, {"role": "user", "content": user}},
	}
}

func anthropicText(reply []byte) (string, error) {
	var r struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(reply, &r) != nil {
		return "", errReply
	}
	var b strings.Builder
	for _, c := range r.Content {
		if c.Type == "text" {
			b.WriteString(c.Text)
		}
	}
	return b.String(), nil
}

func chatText(reply []byte) (string, error) {
	var r struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if json.Unmarshal(reply, &r) != nil || len(r.Choices) == 0 {
		return "", errReply
	}
	return r.Choices[0].Message.Content, nil
}
