// Package repo finds the repository a call is about and changes its docs
// folder: all of a change or none of it, one writer at a time, and nothing
// outside of docs (tools.md §5.2, §5.4).
package repo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotFound is the error when no repository is where one was looked for.
var ErrNotFound = errors.New("no git repository found")

// ErrPath is the error for a path that is no directory one can look in.
var ErrPath = errors.New("the repository path is not a directory")

// Find returns the root of the repository that holds dir: the first directory
// from dir upwards with a .git in it, which is a folder, or a file in a
// worktree. The error is [ErrPath] or [ErrNotFound].
func Find(dir string) (string, error) {
	if strings.ContainsRune(dir, 0) || !filepath.IsAbs(dir) {
		return "", ErrPath
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", ErrPath
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", ErrPath
	}
	for {
		if info, err := os.Stat(filepath.Join(dir, ".git")); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", ErrNotFound
		}
		dir = parent
	}
}
