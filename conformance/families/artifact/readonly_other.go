//go:build !unix

package artifact

import "io/fs"

// errReadOnly has no number of its own here.
var errReadOnly = fs.ErrPermission
