package link

// Purpose is what a request is for. It decides which limits apply to the request, and whether
// abandoning it sends a notification.
type Purpose uint8

const (
	// Ordinary is a request of the application.
	Ordinary Purpose = iota
	// Handshake opens the session. Abandoning it sends no notification.
	Handshake
	// Restore restores the state of the previous session in a new one.
	Restore
	// Liveness is a probe that only needs an answer.
	Liveness
)

// Opens reports whether the request makes a session usable. Such a request does not wait for
// earlier calls.
func (p Purpose) Opens() bool { return p == Handshake || p == Restore }
