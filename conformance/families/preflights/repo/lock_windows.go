//go:build windows

package repo

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is ERROR_SHARING_VIOLATION: somebody else has the file.
const sharingViolation = syscall.Errno(32)

// openAlone opens the file without letting anybody share it. The system closes
// it with the process.
func openAlone(name string) (release func(), busy bool, err error) {
	p, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, false, err
	}
	h, err := syscall.CreateFile(p, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, errors.Is(err, sharingViolation), &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return func() { _ = syscall.CloseHandle(h) }, false, nil
}
