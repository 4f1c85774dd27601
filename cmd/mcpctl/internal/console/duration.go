package console

import (
	"fmt"
	"strings"
	"time"
)

// Rounded returns a duration for people: milliseconds, below one microseconds, and from a second on
// tenths.
func Rounded(d time.Duration) time.Duration {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond)
	case d < time.Second:
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// Left writes how long something lasts, in the largest unit that it has.
func Left(d time.Duration) string {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return d.String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 2*year:
		return fmt.Sprintf("%d days", d/day)
	}
	return fmt.Sprintf("%d years", d/year)
}

// Precise returns a duration with about three digits.
func Precise(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(10 * time.Microsecond)
}

// Typed writes a duration as people type it: 5m, not 5m0s.
func Typed(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
