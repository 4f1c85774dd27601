package store

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
)

// seal encrypts record files with AES-GCM and a key of 256 bits. A nil seal does not encrypt.
type seal struct{ aead cipher.AEAD }

// keyBytes is the length of the key of a seal.
const keyBytes = 32

// newSeal returns the seal of a key. The nonces are random, so a key is safe for 2^32 writes.
func newSeal(key []byte) (*seal, error) {
	if len(key) != keyBytes {
		return nil, fmt.Errorf("its key has %d bytes in place of %d", len(key), keyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &seal{aead}, err
}

// sealedHead begins each sealed file. It and the name of the file are authenticated, so that a file
// cannot be opened under another name.
const sealedHead = "mainstay sealed record 1\n"

func (s *seal) close(name string, text []byte) []byte {
	if s == nil {
		return text
	}
	return s.aead.Seal([]byte(sealedHead), nil, text, []byte(sealedHead+name))
}

func (s *seal) open(name string, data []byte) ([]byte, error) {
	if s == nil {
		return data, nil
	}
	if len(data) < len(sealedHead) || string(data[:len(sealedHead)]) != sealedHead {
		return nil, errors.New("it is not a sealed record")
	}
	text, err := s.aead.Open(nil, nil, data[len(sealedHead):], []byte(sealedHead+name))
	if err != nil {
		return nil, errors.New("it was changed, or sealed with another key")
	}
	return text, nil
}
