package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
)

// folder is what the store needs of a directory tree that nothing may leave.
// An [*os.Root] is one: it refuses "..", and symbolic links that lead out.
type folder interface {
	MkdirAll(name string, perm fs.FileMode) error
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Remove(name string) error
	ReadFile(name string) ([]byte, error)
	Close() error
}

// store keeps artifacts below base, in a folder per type.
type store struct {
	base string
	open func(base string) (folder, error)

	mu    sync.Mutex
	locks map[string]*nameLock
}

// nameLock is the lock of one (type, id, version) and how many hold or await it.
type nameLock struct {
	sync.Mutex
	users int
}

// storedMetadata is the metadata file: exactly these eight keys (S0).
type storedMetadata struct {
	ArtifactID   string  `json:"artifact_id"`
	ArtifactType string  `json:"artifact_type"`
	Version      int     `json:"version"`
	Status       string  `json:"status"`
	ParentID     *string `json:"parent_id"`
	Title        string  `json:"title"`
	FilePath     string  `json:"file_path"`
	SizeBytes    int     `json:"size_bytes"`
}

func newStore(base string) *store {
	return &store{base: base, open: openFolder, locks: make(map[string]*nameLock)}
}

// openFolder opens base, making it first. It is opened anew for each use: the
// folder may have been replaced since, and a store happens rarely.
func openFolder(base string) (folder, error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(base)
}

// names are the places of one version of an artifact, relative to the base.
func names(m *metadata) (document, meta string) {
	stem := fmt.Sprintf("%s_v%d", m.ID, m.Version)
	return path.Join(m.Type.Name, stem+".md"), path.Join(m.Type.Name, stem+"_metadata.json")
}

// put writes content and its metadata, one after the other and each all or
// nothing. An approved version is never replaced; any other is.
func (s *store) put(content string, m *metadata) (*storedMetadata, error) {
	document, meta := names(m)
	defer s.lock(document)()
	root, err := s.open(s.base)
	if err != nil {
		return nil, diskError(err)
	}
	defer func() { _ = root.Close() }() // only a handle on the folder
	if err := root.MkdirAll(m.Type.Name, 0o755); err != nil {
		return nil, diskError(err)
	}
	old, err := root.ReadFile(document)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diskError(err)
	}
	exists := err == nil
	if exists && storedStatus(root, meta, old) == "Approved" {
		return nil, &family.Error{
			Code:    family.CodeServer,
			Message: fmt.Sprintf("Artifact %s v%d is approved and cannot be replaced", m.ID, m.Version),
			Data:    map[string]any{"reason": "approved_immutable", "artifact_id": m.ID, "version": m.Version},
		}
	}
	stored := &storedMetadata{
		ArtifactID: m.ID, ArtifactType: m.Type.Name, Version: m.Version, Status: m.Status,
		ParentID: m.ParentID, Title: m.Title,
		FilePath: filepath.Join(s.base, filepath.FromSlash(document)), SizeBytes: len(content),
	}
	described, err := encodeMetadata(stored)
	if err != nil {
		return nil, err
	}
	if err := writeAtomic(root, document, []byte(content)); err != nil {
		return nil, diskError(err)
	}
	if err := writeAtomic(root, meta, described); err != nil {
		return nil, diskError(errors.Join(err, restore(root, document, old, exists)))
	}
	return stored, nil
}

// restore undoes the write of a document whose metadata could not be written,
// so that the two files never contradict each other.
func restore(root folder, document string, old []byte, exists bool) error {
	if !exists {
		return root.Remove(document)
	}
	return writeAtomic(root, document, old)
}

// storedStatus is the status of the version on disk: that of the metadata
// file, else (it is lost or damaged) that of the document itself.
func storedStatus(root folder, meta string, document []byte) string {
	var stored storedMetadata
	if data, err := root.ReadFile(meta); err == nil && json.Unmarshal(data, &stored) == nil {
		return stored.Status
	}
	return metadataFields(string(document))["status"]
}

// writeAtomic replaces name by data: a reader sees the old content or the new,
// and a crash leaves one of them (S0: temp file, then rename). The data reach
// the disk before the rename does, or a power cut could leave an empty file.
func writeAtomic(root folder, name string, data []byte) (err error) {
	dir, file := path.Split(name)
	temp := dir + "." + file + ".tmp"
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp) // the first error is the one to report
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := root.Rename(temp, name); err != nil {
		return err
	}
	return syncDir(root, path.Clean(dir))
}

// syncDir makes a rename durable. Not every file system can: that is no fault
// of the write.
func syncDir(root folder, dir string) error {
	d, err := root.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return nil //nolint:nilerr // the file is complete and in its place
	}
	_ = d.Sync()
	return d.Close()
}

func encodeMetadata(m *storedMetadata) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// lock takes the lock of a name and returns what releases it.
func (s *store) lock(name string) (unlock func()) {
	s.mu.Lock()
	l := s.locks[name]
	if l == nil {
		l = &nameLock{}
		s.locks[name] = l
	}
	l.users++
	s.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(s.locks, name)
		}
	}
}

// diskError classifies what the file system said.
func diskError(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errReadOnly):
		return permission(err, "the artifacts folder cannot be written")
	case isTimeout(err):
		return err // classify knows it
	}
	return &family.Error{Code: codeInternal, Message: "Internal error: the artifact could not be stored", Data: map[string]any{"reason": "disk"}, Err: err}
}

// read returns the document at a path relative to the base.
func (s *store) read(name string) ([]byte, error) {
	root, err := os.OpenRoot(s.base)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	return io.ReadAll(f)
}
