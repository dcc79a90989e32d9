package runner

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"piecebench/bench/calibrate"
	"piecebench/bench/cell"
	"piecebench/bench/plan"
	"piecebench/bench/result"
	"piecebench/bench/settings"
	"piecebench/bench/workload"
	"piecebench/netem/client"
	"piecebench/netem/link"
	"piecebench/piece"
	"piecebench/piece/pieceurl"
	"piecebench/records"
)

// generatorAttempts is how often the generator's ceiling is measured after the
// sweep while it is less than before.
const generatorAttempts = 3

// calibrate measures every link and the generator before the first cell. What a
// resumed run knows already stays as it is: its links are only checked.
func (r *sweep) calibrate(ctx context.Context) error {
	if r.agent == nil {
		return nil
	}
	for i, l := range r.settings.Links {
		if i < len(r.results.Calibrations) {
			if err := r.checkCalibration(ctx, l, &r.results.Calibrations[i]); err != nil {
				return err
			}
			continue
		}
		c, err := calibrate.Link(ctx, r.path(), l, r.status.step)
		if err != nil {
			return err
		}
		r.status.calibrated(c)
		r.results.Calibrations = append(r.results.Calibrations, c)
		if err := r.results.Save(r.options.Out); err != nil {
			return err
		}
		r.push(0)
	}
	if r.results.Generator != nil {
		return nil
	}
	generator, err := r.generator(ctx, 1)
	if err != nil {
		return err
	}
	r.results.Generator = &generator
	r.status.generator(generator)
	return r.results.Save(r.options.Out)
}

// checkCalibration refuses a link that is not as asked now, and notes one whose
// ceiling is another than when the run began.
func (r *sweep) checkCalibration(ctx context.Context, l link.Spec, c *result.Calibration) error {
	now, err := calibrate.Check(ctx, r.path(), l, *c, r.status.step)
	if err != nil {
		return err
	}
	r.status.calibrated(now)
	if drift, known := result.Drift(c.CeilingBits, now.CeilingBits); known && math.Abs(drift) > result.DriftTolerance {
		c.Notes = append(c.Notes, fmt.Sprintf("resumed on %s: it carried %.1f Mbit/s where it had carried %.1f",
			time.Now().UTC().Format(time.DateTime), float64(now.CeilingBits)/1e6, float64(c.CeilingBits)/1e6))
	}
	return nil
}

// calibrateAgain measures the ceilings once more after the last cell.
func (r *sweep) calibrateAgain(ctx context.Context) error {
	if r.agent == nil {
		return nil
	}
	for i, l := range r.settings.Links {
		after, err := calibrate.Again(ctx, r.path(), l, r.results.Calibrations[i], r.status.step)
		if err != nil {
			return err
		}
		r.results.Calibrations[i].CeilingAfterBits = after
	}
	// Whatever else the machine does only takes from it.
	g := r.results.Generator
	for range generatorAttempts {
		after, err := r.generator(ctx, 2)
		if err != nil {
			return err
		}
		g.CeilingAfterBits = max(g.CeilingAfterBits, after.CeilingBits)
		if drift, _ := result.Drift(g.CeilingBits, g.CeilingAfterBits); drift >= -result.DriftTolerance {
			break
		}
	}
	return nil
}

func (r *sweep) path() calibrate.Path {
	return calibrate.Path{Agent: r.agent, Shaped: r.options.Shaped}
}

// generator measures the most that k6 receives here: clients that fetch whole
// pieces from the link agent's memory, with no link, and check nothing. number
// tells measurements apart in the logs.
func (r *sweep) generator(ctx context.Context, number int) (g result.Generator, err error) {
	if _, err := r.agent.SetLink(ctx, link.None); err != nil {
		return g, err
	}
	r.status.step("the generator: k6 from memory, without a link")
	// All objects that the agent serves under one URL have one size.
	one := piece.Manifest{Version: r.manifest.Version, Seed: r.manifest.Seed, Pieces: r.manifest.Pieces[:1]}
	path := filepath.Join(r.options.Out, "logs", "generator.json")
	if err := one.Save(path); err != nil {
		return g, err
	}
	s := r.settings
	s.Workload, s.Parameters = workload.Retrieval, nil
	s.Warmup, s.Duration, s.Requests, s.Verify, s.Connections = calibrate.GeneratorRamp, calibrate.GeneratorWindow, 0, 0, "reuse"
	setup := cell.Setup{K6: r.options.K6, Script: workload.Of(s.Workload).Path(r.options.Scripts), Manifest: path, Dir: r.options.Out, RunID: r.results.ID, Settings: s}
	measured, err := setup.Run(ctx, plan.Cell{
		Target:      settings.Target{Name: "generator", URL: r.options.Shaped + client.BlobPath(one.Pieces[0].SizeAs(1)) + "&piece=" + pieceurl.V1},
		Mode:        workload.Mode{Name: workload.FullMode, Requests: 1},
		Concurrency: calibrate.GeneratorClients,
		Repetition:  number,
	}, func(records.Progress) {})
	if err != nil {
		return g, fmt.Errorf("the generator's ceiling: %w", err)
	}
	if measured.RequestsFailed() > 0 {
		return g, fmt.Errorf("the generator's ceiling: %d requests to the link agent failed: %s", measured.RequestsFailed(), measured.FirstErrors[0])
	}
	g = result.Generator{Clients: calibrate.GeneratorClients, CeilingBits: int64(measured.DeliveredBits()), HostCPU: measured.HostCPU, CPUSPerGB: measured.GenCPUSPerGB}
	return g, os.Remove(filepath.Join(r.options.Out, measured.Records))
}
