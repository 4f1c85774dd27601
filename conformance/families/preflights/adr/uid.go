package adr

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"
)

// A UID is the only identity of an ADR and of an archived task:
// YYYYMMDDTHHMMSS.mmmZ-XXXX in UTC. The byte order of UIDs is their canonical
// order, and the latest ADR is the one with the highest.
//
// How unique is it? Within a process UIDs never repeat, because each is at
// least a millisecond after the one before, and within one repository a new
// one is always above all that are there and its file is created exclusively.
// What remains are two processes on two clones that write in the same
// millisecond: each draws one of 32³ = 32,768 suffixes, so such a pair clashes
// with probability 1/32,768, about 0.003 %. Two clones that each write 1,000
// records, in the same 1,000 milliseconds one by one, clash somewhere with 3 %.
// The seed's "zero collisions" is that, not zero (C-38); when it happens, two
// files begin with the same UID, and with equal slugs a merge is a conflict.
type UID string

// Kind is the first character of a UID's suffix: what the UID names.
type Kind byte

// The kinds of document that have a UID.
const (
	KindADR  Kind = 'A'
	KindTask Kind = 'T'
)

const (
	uidLayout = "20060102T150405.000Z"
	// UIDLen is the length of every UID.
	UIDLen = len(uidLayout) + len("-XXXX")
)

var uidPattern = regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z-[0-9A-Z]{4}$`)

// Valid reports whether u has the form of a UID and names an instant there is.
func (u UID) Valid() bool {
	_, err := u.Time()
	return err == nil
}

// Time returns the instant in u.
func (u UID) Time() (time.Time, error) {
	if !uidPattern.MatchString(string(u)) {
		return time.Time{}, fmt.Errorf("%.40q is not a UID", string(u))
	}
	return time.Parse(uidLayout, string(u[:len(uidLayout)]))
}

// crockford is the alphabet of Crockford's base 32: no I, L, O, U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ErrUIDRange is the error for an instant whose year has no four digits.
var ErrUIDRange = errors.New("no UID is left after the highest one")

// A Generator makes UIDs that are strictly increasing, whatever the clock
// does (S3-UID-01, S3-UID-04). It is safe for concurrent use.
type Generator struct {
	random io.Reader

	mu   sync.Mutex
	last time.Time
}

// NewGenerator returns a generator that draws its suffixes from random.
func NewGenerator(random io.Reader) *Generator { return &Generator{random: random} }

// Next returns a UID of the given kind that is at now or later, above every
// earlier one of g and above after, which may be empty.
func (g *Generator) Next(kind Kind, now time.Time, after UID) (UID, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := now.UTC().Truncate(time.Millisecond)
	if floor, err := after.Time(); err == nil && !at.After(floor) {
		at = floor.Add(time.Millisecond)
	}
	if !at.After(g.last) {
		at = g.last.Add(time.Millisecond)
	}
	if at.Year() > 9999 || at.Year() < 0 {
		return "", ErrUIDRange
	}
	var draw [3]byte
	if _, err := io.ReadFull(g.random, draw[:]); err != nil {
		return "", fmt.Errorf("random suffix: %w", err)
	}
	suffix := []byte{byte(kind), 0, 0, 0}
	for i, b := range draw {
		suffix[i+1] = crockford[b%32] // 256 is a multiple of 32: no bias
	}
	g.last = at
	return UID(at.Format(uidLayout) + "-" + string(suffix)), nil
}
