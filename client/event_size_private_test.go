package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/footprint"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// longEvents are events in which a server has a long text.
func longEvents(text string) []Event {
	refused := errormap.FromRPC(&jsonrpc.Error{Code: -32603, Message: text}, errormap.Options{})
	data := errormap.FromRPC(&jsonrpc.Error{Code: -32603, Data: []byte(`"` + text + `"`)}, errormap.Options{})
	died := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.Unknown, "it ended", nil)
	died.Process = &mcperrors.ProcessEvidence{Stderr: []string{text}}
	shown := errormap.FromHTTP(mcperrors.HTTPEvidence{Status: 500, Body: text}, 0)
	server, tool := mcp.Implementation{Name: text}, mcp.Tool{Description: text}
	return []Event{
		Connected{Server: server},
		Restarted{Server: server},
		Restarted{Cause: died},
		Reinitialized{Server: server},
		Disconnected{Cause: refused},
		ListFailed{Reason: data},
		LivenessFailed{Reason: refused},
		SubscriptionGap{Reason: shown},
		SubscriptionEnded{Reason: fmt.Errorf("it ended: %w", data)},
		ElicitationComplete{ID: text},
		RequestDropped{Method: text},
		LoginChanged{Issuer: text},
		OutputMismatch{Tool: text},
		OutputMismatch{Reason: text},
		ToolDrift{After: tool},
		ToolDrift{Before: &tool},
	}
}

// What an event keeps of a server's words is known, whatever the event.
func TestSizeOfEvents(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 10_000)
	for _, e := range longEvents(text) {
		size := footprint.Of(e)
		require.GreaterOrEqual(t, size, len(text), "%T", e)
		require.Less(t, size, 2*len(text)+2_000, "%T", e)
	}
	require.Zero(t, footprint.Of(LivenessFailed{}))
}
