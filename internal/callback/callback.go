// Package callback runs functions of the application on goroutines of the
// library. A panic there would end the process with every call in flight, and
// [runtime.Goexit], which a failing test calls, would end a goroutine that
// others wait for. Here both fail the one function and nothing else.
package callback

import (
	"fmt"
	"runtime/debug"
)

// Error says that a function of the application did not return.
type Error struct {
	// Name is the function as the application knows it, such as "OnEvent".
	Name string
	// Value is what it panicked with, nil for [runtime.Goexit].
	Value any
	// Stack is where it panicked, nil for [runtime.Goexit].
	Stack []byte
}

func (e *Error) Error() string {
	if e.Value == nil {
		return e.Name + " ended its goroutine (runtime.Goexit)"
	}
	return fmt.Sprintf("%s panicked: %v", e.Name, e.Value)
}

// Unwrap returns what the function panicked with, where that is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Run calls f on this goroutine and reports whether it returned. failed, which
// may be nil, gets the reason when it did not. After a [runtime.Goexit] in f
// this goroutine still ends: use [Aside] where somebody waits for it.
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

// Aside is [Run] on a goroutine of its own, which it waits for: this goroutine
// goes on whatever f does.
func Aside(name string, failed func(*Error), f func()) bool {
	returned := make(chan bool, 1)
	go func() {
		defer close(returned) // Run does not return where f ends the goroutine
		returned <- Run(name, failed, f)
	}()
	return <-returned
}

// InTurn calls next until it reports false. When something in next ends the
// goroutine, the rest runs on another one that spawn starts.
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
