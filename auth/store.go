package auth

import "github.com/mainstay-mcp/mainstay/auth/internal/store"

type (
	// Store keeps tokens and registrations. [NewMemory], [OpenFiles] and [OpenSealedFiles]
	// make those that this package has; package auth/keychain makes one that needs the
	// keychain of the operating system.
	Store = store.Store
	// Key says whose tokens a record has.
	Key = store.Key
	// Record is what a store keeps under a key. It hides its secrets wherever it is
	// printed, also in an unexported field. The method Text of a secret returns it.
	// Encode and [DecodeRecord] are for stores.
	Record = store.Record
	// DamagedError means that a file of [OpenFiles] or [OpenSealedFiles], or their folder,
	// cannot be used as it is. The store neither changes nor replaces it.
	DamagedError = store.DamagedError
)

// ErrNotFound means that a store has no record for a key.
var ErrNotFound = store.ErrNotFound

// DamagedFiles returns the files that an error of the List of a store is about.
func DamagedFiles(err error) []*DamagedError { return store.Damaged(err) }

// NewMemory returns a store in memory.
func NewMemory() Store { return store.NewMemory() }

// OpenFiles returns a store in a folder, which the first write makes when it is missing.
// Only the user of the program can read it. Several processes may use it at the same time.
// If others have rights to the folder, the error is a [*DamagedError].
func OpenFiles(folder string) (Store, error) { return store.NewFile(folder) }

// OpenSealedFiles is [OpenFiles] with files that are encrypted (AES in GCM). key has 32
// random bytes; it is yours to keep, and without it the tokens are lost. The store does
// not see the files of OpenFiles, and may share a folder with them.
func OpenSealedFiles(folder string, key []byte) (Store, error) { return store.NewSealed(folder, key) }

// DecodeRecord reads what [Record.Encode] wrote.
func DecodeRecord(text []byte) (Key, Record, error) { return store.Decode(text) }
