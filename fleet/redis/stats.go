package fleetredis

import "sync/atomic"

// Stats is how the fleet looks from this node.
type Stats struct {
	// Available says that the last exchange with Redis went well.
	Available bool `json:"available"`
	// Nodes is how many nodes Redis last knew, this one included; 0 before it
	// was asked.
	Nodes int `json:"nodes"`
	// Published is how often this node told an OPEN or a hold, Heard how many
	// hints of others came.
	Published uint64 `json:"published"`
	Heard     uint64 `json:"heard"`
	// Ignored is what was no hint, or not where ours should be; Dropped is what
	// came too fast.
	Ignored uint64 `json:"ignored"`
	Dropped uint64 `json:"dropped"`
	// Refused is how many hints, leases and lists of tools were not signed as
	// [Settings].SigningKeys say, or were sent a second time.
	Refused uint64 `json:"refused"`
	// Suspected, PreOpened and Throttled are what hints did to the breakers here.
	Suspected uint64 `json:"suspected"`
	PreOpened uint64 `json:"pre_opened"`
	Throttled uint64 `json:"held"`
	// LeasesWon and LeasesLost are the requests for a probe.
	LeasesWon  uint64 `json:"leases_won"`
	LeasesLost uint64 `json:"leases_lost"`
	// Failed is how many exchanges with Redis did not go well.
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
