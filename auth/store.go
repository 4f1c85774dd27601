package auth

import "github.com/mainstay-mcp/mainstay/auth/internal/store"

type (
	// Store keeps tokens and registrations. This package has [NewMemory], [OpenFiles] and
	// [OpenSealedFiles]; package auth/keychain uses the keychain of the operating system.
	Store = store.Store
	// Key identifies a record: the server, its authorization server, the client and the
	// principal.
	Key = store.Key
	// Record is the value of a key in a store. It hides its secrets wherever it is printed,
	// even in an unexported field. The method Text of a secret returns it. Encode and
	// [DecodeRecord] are for stores.
	Record = store.Record
	// DamagedError means that a file of [OpenFiles] or [OpenSealedFiles], or their folder,
	// cannot be used. The store neither changes nor replaces it.
	DamagedError = store.DamagedError
)

// ErrNotFound means that a store has no record for a key.
var ErrNotFound = store.ErrNotFound

// DamagedFiles returns the damaged files in an error of Store.List.
func DamagedFiles(err error) []*DamagedError { return store.Damaged(err) }

// NewMemory returns a store in memory.
func NewMemory() Store { return store.NewMemory() }

// OpenFiles returns a store in a folder. The first write creates a missing folder. Only the
// user of the program can read it. Several processes may use it at the same time. If other
// users have access to the folder, the error is a [*DamagedError].
func OpenFiles(folder string) (Store, error) { return store.NewFile(folder) }

// OpenSealedFiles is [OpenFiles] with files that are encrypted (AES in GCM). key has 32
// random bytes. Keep it: without it the tokens are lost. The store may share a folder with
// one of OpenFiles; neither sees the files of the other.
func OpenSealedFiles(folder string, key []byte) (Store, error) { return store.NewSealed(folder, key) }

// DecodeRecord reads what [Record.Encode] wrote.
func DecodeRecord(text []byte) (Key, Record, error) { return store.Decode(text) }
