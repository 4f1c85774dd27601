package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"sync"
)

// A Sailing is one departure.
type Sailing struct {
	ID      string `json:"id"`
	Route   string `json:"route"`
	Date    string `json:"date"`
	Departs string `json:"departs"`
	Vessel  string `json:"vessel"`
	Seats   int    `json:"seatsFree"`
	Delay   int    `json:"delayMinutes"`
}

var routes = map[string][2]string{
	"north": {"Brekka", "Holm"},
	"south": {"Brekka", "Sandvik"},
	"night": {"Holm", "Sandvik"},
}

var ports = []string{"Brekka", "Holm", "Sandvik", "Steinnes", "Sula"}

// The fleet's departures, guarded by mu.
var (
	mu       sync.Mutex
	sailings = map[string]*Sailing{}
)

func init() {
	vessels := []string{"Terna", "Skarven", "Lomvi"}
	for day := 1; day <= 14; day++ {
		for i, route := range []string{"north", "south", "night"} {
			if route == "night" && day%7 == 0 {
				continue // no night sailing on Sundays
			}
			for trip := 1; trip <= 3; trip++ {
				s := &Sailing{
					ID:      fmt.Sprintf("%c%02d-%d", 'A'+i, day, trip),
					Route:   route,
					Date:    fmt.Sprintf("2026-06-%02d", day),
					Departs: fmt.Sprintf("%02d:30", 6+4*trip+i),
					Vessel:  vessels[(day+i+trip)%3],
					Seats:   40 + (day*7+trip*5)%60,
				}
				if day == 3 && trip == 2 {
					s.Seats = 0
				}
				sailings[s.ID] = s
			}
		}
	}
}

// find returns the departures of a route on a day in the order of their time.
func find(route, date string) []Sailing {
	mu.Lock()
	defer mu.Unlock()
	var out []Sailing
	for _, s := range sailings {
		if s.Route == route && s.Date == date {
			out = append(out, *s)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

func ids() []string {
	mu.Lock()
	defer mu.Unlock()
	var out []string
	for id := range sailings {
		out = append(out, id)
	}
	sort.Strings(out)
	return out
}

func lookup(id string) (Sailing, bool) {
	mu.Lock()
	defer mu.Unlock()
	s, ok := sailings[id]
	if !ok {
		return Sailing{}, false
	}
	return *s, true
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
