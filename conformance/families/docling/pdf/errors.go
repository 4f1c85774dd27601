package pdf

import "errors"

// What can be wrong with a file, beside its being malformed.
var (
	ErrEncrypted = errors.New("the document is encrypted")
	ErrNoPages   = errors.New("the document has no such pages")
	ErrTooMuch   = errors.New("the document has too many pages, or they draw too much")
)

var errTree = errors.New("the tree of pages is malformed")
