//go:build darwin || freebsd || netbsd || openbsd

package testmain

import "syscall"

// duplicate makes a second descriptor of an open file.
func duplicate(from, to int) error { return syscall.Dup2(from, to) }
