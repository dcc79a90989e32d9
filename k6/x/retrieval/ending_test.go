package retrieval_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"piecebench/records"
)

func TestKilledProcessLeavesNoCompleteRecords(t *testing.T) {
	c := newCell(t, nil)
	c.does.Duration = time.Minute
	cmd := c.command(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.waitFor(t, 4)
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := records.Open(c.records); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening the records of a killed process: %v", err)
	}
	if _, err := os.Stat(c.records + ".unfinished"); err != nil {
		t.Error(err)
	}
	before := c.lines(t)
	if err := c.command(t).Run(); err == nil || !strings.Contains(c.stderr.String(), "cell.parquet.unfinished exists already") {
		t.Errorf("a second process overwrites the records: %v\n%s", err, c.stderr.String())
	}
	if after := c.lines(t); len(after) != len(before) {
		t.Errorf("a second process wrote %d lines of progress", len(after)-len(before))
	}
}

func TestSignalsCutAndComplete(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := newCell(t, slowly)
		c.does.Length, c.does.Duration, c.does.Verify = 0, time.Minute, 0
		cmd := c.command(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.waitFor(t, 3)
		cmd.Process.Signal(sig)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 105 {
			t.Errorf("%s: %v\n%s", sig, err, c.stderr.String())
		}
		rows, _ := c.rows(t)
		if len(rows) != 5 || count(rows, records.Cut) != 5 {
			t.Errorf("%s: %d rows, %d cut; want 5", sig, len(rows), count(rows, records.Cut))
		}
		if lines := c.lines(t); !lines[len(lines)-1].Done {
			t.Errorf("%s: the last progress line is not done", sig)
		}
	}
}
