package refserver

import "slices"

// The revisions of the session era, oldest first.
const (
	version20241105 = "2024-11-05"
	version20250326 = "2025-03-26"
	version20250618 = "2025-06-18" // the first with structuredContent
	version20251125 = "2025-11-25"
)

func sessionVersions() []string {
	return []string{version20241105, version20250326, version20250618, version20251125}
}

// negotiated returns the revision go-sdk settles on for a client that asked
// for version. ServerSession shows what was asked for, not what was agreed.
func negotiated(version string) string {
	if slices.Contains(sessionVersions(), version) {
		return version
	}
	return version20251125
}

// served reports whether the server answers method. go-sdk knows more, such
// as server/discover, which belongs to the era this server does not speak.
func served(method string) bool {
	switch method {
	case "initialize", "ping",
		"tools/list", "tools/call",
		"resources/list", "resources/templates/list", "resources/read",
		"notifications/initialized", "notifications/cancelled",
		"notifications/progress", "notifications/roots/list_changed":
		return true
	}
	return false
}
