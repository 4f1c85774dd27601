package main

import (
	"encoding/json"
	"regexp"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// leastSecret is how long a value must be to be taken out of what is shown,
// unless its name says that it is secret: "debug" and "true" are everywhere.
const leastSecret = 6

// keep remembers a value that was given for the server. Errors end up in logs,
// and must not show it.
func (a *app) keep(name, value string) {
	if len(value) >= leastSecret || secretName(name) {
		a.secrets = append(a.secrets, value)
	}
}

// secretName reports whether the value of a variable or header of this name is
// a secret, in the judgement of [mcperrors.Redact].
func secretName(name string) bool {
	return mcperrors.SecretName(name)
}

// safe is a text of the evidence without secrets: those we know and those that
// can be told by their place or form. It takes whole texts: of what is cut
// first, a part of a secret may be left.
func (a *app) safe(s string) string { return mcperrors.Redact(s, a.secrets...) }

// hide takes out only the secrets that we know. It is for what the server says
// in its own error, which is meant to be read and keeps its form: "token: is
// required" is no secret.
func (a *app) hide(s string) string { return mcperrors.NewSecrets(a.secrets...).Hide(s) }

var jsonText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// hideIn does that in the texts of a JSON value, and leaves all else as it is
// to the byte.
func (a *app) hideIn(raw json.RawMessage) json.RawMessage {
	if len(a.secrets) == 0 {
		return raw
	}
	return jsonText.ReplaceAllFunc(raw, func(literal []byte) []byte {
		var text string
		if json.Unmarshal(literal, &text) != nil {
			return literal
		}
		if hidden := a.hide(text); hidden != text {
			return encoded(hidden)
		}
		return literal
	})
}

// safeError is a copy of an error that both faces can show.
func (a *app) safeError(e *mcperrors.Error) *mcperrors.Error {
	safe := *e
	safe.UserMessage, safe.SuggestedAction = a.hide(e.UserMessage), a.hide(e.SuggestedAction)
	if e.RPC != nil {
		rpc := *e.RPC
		rpc.Message, rpc.Data = a.hide(rpc.Message), a.hideIn(rpc.Data)
		safe.RPC, safe.Message = &rpc, a.hide(e.Message)
	} else {
		safe.Message = a.safe(e.Message)
	}
	if e.HTTP != nil {
		http := *e.HTTP
		http.URL, http.Body = a.safe(http.URL), a.safe(http.Body)
		safe.HTTP = &http
	}
	if e.Process != nil {
		process := *e.Process
		process.Command = mcperrors.RedactCommand(process.Command, a.secrets...)
		process.Noise = a.safe(process.Noise)
		process.Stderr = a.safeLines(process.Stderr)
		safe.Process = &process
	}
	if e.Cause != nil {
		safe.Cause = &safeCause{a.safe(e.Cause.Error()), e.Cause}
	}
	return &safe
}

func (a *app) safeLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = a.safe(line)
	}
	return out
}

// safeCause is a cause in words that can be shown.
type safeCause struct {
	text string
	err  error
}

func (c *safeCause) Error() string { return c.text }
func (c *safeCause) Unwrap() error { return c.err }
