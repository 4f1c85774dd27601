package conformance

import (
	"context"
	"net/url"
	"strings"
	"time"
)

// eventually asks ok until it says yes or the time is over, and returns what it
// said last. It is for what a server writes outside the conversation.
func eventually(ctx context.Context, limit time.Duration, ok func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok() {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return ok()
		case <-ctx.Done():
			return false
		}
	}
}

// isAbsoluteURI reports whether text is a URI with a scheme (RFC 3986).
func isAbsoluteURI(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.IsAbs() && strings.IndexFunc(text, func(c rune) bool { return c <= 0x20 || c == 0x7F }) < 0
}
