package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// exposed returns "". On Windows, access lists protect a folder in the user's profile, and the bits
// of the mode do not show them.
func exposed(fs.FileInfo) string { return "" }

func openToRead(root *os.Root, name string) (*os.File, error) { return root.Open(name) }

// tries of a rename, with longer and longer pauses: about 2 s.
const tries = 20

// errSharing is ERROR_SHARING_VIOLATION.
const errSharing syscall.Errno = 32

// replace retries while another process reads the old file, because Windows refuses a rename then.
func replace(root *os.Root, from, to string) error {
	var err error
	for i := range tries {
		err = root.Rename(from, to)
		if err == nil || !errors.Is(err, errSharing) && !errors.Is(err, syscall.ERROR_ACCESS_DENIED) {
			return err
		}
		<-time.After(time.Duration(i) * 10 * time.Millisecond)
	}
	return err
}

// syncFolder does nothing: Windows has no such call for folders, and NTFS logs renames.
func syncFolder(*os.Root) error { return nil }
