//go:build race

package testmain

// Race reports whether the race detector runs. It makes pure work ten times as slow,
// and sync.Pool drops things at random: what is pooled is allocated now and then.
const Race = true
