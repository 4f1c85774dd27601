package answer

import (
	"context"
	"errors"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// page asks a person whether to open a page. No flag answers it: a page is for a person.
func (a *Answers) page(ctx context.Context, r client.URLRequest) (mcp.ElicitAction, error) {
	end, err := a.begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	if !a.asks {
		a.unanswered(question{
			message: r.Message,
			facts:   []failure.Fact{{Label: "page", Text: r.URL}, {Label: "answer", Text: "a person can open it: run the command on a terminal"}},
		}, r.Params)
		return mcp.ElicitCancel, nil
	}
	s := a.console.ErrStyle()
	a.note(s.Bold(visible.Line(r.From.Server)+" asks you to open a page: ") + visible.Text(r.Message))
	a.console.Note("  " + visible.Line(r.URL))
	if r.Lookalike {
		a.console.Warn("the name of the host %s imitates another one with foreign letters", r.Host)
	}
	a.console.Note("Open it at " + visible.Line(r.Host) + "? [y]es, [N]o")
	line, err := a.console.Line(ctx)
	switch {
	case errors.Is(err, console.ErrNoLine):
		return mcp.ElicitCancel, nil
	case err != nil:
		return "", err
	case !strings.EqualFold(line, "y") && !strings.EqualFold(line, "yes"):
		return mcp.ElicitDecline, nil
	}
	if err := auth.OpenBrowser(ctx, r.URL); err != nil {
		a.console.Note("no browser could be opened: open the page yourself")
	}
	return mcp.ElicitAccept, nil
}
