package retrieval_test

import (
	"syscall"
	"testing"
	"time"

	"piecebench/records"
)

func TestKilledProcessLosesAtMostASecond(t *testing.T) {
	c := newCell(t, nil)
	c.does.Duration = time.Minute
	cmd := c.command(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := c.waitFor(t, 4)
	cmd.Process.Kill()
	cmd.Wait()
	// A flush follows each line, before the next: all up to the last but one is on disk.
	safe := lines[len(lines)-2]
	rows, r := c.rows(t)
	if r.Complete() || safe.OK == 0 || int64(len(rows)) < safe.OK+safe.Failed {
		t.Errorf("complete %v, %d rows, but the progress line before the last says %+v", r.Complete(), len(rows), safe)
	}
	if w := r.Window(); w.EndNs-w.StartNs != int64(time.Minute) || w.StartNs != safe.WindowStart {
		t.Errorf("window %+v", w)
	}
	if err := records.Recover(c.records); err != nil {
		t.Fatal(err)
	}
	if again, r := c.rows(t); !r.Complete() || len(again) != len(rows) {
		t.Errorf("recovered %d rows of %d", len(again), len(rows))
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
		rows, r := c.rows(t)
		if !r.Complete() || len(rows) != 5 || count(rows, records.Cut) != 5 {
			t.Errorf("%s: complete %v, %d rows, %d cut; want 5", sig, r.Complete(), len(rows), count(rows, records.Cut))
		}
		if lines := c.lines(t); !lines[len(lines)-1].Done {
			t.Errorf("%s: the last progress line is not done", sig)
		}
	}
}
