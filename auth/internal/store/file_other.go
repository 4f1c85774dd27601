//go:build !unix && !windows

package store

import (
	"io/fs"
	"os"
)

func exposed(fs.FileInfo) string { return "" }

func openToRead(root *os.Root, name string) (*os.File, error) { return root.Open(name) }

func replace(root *os.Root, from, to string) error { return root.Rename(from, to) }

func syncFolder(*os.Root) error { return nil }
