package gateway

import (
	"errors"
	"fmt"
	"time"

	"piecebench/gateway/store"
)

// Config is the configuration of a gateway.
type Config struct {
	Manifest string // path of pieces.json; paths in it are relative to its folder
	Listen   string // TCP address
	Store    string // one of the names in package store

	// MaxInFlight is how many requests for pieces are answered at a time. Further
	// ones get 429. The open-file limit can lower it.
	MaxInFlight int
	// MaxReads is the number of reads from disk at a time. Further ones wait.
	MaxReads int

	HeaderTimeout   time.Duration // for a request's head to arrive in
	MaxHeader       int           // bytes of a request's head
	IdleTimeout     time.Duration // for a connection to be kept without a request
	ProgressTimeout time.Duration // for a client to acknowledge no byte in
	DrainTimeout    time.Duration // for requests to end in, on shutdown

	AccessLog bool
}

// DefaultConfig holds as many clients as a lab may have (servers/gateway/recipe.yml), on
// a machine with an open-file limit of twice that and 64.
func DefaultConfig() Config {
	return Config{
		Listen:      ":7777",
		Store:       store.UnsealedName,
		MaxInFlight: 20000,
		MaxReads:    64, // threads and, unsealed, 16 MiB of buffers; keeps an NVMe disk busy

		HeaderTimeout:   10 * time.Second,
		MaxHeader:       16 << 10,
		IdleTimeout:     10 * time.Minute, // clients that reuse connections pause between runs
		ProgressTimeout: 60 * time.Second, // nginx's send_timeout
		DrainTimeout:    30 * time.Second,

		AccessLog: true,
	}
}

func (c Config) validate() error {
	if c.Manifest == "" {
		return errors.New("no manifest given")
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"in-flight limit", int64(c.MaxInFlight)},
		{"read limit", int64(c.MaxReads)},
		{"header size", int64(c.MaxHeader)},
		{"header timeout", int64(c.HeaderTimeout)},
		{"idle timeout", int64(c.IdleTimeout)},
		{"progress timeout", int64(c.ProgressTimeout.Milliseconds())},
		{"drain timeout", int64(c.DrainTimeout)},
	} {
		if n.value <= 0 {
			return fmt.Errorf("the %s must be above zero", n.name)
		}
	}
	return nil
}
