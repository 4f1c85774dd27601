package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// FileVerdicts returns a store in a file, for programs that run often and not
// for long. The file is made with its folder at the first Save, for this user
// only. It is read anew each time, and replaced as a whole: programs that share
// it never see half of it, and two that save in the same moment lose one
// verdict at worst. A file that cannot be read, or is not a store's, counts as
// empty and is replaced.
func FileVerdicts(path string) VerdictStore { return &verdictFile{path: path} }

type verdictFile struct {
	path string
	mu   sync.Mutex // for the programs of others there is the rename
}

// Bounds of the file. The oldest verdicts go first.
const (
	fileVerdicts     = 1024
	fileVerdictBytes = 1 << 20
)

// verdictFormat is the form of the file; one of another form is not read.
const verdictFormat = 1

type verdictContent struct {
	Format   int                `json:"format"`
	Verdicts map[string]Verdict `json:"verdicts"`
}

// Load implements [VerdictStore].
func (f *verdictFile) Load(key string) (Verdict, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.read()[key]
	return v, ok
}

// Save implements [VerdictStore].
func (f *verdictFile) Save(key string, v Verdict) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.read()
	known[key] = v
	for len(known) > fileVerdicts {
		delete(known, oldestVerdict(known))
	}
	return f.write(known)
}

// Forget implements [VerdictStore].
func (f *verdictFile) Forget(key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.read()
	if _, there := known[key]; !there {
		return nil
	}
	delete(known, key)
	return f.write(known)
}

func oldestVerdict(known map[string]Verdict) (oldest string) {
	var at time.Time
	for key, v := range known {
		if oldest == "" || v.At.Before(at) {
			oldest, at = key, v.At
		}
	}
	return oldest
}

// read returns what the file holds, an empty map where that is nothing.
func (f *verdictFile) read() map[string]Verdict {
	empty := map[string]Verdict{}
	file, err := os.Open(f.path)
	if err != nil {
		return empty
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, fileVerdictBytes+1))
	if err != nil || len(data) > fileVerdictBytes {
		return empty
	}
	var content verdictContent
	err = jsonrpc.Unmarshal(bytes.TrimSpace(data), &content)
	if err != nil || content.Format != verdictFormat || content.Verdicts == nil {
		return empty
	}
	return content.Verdicts
}

// write replaces the file.
func (f *verdictFile) write(known map[string]Verdict) error {
	data, err := jsonrpc.Marshal(verdictContent{Format: verdictFormat, Verdicts: known})
	if err != nil {
		return fmt.Errorf("verdicts: %w", err)
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("verdicts: %w", err)
	}
	temp, err := os.CreateTemp(dir, filepath.Base(f.path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("verdicts: %w", err)
	}
	_, err = temp.Write(append(data, '\n'))
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // it is of no use to anybody
		return fmt.Errorf("verdicts: %w", err)
	}
	return nil
}
