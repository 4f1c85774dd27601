package client

import (
	"context"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Complete asks for values that complete an argument of a prompt or of a
// resource template. chosen holds the arguments that are already set, nil for
// none; revisions before 2025-06-18 do not carry it. The result may be
// partial; see HasMore. If you complete while somebody types, wait for a pause
// between keys.
func (c *Client) Complete(ctx context.Context, ref mcp.CompletionReference, argument mcp.CompletionArgument, chosen map[string]string, opts ...CallOption) (*mcp.Completion, error) {
	cl := newCall(mcp.MethodCompletionComplete, opts)
	if why := wrongReference(ref, argument); why != "" {
		return nil, c.core.About(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, why, nil))
	}
	if err := c.gate(cl.Subject()); err != nil {
		return nil, err
	}
	params := &mcp.CompleteParams{Ref: ref, Argument: argument}
	if len(chosen) > 0 && c.core.Links.Agreed().Version.AtLeast(mcp.Version2025_06_18) {
		params.Context = &mcp.CompletionContext{Arguments: chosen}
	}
	if err := c.params(&cl, params); err != nil {
		return nil, err
	}
	res, err := fetch[mcp.CompleteResult](ctx, c, &cl)
	if err != nil {
		return nil, err
	}
	return &res.Completion, nil
}

func wrongReference(ref mcp.CompletionReference, argument mcp.CompletionArgument) string {
	switch {
	case ref.Type == mcp.RefPrompt && ref.Name == "":
		return "a prompt reference needs the prompt's name"
	case ref.Type == mcp.RefResource && ref.URI == "":
		return "a resource reference needs a URI or a URI template"
	case ref.Type != mcp.RefPrompt && ref.Type != mcp.RefResource:
		return "a reference is of type " + mcp.RefPrompt + " or " + mcp.RefResource
	case argument.Name == "":
		return "the argument to complete needs a name"
	}
	return ""
}
