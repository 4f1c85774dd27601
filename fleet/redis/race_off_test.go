//go:build !race

package fleetredis

// outageMinutes is how long, in virtual time, a fleet tries a server that is down.
const outageMinutes = 5
