//go:build unix

package faults

func processObserved(key string) bool { _, ok := processCases[key]; return ok }
