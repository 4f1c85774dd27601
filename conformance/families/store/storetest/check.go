package storetest

import (
	"errors"
	"reflect"
	"testing"
)

// The checks of the suite. They end the test they fail, so they belong to its
// own goroutine. (Assertion libraries are for test files, which this is not.)

func noError(t testing.TB, err error, what ...string) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v %v", err, what)
	}
}

func fails(t testing.TB, err error, what ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error %v", what)
	}
}

func errorIs(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

func errorAs(t testing.TB, err error, target any) {
	t.Helper()
	if !errors.As(err, target) {
		t.Fatalf("got error %v, want a %T", err, target)
	}
}

func equal[V any](t testing.TB, want, got V, what ...string) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("got  %+v\nwant %+v %v", got, want, what)
	}
}

func holds(t testing.TB, condition bool, what string, args ...any) {
	t.Helper()
	if !condition {
		t.Fatalf("not so: "+what, args...)
	}
}
