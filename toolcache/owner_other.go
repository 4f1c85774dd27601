//go:build !unix

package toolcache

import "io/fs"

// owned returns true. On this system the access list of the folder protects the files.
func owned(fs.FileInfo) bool { return true }
