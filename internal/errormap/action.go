package errormap

// Suggested actions of the seed, where they differ from the catalogue's.
const (
	actionRetry   = "Try again"
	actionSupport = "Contact support"
	actionLater   = "Try again later"
)
