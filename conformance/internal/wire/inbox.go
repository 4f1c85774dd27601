package wire

import "sync"

const (
	// inboxSize and inboxBytes are the messages and bytes that may wait before the reader
	// pauses, so that a flood fills the pipe, not the memory.
	inboxSize  = 4096
	inboxBytes = 64 << 20
	// keptMessages and keptInAll bound what a session keeps for later.
	keptMessages = 10_000
	keptInAll    = 64 << 20
)

// inbox has the messages that were not taken yet. Several goroutines may call put; one takes.
type inbox struct {
	messages chan Inbound

	mu    sync.Mutex
	held  int
	freed chan struct{}
}

func newInbox() *inbox {
	return &inbox{messages: make(chan Inbound, inboxSize), freed: make(chan struct{}, 1)}
}

// put waits for room, or for quit. An empty inbox has room for any message.
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

// took frees the room of a message that was taken.
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
