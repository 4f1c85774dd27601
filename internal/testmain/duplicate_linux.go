package testmain

import "syscall"

// duplicate makes a second descriptor of an open file. Not all Linux systems have dup2.
func duplicate(from, to int) error { return syscall.Dup3(from, to, 0) }
