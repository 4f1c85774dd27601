// Package keychain keeps tokens behind the keychain of the operating system: the Keychain
// of macOS, the Credential Manager of Windows, and the Secret Service of Linux and BSD
// (GNOME Keyring, KWallet, KeePassXC).
//
//	store, err := keychain.Open(ctx, folder, "my program")
//	c, err := client.Dial(ctx, url, client.WithAuthorizer(auth.Login(auth.WithStore(store))))
//
// The keychain has one key, and the tokens are in files that are encrypted with it. So a
// record may be longer than the limit of a keychain (2,560 bytes on Windows, about 3,000 on
// macOS), it is written atomically, and many processes renew it once. A keychain that asks
// the person for each item asks once. The files are useless without the keychain. Programs
// that can read the keychain of the person can read the tokens.
package keychain

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/zalando/go-keyring"

	"github.com/mainstay-mcp/mainstay/auth"
)

// ErrUnavailable means that this machine has no keychain, or that the person did not unlock
// it.
var ErrUnavailable = errors.New("the keychain of the operating system cannot be used")

// Open returns a store in a folder, like [auth.OpenSealedFiles], with a key in the keychain of
// the person. The item of the keychain has the name of the program and the path of the folder;
// the first Open creates it. A locked keychain asks the person to unlock it, and Open waits
// until ctx ends: pass a context with a deadline. The store does not use the keychain after
// Open.
//
// Several processes may open the same folder at the same time. If the key is deleted from the
// keychain, the error of each record asks to delete its file and to log in again.
func Open(ctx context.Context, folder, program string) (auth.Store, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("token store: %w", err)
	}
	// An Update without a change is a lock between processes: only one creates the key.
	files, err := auth.OpenFiles(folder)
	if err != nil {
		return nil, err
	}
	var key []byte
	err = files.Update(ctx, auth.Key{Resource: "the key in the keychain"}, func(r auth.Record) (auth.Record, error) {
		key, err = keyOf(ctx, program, folder)
		return r, err
	})
	if err != nil {
		return nil, err
	}
	return auth.OpenSealedFiles(folder, key)
}

// keyOf returns the key of a folder, and creates it if there is none.
func keyOf(ctx context.Context, program, folder string) ([]byte, error) {
	text, err := get(ctx, program, folder)
	if errors.Is(err, keyring.ErrNotFound) {
		fresh := make([]byte, 32)
		_, _ = rand.Read(fresh) // never fails
		made := base64.StdEncoding.EncodeToString(fresh)
		if _, err = bounded(ctx, func() (string, error) { return "", keyring.Set(program, folder, made) }); err == nil {
			// The library reports success if the person closes the prompt.
			text, err = get(ctx, program, folder)
		}
		if err == nil && text != made {
			err = errors.New("it does not keep what is stored")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("%w: its item %q of %q is not the key of this store", ErrUnavailable, folder, program)
	}
	return key, nil
}

func get(ctx context.Context, program, folder string) (string, error) {
	return bounded(ctx, func() (string, error) { return keyring.Get(program, folder) })
}

// bounded waits for a call of the library until ctx ends. The call itself continues: the
// library waits for the person without a limit.
func bounded(ctx context.Context, call func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := call()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", fmt.Errorf("nobody unlocked it in time: %w", ctx.Err())
	}
}
