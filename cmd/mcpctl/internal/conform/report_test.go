package conform

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
)

// The line that repeats a run has --login, without which the area auth is skipped.
func TestAgain(t *testing.T) {
	t.Parallel()
	s := &suite{Explainer: &explain.Explainer{Dialer: &connect.Dialer{Secrets: &secret.Keeper{}}}}
	cmd := newConformClientCmd(s)
	require.NoError(t, cmd.ParseFlags([]string{"--login", "--spec", "2025-11-25", "--parallel", "1"}))
	require.ElementsMatch(t, []string{"client", "--login", "--spec", "2025-11-25"}, s.again(cmd, target.Target{}))
}
