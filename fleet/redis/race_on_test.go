//go:build race

package fleetredis

// outageMinutes is smaller with the race detector: twenty nodes a minute are many
// steps.
const outageMinutes = 2
