//go:build !unix

package transport_test

import "os"

func stubborn()      { hold() }
func obliging()      { hold() }
func clientProgram() { hold() }

// ignoreTerm is for systems with a termination signal.
func ignoreTerm() { hold() }

func gone(pid int) bool {
	_, err := os.FindProcess(pid)
	return err != nil
}

func reaped(pid int) bool { return gone(pid) }
