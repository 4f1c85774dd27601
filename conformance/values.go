package conformance

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// object reads a JSON object; ok is false for anything else.
func object(raw json.RawMessage) (members map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, false
	}
	return members, true
}

// text reads a JSON string, "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

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

// lastLines returns the last lines of a program's standard error.
func lastLines(stderr string) string {
	const most = 20
	lines := strings.Split(strings.TrimRight(stderr, "\n"), "\n")
	return clip(strings.Join(lines[max(0, len(lines)-most):], "\n"), 4000)
}

// isAbsoluteURI reports whether text is a URI with a scheme (RFC 3986).
func isAbsoluteURI(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.IsAbs() && strings.IndexFunc(text, func(c rune) bool { return c <= 0x20 || c == 0x7F }) < 0
}
