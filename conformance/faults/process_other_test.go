//go:build !unix

package faults

// processObserved: what processes do is observed on Unix.
func processObserved(string) bool { return true }
