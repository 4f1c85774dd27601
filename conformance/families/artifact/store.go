package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/keyed"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// folder is what the store needs of a directory tree that nothing may leave.
type folder interface {
	MkdirAll(name string, perm fs.FileMode) error
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Remove(name string) error
	ReadFile(name string) ([]byte, error)
	Lstat(name string) (fs.FileInfo, error)
	// Sync has the disk keep what was written to f.
	Sync(f *os.File) error
	Close() error
}

// tree is a folder on the disk: an [os.Root] refuses "..", and symbolic links
// that lead out.
type tree struct{ *os.Root }

// Sync is [os.File.Sync].
func (tree) Sync(f *os.File) error { return f.Sync() }

func openTree(dir string) (folder, error) {
	root, err := os.OpenRoot(dir)
	return tree{root}, err
}

// store keeps artifacts below base, in a folder per type.
type store struct {
	base string
	// plural names the folders as the URIs do (C-06).
	plural bool
	open   func(base string) (folder, error)
	locks  keyed.Locks // of artifacts, within this process
	// settle, when set, ends what an earlier approval of an artifact left open.
	// It is called with the lock of the artifact held.
	settle func(ctx context.Context, root folder, id string) error
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

func newStore(base string) *store { return &store{base: base, open: openFolder} }

// openFolder opens base, making it first. It is opened again for each use: the
// folder may have been replaced since, and a store happens rarely.
func openFolder(base string) (folder, error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, err
	}
	return openTree(base)
}

// view opens base for reading, and does not make it.
func (s *store) view() (folder, error) { return openTree(s.base) }

// put writes content and its metadata, one after the other and each all or
// nothing. An approved version is never replaced; any other is.
func (s *store) put(ctx context.Context, content string, m *metadata) (*storedMetadata, place, error) {
	root, err := s.open(s.base)
	if err != nil {
		return nil, place{}, diskError(err)
	}
	defer func() { _ = root.Close() }() // only a handle on the folder
	release, err := s.hold(ctx, root, m.ID)
	if err != nil {
		return nil, place{}, diskError(err)
	}
	defer release()
	if s.settle != nil {
		if err := s.settle(ctx, root, m.ID); err != nil {
			return nil, place{}, err
		}
	}
	p, exists, err := s.locate(root, place{Type: m.Type, ID: m.ID, Version: m.Version})
	if err != nil {
		return nil, p, diskError(err)
	}
	stored, err := s.write(root, p, exists, content, m)
	return stored, p, err
}

func (s *store) write(root folder, p place, exists bool, content string, m *metadata) (*storedMetadata, error) {
	if err := root.MkdirAll(p.Dir, 0o755); err != nil {
		return nil, diskError(err)
	}
	var old []byte
	if exists {
		var err error
		if old, err = readFile(root, p.document()); err != nil {
			return nil, diskError(err)
		}
	}
	if exists && storedStatus(root, p, old) == statusApproved {
		return nil, &family.Error{
			Code:    family.CodeServer,
			Message: fmt.Sprintf("Artifact %s v%d is approved and cannot be replaced", m.ID, m.Version),
			Data:    map[string]any{"reason": "approved_immutable", "artifact_id": m.ID, "version": m.Version},
		}
	}
	stored := m.stored(s.path(p), len(content))
	described, err := encodeMetadata(stored)
	if err != nil {
		return nil, err
	}
	if err := writeAtomic(root, p.document(), []byte(content)); err != nil {
		return nil, diskError(err)
	}
	if err := writeAtomic(root, p.metadata(), described); err != nil {
		return nil, diskError(errors.Join(err, restore(root, p.document(), old, exists)))
	}
	return stored, nil
}

// path is where a document is, for people and metadata: below base.
func (s *store) path(p place) string { return filepath.Join(s.base, filepath.FromSlash(p.document())) }

// stored is the content of the metadata file of a document of size bytes.
func (m *metadata) stored(file string, size int) *storedMetadata {
	return &storedMetadata{
		ArtifactID: m.ID, ArtifactType: m.Type.Name, Version: m.Version, Status: m.Status,
		ParentID: m.ParentID, Title: m.Title, FilePath: file, SizeBytes: size,
	}
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
func storedStatus(root folder, p place, document []byte) string {
	if stored, err := readMetadata(root, p); err == nil {
		return stored.Status
	}
	return metadataFields(string(document))["status"]
}

func readMetadata(root folder, p place) (*storedMetadata, error) {
	var stored storedMetadata
	data, err := readFile(root, p.metadata())
	if err == nil {
		err = json.Unmarshal(data, &stored)
	}
	return &stored, err
}

// writeAtomic replaces name by data: a reader sees the old content or the new,
// and a crash leaves one of them (S0: temp file, then rename). The data reach
// the disk before the rename does, or a power cut could leave an empty file.
func writeAtomic(root folder, name string, data []byte) (err error) {
	temp := tempName(name)
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
		err = root.Sync(f)
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
	return syncDir(root, path.Dir(name))
}

// tempName is S0's name for a file that is being written.
func tempName(name string) string {
	dir, file := path.Split(name)
	return dir + "." + file + ".tmp"
}

// syncDir makes a rename durable. Not every file system can: that is no fault
// of the write.
func syncDir(root folder, dir string) error {
	d, err := root.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return nil //nolint:nilerr // the file is complete and in its place
	}
	_ = root.Sync(d)
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

// diskError classifies what the file system said.
func diskError(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errReadOnly):
		return permission(err, "the artifacts folder cannot be written")
	case isTimeout(err), errors.Is(err, context.Canceled):
		return err // classify knows it
	}
	return &family.Error{Code: codeInternal, Message: "Internal error: the artifact could not be stored", Data: map[string]any{"reason": "disk"}, Err: err}
}
