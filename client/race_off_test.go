//go:build !race

package client_test

// raceEnabled says that allocation counts mean nothing.
const raceEnabled = false
