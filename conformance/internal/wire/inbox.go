package wire

import "sync"

const (
	// inboxSize is how many messages may wait before the reader pauses, and
	// inboxBytes how many bytes: a server that floods fills its pipe, not the memory.
	inboxSize  = 4096
	inboxBytes = 64 << 20
	// keptMessages and keptInAll bound what a session keeps for later.
	keptMessages = 10_000
	keptInAll    = 64 << 20
)

// inbox holds what has arrived and was not taken yet. put may be called by several
// goroutines; one takes.
type inbox struct {
	messages chan Inbound

	mu    sync.Mutex
	held  int
	freed chan struct{}
}

func newInbox() *inbox {
	return &inbox{messages: make(chan Inbound, inboxSize), freed: make(chan struct{}, 1)}
}

// put waits for room, which an empty inbox has for any message, or for quit.
func (b *inbox) put(in Inbound, quit <-chan struct{}) {
	for !b.reserve(len(in.Data)) {
		select {
		case <-b.freed:
		case <-quit:
			return
		}
	}
	b.wake() // another may fit, too
	select {
	case b.messages <- in:
	case <-quit:
	}
}

func (b *inbox) reserve(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held > 0 && b.held+n > inboxBytes {
		return false
	}
	b.held += n
	return true
}

// took makes room for what comes after a message that was taken.
func (b *inbox) took(in Inbound) {
	b.mu.Lock()
	b.held -= len(in.Data)
	b.mu.Unlock()
	b.wake()
}

func (b *inbox) wake() {
	select {
	case b.freed <- struct{}{}:
	default:
	}
}
