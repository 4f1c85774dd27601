//go:build unix && !solaris && !aix

package scratch

import (
	"io/fs"
	"os"
	"syscall"
)

const canLock = true

// tryLock locks a file, or returns an error if another has it.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

func openLock(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// ours reports whether a folder belongs to this user, and to nobody else.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
