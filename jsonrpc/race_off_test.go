//go:build !race

package jsonrpc

const raced = false

// fewer is how many rounds of the same n are.
func fewer(n int) int { return n }

// hurry changes nothing.
func hurry() {}
