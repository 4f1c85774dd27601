// Package secret keeps the values that mcpctl was given for a server, so that no
// output shows them.
package secret

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// leastSecret is the length from which a value is hidden even if its name does not
// mark it as secret. Short values such as "debug" and "true" occur everywhere.
const leastSecret = 6

// Keeper remembers the secrets of a run. The zero Keeper has none. Its methods may be
// called from several goroutines: a token may be renewed while a run goes on.
type Keeper struct {
	mu     sync.Mutex
	values []string
}

// known returns the secrets by now.
func (k *Keeper) known() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clip(k.values)
}

// Keep remembers the value of a variable or header that was given for the server.
// Errors end up in logs, and must not show it.
func (k *Keeper) Keep(name, value string) {
	if len(value) >= leastSecret || mcperrors.SecretName(name) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.values = append(k.values, value)
	}
}

// Safe returns a text of the evidence without secrets: those the Keeper knows and
// those that [mcperrors.Redact] finds by their place or form. Pass whole texts: a
// text that was cut may end with half a secret.
func (k *Keeper) Safe(s string) string { return mcperrors.Redact(s, k.known()...) }

// Hide replaces only the secrets that the Keeper knows. It is for a server's own
// error, which must stay readable: "token: is required" is no secret.
func (k *Keeper) Hide(s string) string { return k.Known().Hide(s) }

// Known are the secrets by now, to hide them in many texts.
func (k *Keeper) Known() mcperrors.Secrets { return mcperrors.NewSecrets(k.known()...) }

// Command returns the arguments of a program without secrets.
func (k *Keeper) Command(argv []string) []string {
	return mcperrors.RedactCommand(argv, k.known()...)
}

var jsonText = lazyregexp.New(`"(?:[^"\\]|\\.)*"`)

// hideIn is Hide for every text in a JSON value. It leaves every other byte unchanged.
func (k *Keeper) hideIn(raw json.RawMessage) json.RawMessage {
	if len(k.known()) == 0 {
		return raw
	}
	return jsonText.ReplaceAllFunc(raw, func(literal []byte) []byte {
		var text string
		if json.Unmarshal(literal, &text) != nil {
			return literal
		}
		if hidden := k.Hide(text); hidden != text {
			return console.Encode(hidden)
		}
		return literal
	})
}

// Error returns a copy of an error without secrets.
func (k *Keeper) Error(e *mcperrors.Error) *mcperrors.Error {
	safe := *e
	safe.UserMessage, safe.SuggestedAction = k.Hide(e.UserMessage), k.Hide(e.SuggestedAction)
	if e.RPC != nil {
		rpc := *e.RPC
		rpc.Message, rpc.Data = k.Hide(rpc.Message), k.hideIn(rpc.Data)
		safe.RPC, safe.Message = &rpc, k.Hide(e.Message)
	} else {
		safe.Message = k.Safe(e.Message)
	}
	if e.HTTP != nil {
		http := *e.HTTP
		http.URL, http.Body = k.Safe(http.URL), k.Safe(http.Body)
		safe.HTTP = &http
	}
	if e.Process != nil {
		process := *e.Process
		process.Command = k.Command(process.Command)
		process.Noise = k.Safe(process.Noise)
		process.Stderr = k.safeLines(process.Stderr)
		safe.Process = &process
	}
	if e.Cause != nil {
		safe.Cause = &safeCause{k.Safe(e.Cause.Error()), e.Cause}
	}
	return &safe
}

func (k *Keeper) safeLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = k.Safe(line)
	}
	return out
}

// safeCause is a cause whose text holds no secrets.
type safeCause struct {
	text string
	err  error
}

func (c *safeCause) Error() string { return c.text }
func (c *safeCause) Unwrap() error { return c.err }
