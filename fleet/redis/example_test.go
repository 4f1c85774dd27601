package fleetredis_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-mcp/mainstay/breaker"
	fleetredis "github.com/mainstay-mcp/mainstay/fleet/redis"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fleet, err := fleetredis.Join(ctx, fleetredis.Settings{
		Redis: redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}}, // nobody is there
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.Close()

	b := breaker.New(breaker.Settings{Name: "search"})
	detach, err := fleet.Attach(b, fleetredis.Share{Server: "search"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer detach()
	fmt.Println(b.State(), fleet.Stats().Available)
	// Output: CLOSED false
}
