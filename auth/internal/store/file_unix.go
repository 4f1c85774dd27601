//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// exposed returns how other users can access a file or folder, or "".
func exposed(info fs.FileInfo) string {
	if info.Mode().Perm()&0o077 != 0 {
		return "other users have rights to it"
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int64(stat.Uid) != int64(os.Geteuid()) {
		return "it belongs to another user"
	}
	return ""
}

// openToRead opens a file. It does not wait for a pipe, and does not follow a link.
func openToRead(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

func replace(root *os.Root, from, to string) error { return root.Rename(from, to) }

// syncFolder makes a rename durable. Some file systems do not support it.
func syncFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // it was only read
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
