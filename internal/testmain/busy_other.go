//go:build !linux

package testmain

import "time"

// Busy runs f and returns how long that took. On Linux it is the processor time of f alone.
func Busy(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
