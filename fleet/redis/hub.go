package fleetredis

import (
	"context"
	"time"
)

// hub connects the nodes of a fleet. It is Redis, and a fake in tests.
type hub interface {
	// exchange executes all orders in one round trip. replies has one reply for each. err
	// reports that the hub was not reached.
	exchange(ctx context.Context, orders []order) (replies []reply, err error)
	// listen passes every message to message until the connection is lost or ctx ends. It
	// calls joined once messages arrive. Earlier messages are available only by exchange.
	listen(ctx context.Context, joined func(), message func(raw string)) error
	close() error
}

type orderKind uint8

const (
	orderPresent   orderKind = iota + 1 // I am here; how many are we?
	orderOpen                           // publish the hint
	orderClosed                         // take it back
	orderLease                          // let me probe; who does?
	orderHold                           // publish a hold
	orderReporters                      // which nodes that are here report the server?
	orderReport                         // what does hint.node report of it?
	orderHeld                           // what holds hint.cred?
	orderLeave                          // take it back: I am going
	orderAbsent                         // I am not here any more
	orderLoad                           // what is the list of tools called key?
	orderSave                           // keep raw as that for hint.lasts
	orderForget                         // drop it
)

// order is one command for the hub.
type order struct {
	kind orderKind
	hint hint
	key  string
	raw  string // the data to write: the signed hint, or the list
}

// reply is the result of an order.
type reply struct {
	// err reports that the hub refused the order, or has data of another program.
	err error
	// count is the number of nodes, for orderPresent.
	count int
	// left is how long the data of other nodes lasts, 0 for none.
	left  time.Duration
	nodes []string
	raw   string // what is there, for a lease what the one who has it wrote
}
