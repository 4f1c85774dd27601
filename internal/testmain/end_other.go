//go:build !unix

package testmain

// endAtOnce does nothing: here a program cannot replace itself.
func endAtOnce() {}
