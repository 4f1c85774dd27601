package era

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// NewFile returns a store in a file. Save creates the file and its folder, readable by this user
// only. Each method reads the whole file, and replaces it atomically: programs that share the
// file never read a partial one, and two concurrent saves lose at most one entry. A file that
// cannot be read or is not a store counts as empty and is replaced.
func NewFile(path string) Store { return &file{path: path} }

type file struct {
	path string
	mu   sync.Mutex // the rename protects from other programs
}

// Limits of the file. The oldest entries are removed first.
const (
	fileServers = 1024
	fileBytes   = 1 << 20
)

// fileFormat is the version of the format; a file with another version is not read.
const fileFormat = 1

type fileContent struct {
	Format  int              `json:"format"`
	Servers map[string]Found `json:"verdicts"`
}

// Load implements [Store].
func (f *file) Load(key string) (Found, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return find(f.text(), key)
}

// find returns one entry of a file. The others are not decoded: a program that calls one server need
// not know all that its user knows.
func find(text []byte, key string) (found Found, ok bool) {
	var format, entry []byte
	err := jsonrpc.Members(text, func(name, value []byte) bool {
		switch string(name) {
		case "format":
			format = value
		case "verdicts":
			entry = memberOf(value, key)
		}
		return true
	})
	if err != nil || entry == nil || string(format) != strconv.Itoa(fileFormat) {
		return Found{}, false
	}
	return found, found.parse(entry) == nil
}

// parse reads an entry as Save writes it.
func (f *Found) parse(entry []byte) error {
	var wrong error
	err := jsonrpc.Members(entry, func(name, value []byte) bool {
		switch string(name) {
		case "version":
			f.Version = mcp.Version(bytes.Trim(value, `"`))
		case "fallback":
			f.Fallback = string(value) == "true"
		case "at":
			f.At, wrong = time.Parse(time.RFC3339Nano, string(bytes.Trim(value, `"`)))
		}
		return wrong == nil
	})
	return errors.Join(err, wrong)
}

// memberOf returns a member of an object, nil for none.
func memberOf(object []byte, key string) (entry []byte) {
	_ = jsonrpc.Members(object, func(name, value []byte) bool { // the whole text was read
		if string(name) == key {
			entry = value
		}
		return entry == nil
	})
	return entry
}

// Save implements [Store].
func (f *file) Save(key string, found Found) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.read()
	known[key] = found
	for len(known) > fileServers {
		delete(known, oldest(known))
	}
	return f.write(known)
}

// Forget implements [Store].
func (f *file) Forget(key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.read()
	if _, there := known[key]; !there {
		return nil
	}
	delete(known, key)
	return f.write(known)
}

// oldest returns the key of the entry with the earliest time.
func oldest(known map[string]Found) (first string) {
	var at time.Time
	for key, found := range known {
		if first == "" || found.At.Before(at) {
			first, at = key, found.At
		}
	}
	return first
}

// read returns the entries of the file, an empty map on any error.
func (f *file) read() map[string]Found {
	var content fileContent
	err := jsonrpc.Unmarshal(f.text(), &content)
	if err != nil || content.Format != fileFormat || content.Servers == nil {
		return map[string]Found{}
	}
	return content.Servers
}

// text returns what is in the file, nil on any error.
func (f *file) text() []byte {
	file, err := os.Open(f.path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, fileBytes+1))
	if err != nil || len(data) > fileBytes {
		return nil
	}
	return bytes.TrimSpace(data)
}

// write replaces the file.
func (f *file) write(known map[string]Found) error {
	data, err := jsonrpc.Marshal(fileContent{Format: fileFormat, Servers: known})
	if err != nil {
		return fmt.Errorf("era store: %w", err)
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("era store: %w", err)
	}
	temp, err := os.CreateTemp(dir, filepath.Base(f.path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("era store: %w", err)
	}
	_, err = temp.Write(append(data, '\n'))
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(temp.Name()) // nobody uses it
		return fmt.Errorf("era store: %w", err)
	}
	return nil
}
