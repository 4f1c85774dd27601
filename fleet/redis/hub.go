package fleetredis

import (
	"context"
	"time"
)

// hub is where the nodes of a fleet meet. Redis is the one; tests have another.
type hub interface {
	// exchange does all orders in one round trip. replies has one for each; err
	// says that the hub was not reached.
	exchange(ctx context.Context, orders []order) (replies []reply, err error)
	// listen hands every message to message until the connection is lost or ctx
	// ends. joined is called once messages come: what was said before is in
	// exchange only.
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

// order is one thing to be done at the hub.
type order struct {
	kind orderKind
	hint hint
	key  string
	raw  string // what is written: the hint, signed, or the list
}

// reply is what came of an order.
type reply struct {
	// err says that the hub refused the order, or holds what is not ours.
	err error
	// count is the number of nodes, for orderPresent.
	count int
	// left is how long something of others lasts, 0 for nothing.
	left  time.Duration
	nodes []string
	raw   string // what is there, for a lease what the one who has it wrote
}
