// Package mcpconfig reads and writes the configuration by which an agent finds
// its MCP servers, the value of --mcp-config (tools.md §6.3).
package mcpconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Config is a set of servers by name.
type Config struct {
	Servers map[string]Server `json:"mcpServers"`
}

// Server says how one server is reached.
type Server struct {
	Type    string            `json:"type"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// The types of server (C-46).
const (
	HTTP           = "http"
	StreamableHTTP = "streamable-http"
	Stdio          = "stdio"
)

// String returns the configuration in one line, as an argument has it.
func (c Config) String() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return "{}" // strings and lists of them always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Parse reads a configuration. A server of an unknown type, or without what
// its type needs, is an error that names it.
func Parse(text string) (Config, error) {
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return Config{}, fmt.Errorf("mcp-config: %w", err)
	}
	if len(c.Servers) == 0 {
		return Config{}, errors.New("mcp-config: mcpServers names no server")
	}
	for name, s := range c.Servers {
		if s.Type == "" && s.Command != "" {
			s.Type = Stdio
			c.Servers[name] = s
		}
		if err := s.check(); err != nil {
			return Config{}, fmt.Errorf("mcp-config: server %q: %w", name, err)
		}
	}
	return c, nil
}

func (s Server) check() error {
	switch s.Type {
	case HTTP, StreamableHTTP:
		u, err := url.Parse(s.URL)
		if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
			return fmt.Errorf("type %s needs an http or https url", s.Type)
		}
		return nil
	case Stdio:
		if s.Command == "" {
			return errors.New("type stdio needs a command")
		}
		return nil
	case "":
		return errors.New("the type is missing, known: http, streamable-http, stdio")
	}
	return fmt.Errorf("unknown type %.40q, known: http, streamable-http, stdio", s.Type)
}

// Expanded returns the headers with ${NAME} replaced by the environment, so
// that a secret need not stand in an argument that every process can see.
func (s Server) Expanded(getenv func(string) string) map[string]string {
	out := make(map[string]string, len(s.Headers))
	for name, value := range s.Headers {
		out[name] = os.Expand(value, getenv)
	}
	return out
}
