//go:build !race || !unix

package testmain

// endAtOnce does nothing: without the race detector a program ends at once, and
// elsewhere than on Unix a program cannot take the place of another.
func endAtOnce() {}
