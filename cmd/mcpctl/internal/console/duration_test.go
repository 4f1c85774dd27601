package console_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
)

func TestLeft(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		400 * time.Millisecond:                 "0s",
		59*time.Minute + 30*time.Second:        "59m",
		time.Hour - 200*time.Millisecond:       "1h",
		47 * time.Hour:                         "47h",
		49 * time.Hour:                         "2 days",
		87600*time.Hour - 200*time.Millisecond: "10 years",
	} {
		require.Equal(t, want, console.Left(d))
	}
}

func TestRounded(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		312987 * time.Nanosecond:   "313µs",
		12345 * time.Microsecond:   "12ms",
		1234567 * time.Microsecond: "1.2s",
	} {
		require.Equal(t, want, console.Rounded(d).String())
	}
}
