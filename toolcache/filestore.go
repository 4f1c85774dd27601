package toolcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// FileStore is a [Store] with one file for each list. It creates its folder if
// necessary. The folder and its files are private to the user: FileStore uses
// no folder, file or link that another user owns or may write to. It replaces
// files as a whole, so that several programs may share a folder; the last to
// save wins. It is safe for concurrent use and needs no Close.
type FileStore struct {
	// Dir is the folder. It is required.
	Dir string
	// Files is the greatest number of lists; the list that was saved least
	// recently is removed first. 0 or less means 128. MaxBytes limits the size of
	// a file; 0 means 16 MiB, which is also the maximum.
	Files, MaxBytes int
}

const (
	fileFormat = 1
	fileSuffix = ".tools"
	// maxHead bounds the first line of a file, maxBytes a file, and maxTTL a time to live.
	maxHead  = 1 << 10
	maxBytes = 16 << 20
	maxTTL   = 24 * time.Hour
	// defaultFiles is the default of FileStore.Files.
	defaultFiles = 128
)

// errFile is matched by the errors of an invalid file.
var errFile = errors.New("the stored list of tools is not valid")

// fileHead is the first line of a file; the list follows it.
type fileHead struct {
	Format int       `json:"format"`
	Key    string    `json:"key"`
	Hash   string    `json:"hash"`
	At     time.Time `json:"at"`
	TTLMs  *int64    `json:"ttlMs,omitempty"`
	Public bool      `json:"public,omitempty"`
}

// Load implements [Store].
func (f *FileStore) Load(ctx context.Context, key string) (Entry, error) {
	name, err := f.name(ctx, key)
	if err != nil {
		return Entry{}, err
	}
	file, err := f.open(name)
	if err != nil {
		return Entry{}, fmt.Errorf("tool store: %w", err)
	}
	if file == nil {
		return Entry{}, nil
	}
	defer func() { _ = file.Close() }()
	data, err := readAll(file, f.bytes()+1)
	switch {
	case err != nil:
		return Entry{}, fmt.Errorf("tool store: %w", err)
	case len(data) > f.bytes():
		return Entry{}, fmt.Errorf("tool store: %s has more than %d bytes", file.Name(), f.bytes())
	}
	entry, err := parseFile(data, key)
	if err != nil {
		return Entry{}, fmt.Errorf("tool store: %s: %w", file.Name(), err)
	}
	return entry, nil
}

// readAll reads at most so many bytes of a file, into memory of its size.
func readAll(file *os.File, most int) ([]byte, error) {
	var data bytes.Buffer
	if info, err := file.Stat(); err == nil {
		data.Grow(min(int(info.Size()), most) + bytes.MinRead)
	}
	_, err := data.ReadFrom(io.LimitReader(file, int64(most)))
	return data.Bytes(), err
}

// open opens a file that only this user can have written, and returns nil if there is none.
// It looks at the file before it opens it, because opening a pipe can block forever.
func (f *FileStore) open(name string) (*os.File, error) {
	if err := f.checkDir(); err != nil {
		return nil, absentIsNil(err)
	}
	path := filepath.Join(f.Dir, name)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, absentIsNil(err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err := onlyOurs(path, info); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, absentIsNil(err)
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		_ = file.Close() // replaced this moment: the next process finds the new one
		return nil, err
	}
	return file, nil
}

func (f *FileStore) checkDir() error {
	info, err := os.Lstat(f.Dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", f.Dir)
	}
	return onlyOurs(f.Dir, info)
}

// onlyOurs returns an error if another user could have written the file or folder. The hash
// of a list detects damage, not malice.
func onlyOurs(path string, info fs.FileInfo) error {
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write to %s; it is not used", path)
	}
	if !owned(info) {
		return fmt.Errorf("%s belongs to another user; it is not used", path)
	}
	return nil
}

func absentIsNil(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// parseFile reads a file. The cache validates the list.
func parseFile(data []byte, key string) (Entry, error) {
	end := bytes.IndexByte(data[:min(len(data), maxHead)], '\n')
	if end < 0 {
		return Entry{}, fmt.Errorf("%w: it has no header line", errFile)
	}
	var head fileHead
	if err := mcp.Unmarshal(bytes.Clone(data[:end]), &head); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", errFile, err)
	}
	list := data[end+1:]
	switch {
	case head.Format != fileFormat:
		return Entry{}, fmt.Errorf("%w: its format is %d, not %d", errFile, head.Format, fileFormat)
	case head.Key != key:
		return Entry{}, fmt.Errorf("%w: it belongs to another key", errFile)
	case len(list) == 0 || hashOf(list) != head.Hash:
		return Entry{}, fmt.Errorf("%w: its hash does not match", errFile)
	}
	entry := Entry{List: list, Hash: head.Hash, At: head.At, Public: head.Public}
	if head.TTLMs != nil {
		ttl := time.Duration(min(max(*head.TTLMs, 0), maxTTL.Milliseconds())) * time.Millisecond
		entry.TTL = &ttl
	}
	return entry, nil
}

// Save implements [Store].
func (f *FileStore) Save(ctx context.Context, key string, entry Entry) error {
	name, err := f.name(ctx, key)
	if err != nil {
		return err
	}
	head := fileHead{Format: fileFormat, Key: key, Hash: entry.Hash, At: entry.At.UTC(), Public: entry.Public}
	if entry.TTL != nil {
		ms := entry.TTL.Milliseconds()
		head.TTLMs = &ms
	}
	data, err := mcp.Marshal(head)
	if err != nil {
		return fmt.Errorf("tool store: %w", err)
	}
	data = append(append(data, '\n'), entry.List...)
	if len(data) > f.bytes() {
		return fmt.Errorf("tool store: the list has more than %d bytes", f.bytes())
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return fmt.Errorf("tool store: %w", err)
	}
	if err := f.checkDir(); err != nil {
		return fmt.Errorf("tool store: %w", err)
	}
	temp, err := os.CreateTemp(f.Dir, name+".*") // 0600
	if err != nil {
		return fmt.Errorf("tool store: %w", err)
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), filepath.Join(f.Dir, name))
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // incomplete
		return fmt.Errorf("tool store: %w", err)
	}
	return f.tidy(name)
}

// Forget implements [Store].
func (f *FileStore) Forget(ctx context.Context, key string) error {
	name, err := f.name(ctx, key)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(f.Dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tool store: %w", err)
	}
	return nil
}

// tidy removes the oldest files beyond the limit, but never the one that was just saved. It
// also removes old temporary files of programs that exited while they saved.
func (f *FileStore) tidy(saved string) error {
	const abandoned = time.Hour
	found, err := os.ReadDir(f.Dir)
	if err != nil {
		return fmt.Errorf("tool store: %w", err)
	}
	type aged struct {
		name string
		at   time.Time
	}
	var kept []*aged // the compiler has one sort for all pointers
	for _, e := range found {
		stem, rest, ours := strings.Cut(e.Name(), fileSuffix)
		info, err := e.Info()
		switch {
		case !ours || !isKey(stem) || err != nil: // not a file of a FileStore, or already removed
		case rest == "" && e.Name() != saved:
			kept = append(kept, &aged{e.Name(), info.ModTime()})
		case rest != "" && time.Since(info.ModTime()) > abandoned:
			err = os.Remove(filepath.Join(f.Dir, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("tool store: %w", err)
		}
	}
	slices.SortFunc(kept, func(a, b *aged) int { return a.at.Compare(b.at) })
	most := f.Files
	if most <= 0 {
		most = defaultFiles
	}
	for _, old := range kept[:max(0, len(kept)+1-most)] {
		if err := os.Remove(filepath.Join(f.Dir, old.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("tool store: %w", err)
		}
	}
	return nil
}

func (f *FileStore) bytes() int {
	if f.MaxBytes <= 0 || f.MaxBytes > maxBytes {
		return maxBytes
	}
	return f.MaxBytes
}

// name returns the name of the key's file. An invalid key is an error, so that no key leads
// out of the folder.
func (f *FileStore) name(ctx context.Context, key string) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case f.Dir == "":
		return "", errors.New("tool store: no folder is set")
	case !isKey(key):
		return "", fmt.Errorf("tool store: %.100q is not a key", key)
	}
	return key + fileSuffix, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// isKey reports whether key is 64 lower-case hexadecimal digits.
func isKey(key string) bool {
	digits, err := hex.DecodeString(key)
	return err == nil && len(digits) == 32 && strings.ToLower(key) == key
}
