package preflights

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// The bounds of what a session keeps.
const (
	maxIntention = 10_000
	maxContext   = 100_000
)

// input is the arguments of require_clarification.
type input struct {
	intention string
	context   string
	sessionID string
	answers   map[string]json.RawMessage
	forceADR  bool
	repoPath  string
}

func parseInput(raw json.RawMessage) (*input, error) {
	args, err := family.ParseArgs(raw, "user_intention", "optional_context", "session_id", "answers", "preferences", "repo_path")
	if err != nil {
		return nil, err
	}
	in := &input{}
	if in.intention, err = args.String("user_intention", 0, 0); err != nil {
		return nil, err
	}
	if in.context, err = optionalString(args, "optional_context"); err != nil {
		return nil, err
	}
	if in.sessionID, err = optionalString(args, "session_id"); err != nil {
		return nil, err
	}
	if in.repoPath, err = optionalString(args, "repo_path"); err != nil {
		return nil, err
	}
	if err := optional(args, "answers", "must be an object or null", &in.answers); err != nil {
		return nil, err
	}
	var preferences map[string]json.RawMessage
	if err := optional(args, "preferences", "must be an object or null", &preferences); err != nil {
		return nil, err
	}
	if force, ok := preferences["force_adr"]; ok {
		var yes *bool
		if json.Unmarshal(force, &yes) != nil || yes == nil {
			return nil, family.Invalid("preferences.force_adr", "type", "preferences.force_adr must be a boolean")
		}
		in.forceADR = *yes
	}
	return in, in.check()
}

// check refuses what is of the right type and still no request.
func (in *input) check() error {
	switch {
	case adr.Line(in.intention, 2) == "":
		return badInput("user_intention", "empty", "user_intention is empty", "Say what is to be done")
	case utf8.RuneCountInString(in.intention) > maxIntention:
		return badInput("user_intention", "length", "user_intention is longer than 10,000 characters", "Say it in fewer words, put the rest into optional_context")
	case utf8.RuneCountInString(in.context) > maxContext:
		return badInput("optional_context", "length", "optional_context is longer than 100,000 characters", "Give a summary instead")
	}
	return nil
}

func badInput(field, reason, message, hint string) error {
	return failure(codeValidation, message, hint, map[string]any{"field": field, "reason": reason})
}

func optionalString(args family.Args, name string) (string, error) {
	var s string
	err := optional(args, name, "must be a string or null", &s)
	return s, err
}

// optional decodes an argument that may be absent or null.
func optional(args family.Args, name, want string, into any) error {
	raw, ok := args[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return family.Invalid(name, "type", "%s %s", name, want)
	}
	return nil
}
