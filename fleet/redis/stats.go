package fleetredis

import "sync/atomic"

// Stats are the counters of this node.
type Stats struct {
	// Available reports that the last exchange with Redis succeeded.
	Available bool `json:"available"`
	// Nodes is the last known number of nodes, including this one. It is 0 before
	// the first exchange.
	Nodes int `json:"nodes"`
	// Published counts reports of an open breaker or a throttle by this node.
	// Heard counts hints from other nodes.
	Published uint64 `json:"published"`
	Heard     uint64 `json:"heard"`
	// Ignored counts data that is not from this package. Dropped counts hints that
	// arrived too fast.
	Ignored uint64 `json:"ignored"`
	Dropped uint64 `json:"dropped"`
	// Refused counts hints, leases and lists of tools without a valid signature
	// (see Settings.SigningKeys), and repeated ones.
	Refused uint64 `json:"refused"`
	// Suspected, PreOpened and Throttled count the effects of hints on the
	// breakers of this process.
	Suspected uint64 `json:"suspected"`
	PreOpened uint64 `json:"pre_opened"`
	Throttled uint64 `json:"throttled"`
	// LeasesWon and LeasesLost count the requests of this node for the right to
	// probe.
	LeasesWon  uint64 `json:"leases_won"`
	LeasesLost uint64 `json:"leases_lost"`
	// Failed counts failed exchanges with Redis.
	Failed uint64 `json:"failed"`
}

type counters struct {
	available                                           atomic.Bool
	nodes                                               atomic.Int64
	published, heard, ignored, dropped, refused, failed atomic.Uint64
	suspected, preOpened, held, leasesWon, leasesNo     atomic.Uint64
}

// Stats returns the counters. It takes no lock.
func (f *Fleet) Stats() Stats {
	c := &f.count
	return Stats{
		Available: c.available.Load(), Nodes: int(c.nodes.Load()),
		Published: c.published.Load(), Heard: c.heard.Load(), Ignored: c.ignored.Load(), Dropped: c.dropped.Load(), Refused: c.refused.Load(),
		Suspected: c.suspected.Load(), PreOpened: c.preOpened.Load(), Throttled: c.held.Load(),
		LeasesWon: c.leasesWon.Load(), LeasesLost: c.leasesNo.Load(), Failed: c.failed.Load(),
	}
}

func (c *counters) did(k orderKind, r reply) {
	switch {
	case k == orderOpen || k == orderHold:
		c.published.Add(1)
	case k == orderLease && r.left <= 0:
		c.leasesWon.Add(1)
	case k == orderLease:
		c.leasesNo.Add(1)
	}
}
