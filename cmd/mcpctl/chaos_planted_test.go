//go:build unix

package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The chaos sees what a server does wrong through a real proxy: it is not blind.
func TestChaosSeesPlanted(t *testing.T) {
	t.Parallel()
	for plant, want := range map[string]string{
		"repeat": `0 was executed 2 times, and came to "`,
		"deny":   `0 came to "not-sent", and was executed`,
		"claim":  `0 came to "paid", and was not executed`,
	} {
		t.Run(plant, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t)
			c.plant, c.calls, c.kills, c.callers = plant, 200, 3, 16
			f := newPipeFront(c, append(c.flags(), "--", "payserver"))
			wrong := c.play(f, kill{do: func(r *rand.Rand) { c.killProgram(r, 1) }})
			require.NotEmpty(t, wrong)
			for _, w := range wrong {
				require.Contains(t, w, want)
			}
			require.NoError(t, c.left(30*time.Second))
		})
	}
}

// It also sees a program that a proxy leaves behind.
func TestChaosSeesOrphan(t *testing.T) {
	t.Parallel()
	c := newChaos(t)
	c.plant = "orphan"
	f := newPipeFront(c, append(c.flags(), "--", "payserver"))
	require.Equal(t, paid, f.pay(t.Context(), 0, "first"))
	f.end()
	require.ErrorContains(t, c.left(time.Second), "a program is left")
}
