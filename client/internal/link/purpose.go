package link

// Purpose is what a request is for. It decides what may hold the request back,
// and whether a notification tells the server that the client gave it up.
type Purpose uint8

const (
	// Ordinary is a request of the application.
	Ordinary Purpose = iota
	// Handshake opens the conversation. Giving it up sends no notification.
	Handshake
	// Restore gives a new session what the old one had.
	Restore
	// Liveness asks for an answer and nothing else.
	Liveness
)

// Opens reports whether the request makes a session usable. Such a request does
// not wait for calls of the session before.
func (p Purpose) Opens() bool { return p == Handshake || p == Restore }
