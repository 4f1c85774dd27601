//go:build !unix

package main

// pay is the program "payserver". The tests that start it are for Unix: they send signals.
var pay = func() { panic("payserver is for Unix") }
