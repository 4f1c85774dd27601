//go:build unix

package artifact

import "syscall"

// errReadOnly is what a read-only file system says. It is not [fs.ErrPermission].
var errReadOnly error = syscall.EROFS
