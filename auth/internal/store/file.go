package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	recordSuffix = ".json"
	sealedSuffix = ".sealed"
	lockSuffix   = ".lock"
	newSuffix    = ".new"

	// mostBytes limits a record file. Tokens have a few kilobytes.
	mostBytes = 4 << 20
)

// DamagedError reports a file of the store, or its folder, that exists but cannot be used. The
// store neither changes nor replaces it.
type DamagedError struct {
	Path   string
	Reason string
	Fix    string // what to do
	Folder bool   // Path is the folder of the store
}

// OnlyDamaged reports whether the error of List consists of damaged records only.
func OnlyDamaged(err error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	return ok && len(Damaged(err)) == len(joined.Unwrap())
}

// Damaged returns the damaged records in an error of List.
func Damaged(err error) []*DamagedError {
	var files []*DamagedError
	joined, _ := err.(interface{ Unwrap() []error })
	if joined == nil {
		return nil
	}
	for _, one := range joined.Unwrap() {
		var damaged *DamagedError
		if errors.As(one, &damaged) {
			files = append(files, damaged)
		}
	}
	return files
}

func (e *DamagedError) Error() string {
	what := "stored token"
	if e.Folder {
		what = "token store"
	}
	return fmt.Sprintf("%s %s: %s; %s", what, e.Path, e.Reason, e.Fix)
}

// WriteError reports that a changed record could not be written. The store still has the old
// record, whose refresh token may no longer be valid.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("stored token %s was not written: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// File keeps each record in its own file in one folder. Processes of the same user may share the
// folder. Without a seal the secrets are not encrypted: only the permissions of the files protect
// them.
type File struct {
	dir    string
	seal   *seal  // nil for plain text
	suffix string // of record files; sealed and plain ones differ
	turns  turns[string]
}

// NewFile opens a store in a folder that only this user can access. If there is no folder, the
// store is empty, and the first Update creates the folder. Reading creates nothing.
func NewFile(dir string) (Store, error) { return open(&File{dir: dir, suffix: recordSuffix}) }

// NewSealed is NewFile with files that are encrypted with a key of 32 bytes. It does not see the
// files of NewFile in the same folder.
func NewSealed(dir string, key []byte) (Store, error) {
	s, err := newSeal(key)
	if err != nil {
		return nil, fmt.Errorf("token store %s: %w", dir, err)
	}
	return open(&File{dir: dir, seal: s, suffix: sealedSuffix})
}

func open(f *File) (Store, error) {
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return nil, fmt.Errorf("token store: %w", err)
	}
	if err := canLock(); err != nil {
		return nil, fmt.Errorf("token store %s: %w", dir, err)
	}
	f.dir = dir
	root, err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	if err := root.Close(); err != nil {
		return nil, fmt.Errorf("token store: %w", err)
	}
	return f, nil
}

// open opens the folder for one operation, because it may have been replaced since the last one.
func (f *File) open() (*os.Root, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, fmt.Errorf("token store: %w", err)
	}
	info, err := root.Stat(".")
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("token store: %w", err)
	}
	if reason := exposed(info); reason != "" {
		_ = root.Close()
		return nil, &DamagedError{Path: f.dir, Reason: reason, Fix: "make the folder yours alone (chmod 700), or use another one", Folder: true}
	}
	return root, nil
}

// nameOf returns the file name of a key without suffix. The name does not reveal the key.
func nameOf(key Key) (string, error) {
	text, err := json.Marshal(key.fields())
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Load implements [Store]. It never waits, because files are replaced as a whole.
func (f *File) Load(ctx context.Context, key Key) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	name, err := nameOf(key)
	if err != nil {
		return Record{}, err
	}
	root, err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, ErrNotFound
	}
	if err != nil {
		return Record{}, err
	}
	defer root.Close()
	text, err := f.read(root, name, key)
	if err != nil {
		return Record{}, err
	}
	if text == nil {
		return Record{}, ErrNotFound
	}
	_, r, err := Decode(text)
	return r, err
}

// Update implements [Store]. It creates the folder if necessary.
func (f *File) Update(ctx context.Context, key Key, change func(Record) (Record, error)) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return fmt.Errorf("token store: %w", err)
	}
	return f.locked(ctx, key, func(root *os.Root, name string) error {
		return update(key, change, func() ([]byte, error) {
			return f.read(root, name, key)
		}, func(text []byte) error {
			if err := write(root, name, f.suffix, f.seal.close(name, text)); err != nil {
				return &WriteError{Path: filepath.Join(f.dir, name+f.suffix), Err: err}
			}
			return nil
		})
	})
}

// Delete implements [Store]. It also removes a damaged record.
func (f *File) Delete(ctx context.Context, key Key) error {
	if _, err := os.Stat(f.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return f.locked(ctx, key, func(root *os.Root, name string) error {
		for _, suffix := range []string{newSuffix, f.suffix, lockSuffix} {
			if err := root.Remove(name + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) && suffix != lockSuffix {
				return fmt.Errorf("token store %s: %w", f.dir, err)
			}
		}
		return syncFolder(root)
	})
}

// List implements [Store].
func (f *File) List(ctx context.Context) ([]Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("token store %s: %w", f.dir, err)
	}
	var keys []Key
	var faults []error
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), f.suffix)
		if !ok || len(name) != 2*sha256.Size {
			continue // not a record
		}
		key, _, err := f.parse(root, name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		case err != nil:
			faults = append(faults, err)
		default:
			keys = append(keys, key)
		}
	}
	sortKeys(keys)
	return keys, errors.Join(faults...)
}

// String names the folder.
func (f *File) String() string {
	if f.seal != nil {
		return "sealed file store " + f.dir
	}
	return "file store " + f.dir
}

// GoString is String.
func (f *File) GoString() string { return f.String() }

// locked runs work while no other goroutine or process has the lock of the key.
func (f *File) locked(ctx context.Context, key Key, work func(root *os.Root, name string) error) error {
	name, err := nameOf(key)
	if err != nil {
		return err
	}
	done, err := f.turns.take(ctx, name)
	if err != nil {
		return err
	}
	defer done()
	root, err := f.open()
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := lock(ctx, root, name+lockSuffix)
	if err != nil {
		return fmt.Errorf("lock the stored token %s: %w", filepath.Join(f.dir, name+f.suffix), err)
	}
	defer unlock()
	return work(root, name)
}

// read returns the text of the record of a key, nil if there is none.
func (f *File) read(root *os.Root, name string, key Key) ([]byte, error) {
	found, text, err := f.parse(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && found != key {
		err = f.damaged(name, "it holds the record of another login")
	}
	return text, err
}

// parse reads and checks a record file. The error for a missing file is fs.ErrNotExist.
func (f *File) parse(root *os.Root, name string) (Key, []byte, error) {
	before, err := root.Lstat(name + f.suffix)
	if err != nil {
		return Key{}, nil, f.wrap(err)
	}
	if !before.Mode().IsRegular() {
		return Key{}, nil, f.damaged(name, "it is not a regular file")
	}
	file, err := openToRead(root, name+f.suffix)
	if err != nil {
		return Key{}, nil, f.wrap(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()            // of the open file: the name may have another file by now
	if err != nil {
		return Key{}, nil, f.wrap(err)
	}
	if !info.Mode().IsRegular() {
		return Key{}, nil, f.damaged(name, "it is not a regular file")
	}
	if reason := exposed(info); reason != "" {
		return Key{}, nil, &DamagedError{
			Path: filepath.Join(f.dir, name+f.suffix), Reason: reason,
			Fix: "others may know the token by now: delete the file and log in again",
		}
	}
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err != nil {
		return Key{}, nil, f.wrap(err)
	}
	if len(text) > mostBytes {
		return Key{}, nil, f.damaged(name, "it is too large")
	}
	if text, err = f.seal.open(name, text); err != nil {
		return Key{}, nil, f.damaged(name, err.Error())
	}
	key, _, err := Decode(text)
	if err != nil {
		return Key{}, nil, f.damaged(name, err.Error())
	}
	return key, text, nil
}

func (f *File) wrap(err error) error { return fmt.Errorf("token store %s: %w", f.dir, err) }

func (f *File) damaged(name, reason string) error {
	return &DamagedError{
		Path: filepath.Join(f.dir, name+f.suffix), Reason: reason,
		Fix: "delete the file and log in again",
	}
}

// write replaces a record file. A crash at any point leaves the old text or the new one. The
// caller holds the lock, so an existing temporary file was left by a crash.
func write(root *os.Root, name, suffix string, text []byte) (err error) {
	if err := root.Remove(name + newSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(name+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = replace(root, name+newSuffix, name+suffix)
	}
	if err != nil {
		_ = root.Remove(name + newSuffix)
		return err
	}
	return syncFolder(root)
}
