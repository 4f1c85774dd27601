//go:build !linux

package wire

import "time"

var started = time.Now()

// threadTime returns the time since the start of the program: here nobody knows what a thread has
// used, and each machine counts as quiet.
func threadTime() time.Duration { return time.Since(started) }
