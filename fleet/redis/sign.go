package fleetredis

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

const (
	// maxSkew is the largest difference between the clocks of two nodes with signed hints.
	maxSkew = 30 * time.Second
	// sigLen is the length of a signature: a line of its own at the end.
	sigLen = 1 + 2*sha256.Size
	// minKey is the length of a SHA-256 sum: a shorter key is weaker than that.
	minKey = sha256.Size
	// aHint is the purpose in the signature of a hint.
	aHint = "hint"
)

// The reasons to refuse data.
var (
	errUnsigned = errors.New("it is not signed, and this node has SigningKeys")
	errKeyless  = errors.New("it is signed, and this node has no SigningKeys")
	errForged   = errors.New("its signature does not match any of the SigningKeys of this node")
	errStale    = errors.New("its time is wrong: it was sent again later, or the clocks of the nodes differ by more than " + maxSkew.String())
	errRepeated = errors.New("it is not newer than the last one of the same node: it was sent again")
)

// signer signs what this node writes to Redis and checks what it reads there.
type signer struct {
	keys   [][]byte // the first one signs, each is accepted; without keys nothing is signed
	prefix string   // signed too, so that a hint is valid for one fleet only
}

// sign appends the signature. as is the purpose of body, so that it is not valid for
// another one.
func (s signer) sign(as, body string) string {
	if len(s.keys) == 0 {
		return body
	}
	return body + "\n" + hex.EncodeToString(s.mac(s.keys[0], as, body))
}

// check returns the body of signed data. The caller must limit the size of raw, because it
// is hashed once for each key.
func (s signer) check(as, raw string) (body string, err error) {
	var sig []byte
	if cut := len(raw) - sigLen; cut >= 0 && raw[cut] == '\n' {
		if sig, err = hex.DecodeString(raw[cut+1:]); err == nil {
			body = raw[:cut]
		}
	}
	signed := body != ""
	switch {
	case len(s.keys) == 0 && signed:
		return "", errKeyless
	case len(s.keys) == 0:
		return raw, nil
	case !signed:
		return "", errUnsigned
	}
	for _, key := range s.keys {
		if hmac.Equal(sig, s.mac(key, as, body)) {
			return body, nil
		}
	}
	return "", errForged
}

// mac returns the signature. It includes the lengths, so that two different inputs never
// give the same bytes.
func (s signer) mac(key []byte, as, body string) []byte {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "mainstay fleet %d %d:%s %d:%s %s", version, len(s.prefix), s.prefix, len(as), as, body)
	return h.Sum(nil)
}

// hint reads an untrusted hint. A signed hint lasts at most until its end by the sender's
// clock, so that a copy that is sent later does not extend it.
func (s signer) hint(now time.Time, raw string) (hint, error) {
	if len(raw) > maxHintBytes {
		return hint{}, errHint
	}
	body, err := s.check(aHint, raw)
	if err != nil {
		return hint{}, err
	}
	h, err := parseHint(body)
	if err != nil || len(s.keys) == 0 {
		return h, err
	}
	left, err := lifeLeft(now, h.sent, h.lasts)
	h.lasts = min(h.lasts, left)
	return h, err
}

// lifeLeft returns the remaining time of data that was sent at sent, in microseconds since
// 1970, and that lasts for a time.
func lifeLeft(now time.Time, sent int64, lasts time.Duration) (time.Duration, error) {
	age := now.Sub(time.UnixMicro(sent))
	if age < -maxSkew || age >= lasts+maxSkew {
		return 0, errStale
	}
	return lasts + maxSkew - age, nil
}

// refuse counts refused data. It logs each reason once: the cause is a mistake in the
// deployment or an attack, and an attacker must not fill the log.
func (f *Fleet) refuse(err error) {
	if errors.Is(err, errHint) {
		f.count.ignored.Add(1)
		return
	}
	f.count.refused.Add(1)
	if _, logged := f.logged.LoadOrStore(err, true); !logged {
		f.set.Logger.Warn("fleet: refused a hint or a list of tools; this reason is logged once, Stats.Refused counts on", "reason", err.Error())
	}
}
