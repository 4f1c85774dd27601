//go:build !linux

package transport

import "os"

// unread is unknown on systems where only the reading end of a pipe reports it.
func unread(*os.File) (waiting int64, known bool) { return 0, false }
