// Package callback runs callbacks of the application on goroutines of the library. A panic in one
// would crash the process, and [runtime.Goexit], which a failing test calls, would end a
// goroutine that others wait for. With this package, only the callback fails.
package callback

import (
	"fmt"
	"runtime/debug"
)

// Error is the error of a callback that did not return.
type Error struct {
	// Name is the application's name of the callback, such as "OnEvent".
	Name string
	// Value is the value of the panic, nil for [runtime.Goexit].
	Value any
	// Stack is the stack of the panic, nil for [runtime.Goexit].
	Stack []byte
}

func (e *Error) Error() string {
	if e.Value == nil {
		return e.Name + " ended its goroutine (runtime.Goexit)"
	}
	return fmt.Sprintf("%s panicked: %v", e.Name, e.Value)
}

// Unwrap returns the value of the panic if it is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Run calls f on this goroutine and reports whether it returned. If not, it calls failed, which
// may be nil, with the reason. After a [runtime.Goexit] in f this goroutine still ends: use
// [Aside] if others wait for it.
func Run(name string, failed func(*Error), f func()) (returned bool) {
	defer func() {
		if returned {
			return
		}
		e := &Error{Name: name, Value: recover()}
		if e.Value != nil {
			e.Stack = debug.Stack()
		}
		if failed != nil {
			failed(e)
		}
	}()
	f()
	return true
}

// Aside is [Run] on a goroutine of its own, for which it waits: this goroutine continues even if
// f calls [runtime.Goexit].
func Aside(name string, failed func(*Error), f func()) bool {
	returned := make(chan bool, 1)
	go func() {
		defer close(returned) // Run does not return if f calls Goexit
		returned <- Run(name, failed, f)
	}()
	return <-returned
}

// InTurn calls next until it returns false. If next ends the goroutine, the rest runs on a
// goroutine that spawn starts.
func InTurn(spawn func(func()), next func() bool) {
	over := false
	defer func() {
		if !over {
			spawn(func() { InTurn(spawn, next) })
		}
	}()
	for next() {
	}
	over = true
}
