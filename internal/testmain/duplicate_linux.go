package testmain

import "syscall"

// duplicate makes a second name of an open file. Not all of Linux has dup2.
func duplicate(from, to int) error { return syscall.Dup3(from, to, 0) }
