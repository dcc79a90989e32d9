// Package fakek6 stands in for k6 in tests of what starts it: a process that gets a
// cell, prints progress and writes records, or fails in a way that a test chooses.
package fakek6

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"piecebench/records"
)

// What a fake k6 can do.
const (
	Good       = "good"       // each client makes a request that succeeds
	Silent     = "silent"     // no line of progress, no end
	Early      = "early"      // ends after the first line, and says that all is well
	Failing    = "failing"    // exit code 3, with a line in its log
	Fewer      = "fewer"      // one client less than ordered
	Unrecorded = "unrecorded" // no records
	Lingering  = "lingering"  // like Good, but does not exit
	Endless    = "endless"    // progress without an end
)

const variable = "FAKE_K6"

// Install returns the path of a k6 that does what is named. The package's TestMain
// has to call Main first.
func Install(t *testing.T, does string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "k6")
	script := fmt.Sprintf("#!/bin/sh\n%s=%s exec %s\n", variable, does, os.Args[0])
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Main runs the fake k6, and ends the process, if this process is one.
func Main() {
	does := os.Getenv(variable)
	if does == "" {
		return
	}
	if err := run(does); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

func run(does string) error {
	c, err := records.ParseCell(os.Getenv("CELL"))
	if err != nil {
		return err
	}
	switch does {
	case Failing:
		return fmt.Errorf("what went wrong")
	case Silent:
		hang()
	}
	file, err := os.Create(c.Progress)
	if err != nil {
		return err
	}
	start := time.Now()
	p := records.Progress{Start: start.UnixNano(), Clients: int64(c.Clients)}
	p.WindowStart = start.Add(c.Warmup).UnixNano()
	p.WindowEnd = start.Add(c.Warmup + c.Duration).UnixNano()
	if does == Fewer {
		p.Clients--
	}
	const size = 1000 // bytes that each client gets
	tell := func() error {
		p.UnixNs = time.Now().UnixNano()
		return json.NewEncoder(file).Encode(p)
	}
	for end := start.Add(c.Warmup + c.Duration); does == Endless || time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if err := tell(); err != nil || does == Early {
			return err
		}
	}
	p.OK, p.Bytes = int64(c.Clients), size*int64(c.Clients)
	if does != Unrecorded {
		w, err := records.Create(c.RecordsPath)
		if err != nil {
			return err
		}
		for client := range c.Clients {
			w.Add(&records.Request{
				StartUnixNs: p.WindowStart, TTFBNs: 1e6, DurationNs: 2e6, Bytes: size, WindowBytes: size, Length: size,
				Status: 200, Outcome: records.OK, Client: int32(client) + 1,
			})
		}
		if err := w.Close(records.Window{StartNs: p.WindowStart, EndNs: p.WindowEnd}); err != nil {
			return err
		}
	}
	if c.JobsPath != "" {
		if err := writeJobs(c, p); err != nil {
			return err
		}
	}
	p.Done = true
	if err := tell(); err != nil || does != Lingering {
		return err
	}
	hang()
	return nil
}

// writeJobs records a job of each client: as long as two requests, half of it downloading,
// and a quarter verifying.
func writeJobs(c records.Cell, p records.Progress) error {
	w, err := records.CreateJobs(c.JobsPath)
	if err != nil {
		return err
	}
	for client := range c.Clients {
		w.Add(&records.Job{
			Number: int64(client) + 1, Client: int32(client) + 1, StartUnixNs: p.WindowStart, DurationNs: 4e6, WindowNs: 4e6,
			Outcome: records.OK, Requests: 1, Bytes: 1000,
			Stages: []records.Stage{{Name: records.Download, Ns: 2e6, WindowNs: 2e6}, {Name: "verify", Ns: 1e6, WindowNs: 1e6}},
		})
	}
	return w.Close(records.Window{StartNs: p.WindowStart, EndNs: p.WindowEnd})
}

// hang waits to be killed. Without a timer the Go runtime would end the process, because
// all its goroutines are asleep.
func hang() { time.Sleep(time.Hour) }
