//go:build race

package faultmatrix

// raced says that the race detector runs, which makes a trial twenty times as
// slow: then each fault is met over everything that makes it, by one kind of
// call and in one form. What becomes of all the others is seen without it.
const raced = true
