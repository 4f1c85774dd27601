package proxy

import "time"

// Bounds of one host.
const (
	maxOpen          = 1024 // requests that are not answered yet, and refusals that wait to be sent
	maxNotifications = 64   // that wait for the server
	slow             = 10 * time.Second
)

const (
	// drainTime is how long requests may go on after the host has closed its stream: it may
	// still read their answers. The programs of a host that is gone end soon after: within three
	// seconds in all.
	drainTime = 1500 * time.Millisecond
	// stopTime is the same after the end of the context.
	stopTime = 5 * time.Second
	// flushTime is how long the host may take to read what was written last.
	flushTime = time.Second
)
