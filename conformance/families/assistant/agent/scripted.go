package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/mcpconfig"
)

// Scripted is an agent without a language model: told by its prompt to save a
// file, it connects to the server of its mcp-config over real HTTP and saves
// what the user wrote; else it says a sentence. So a chat runs end to end
// where nothing is installed.
type Scripted struct {
	// Config returns the mcp-config, as text. It is asked once a run.
	Config func() string
	// Getenv resolves ${NAME} in the headers of the configuration.
	Getenv func(string) string
}

// promptToken is how a prompt hands over the token.
var promptToken = regexp.MustCompile(`session_token='([^']+)'`)

// Run implements [Runner].
func (s *Scripted) Run(ctx context.Context, t Task, event func(json.RawMessage)) error {
	emit := func(v any) error {
		line, err := json.Marshal(v)
		if err == nil {
			event(line)
		}
		return err
	}
	if err := emit(map[string]any{"type": "system", "subtype": "init"}); err != nil {
		return err
	}
	said := "I am the scripted agent of the reference server; I can save files."
	if token := promptToken.FindStringSubmatch(t.System); token != nil {
		args := map[string]any{"session_token": token[1], "title": title(t.Content), "content_markdown": t.Content}
		if err := emit(message("assistant", map[string]any{"type": "tool_use", "id": "1", "name": "mcp__assistant__save_artifact", "input": args})); err != nil {
			return err
		}
		var err error
		if said, err = s.save(ctx, args); err != nil {
			return err
		}
		if err := emit(message("user", map[string]any{
			"type": "tool_result", "tool_use_id": "1", "content": []any{map[string]any{"type": "text", "text": said}},
		})); err != nil {
			return err
		}
	} else if err := emit(message("assistant", map[string]any{"type": "text", "text": said})); err != nil {
		return err
	}
	return emit(map[string]any{
		"type": "result", "subtype": "success", "result": said,
		"usage": map[string]int{"input_tokens": words(t.System) + words(t.Content), "output_tokens": words(said)},
	})
}

func message(role string, block map[string]any) map[string]any {
	return map[string]any{"type": role, "message": map[string]any{"role": role, "content": []any{block}}}
}

func words(s string) int { return len(strings.Fields(s)) }

// title is the first line of what the user wrote, without its hashes.
func title(content string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(content), "\n")
	line = strings.TrimSpace(strings.TrimLeft(line, "# "))
	if line == "" {
		return "Untitled"
	}
	if utf8.RuneCountInString(line) > 120 {
		line = string([]rune(line)[:120])
	}
	return line
}

// save calls save_artifact and returns its text.
func (s *Scripted) save(ctx context.Context, args map[string]any) (string, error) {
	cfg, err := mcpconfig.Parse(s.Config())
	if err != nil {
		return "", err
	}
	server, ok := cfg.Servers["assistant"]
	if !ok || server.Type == mcpconfig.Stdio {
		return "", errors.New("mcp-config: the scripted agent needs a server \"assistant\" over http")
	}
	// A connection of the run's own, so that none outlives it; and no redirect,
	// which would carry the headers to another host.
	conn := &http.Transport{}
	defer conn.CloseIdleConnections()
	client := &http.Client{
		Transport:     &withHeaders{base: conn, headers: server.Expanded(s.Getenv)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	transport := &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "mainstay-scripted-agent", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = session.Close() }() // the answer is there, or the error is
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "save_artifact", Arguments: args})
	if err != nil {
		return "", fmt.Errorf("save_artifact: %w", err)
	}
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			return text.Text, nil
		}
	}
	return "", errors.New("save_artifact answered without text")
}

// withHeaders adds headers to every request.
type withHeaders struct {
	base    http.RoundTripper
	headers map[string]string
}

// RoundTrip implements [http.RoundTripper].
func (h *withHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(h.headers) > 0 {
		req = req.Clone(req.Context())
		for name, value := range h.headers {
			req.Header.Set(name, value)
		}
	}
	return h.base.RoundTrip(req)
}
